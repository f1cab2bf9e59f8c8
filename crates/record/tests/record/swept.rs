//! Columns of swept keys as numbers, and the metadata of table files.

use std::fs::{self, File};
use std::path::Path;

use crate::common::{manifest, outcome, run, runs, setup};
use lowtide_record::{
    FrameValues, Manifest, ManifestRun, RunDir, RunKey, RunTables, SweepPoint, TABLES,
    TABLES_SCHEMA, read_table,
};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::FileReader as _;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

/// The runs of a sweep of two keys: one value of each in each run.
fn sweep(values: &[[&str; 2]]) -> Vec<ManifestRun> {
    let point = |[k, size]: &[&str; 2]| {
        SweepPoint(vec![
            ("switch.mark.k".into(), (*k).into()),
            ("traffic.short.size".into(), (*size).into()),
        ])
    };
    let key = |(number, values)| RunKey {
        run: number,
        scheme: "dctcp".into(),
        point: point(values),
        seed: 1,
    };
    (0..).zip(values).map(key).map(run).collect()
}

fn plan(runs: &[ManifestRun]) -> Manifest {
    let points = runs.iter().map(|run| run.key.point.clone()).collect();
    Manifest { points, schemes: vec!["dctcp".into()], seeds: vec![1], ..manifest() }
}

fn merged(root: &Path, runs: &[ManifestRun]) -> RunDir {
    let (dir, _) = RunDir::begin(root, &plan(runs), false).expect("an empty directory");
    for run in runs {
        let tables = RunTables::new(&setup(run.key.seed), outcome(run.key.seed));
        dir.save_run(run, &tables).expect("a writable directory");
    }
    dir.merge(runs).expect("all runs");
    dir
}

/// The first columns of a table, up to the seed.
fn key_columns(dir: &RunDir, table: &str) -> Vec<String> {
    let table = dir.text_table(table).expect("a table");
    let names = table.columns().iter().map(|c| c.name.clone());
    names.take_while(|name| name != "seed").collect()
}

fn numbers(dir: &RunDir, column: &str) -> Option<Vec<Option<f64>>> {
    let frame = dir.frame("runs", &[column]).expect("a table");
    match &frame.column(column)?.values {
        FrameValues::Numbers(values) => Some(values.clone()),
        FrameValues::Texts(_) => None,
    }
}

#[test]
fn swept_quantities_are_numbers_in_base_units() {
    let temp = tempfile::tempdir().unwrap();
    let runs = sweep(&[["100 pkt", "10 kB"], ["20 pkt", "websearch"], ["off", "1 MB"]]);
    let dir = merged(temp.path(), &runs);
    for table in TABLES {
        let expected = [
            "run",
            "scheme",
            "switch.mark.k",
            "switch.mark.k_packets",
            "traffic.short.size",
            "traffic.short.size_bytes",
        ];
        assert_eq!(key_columns(&dir, table), expected, "{table}");
    }
    let packets = numbers(&dir, "switch.mark.k_packets");
    assert_eq!(packets, Some(vec![Some(100.0), Some(20.0), None]));
    let bytes = numbers(&dir, "traffic.short.size_bytes");
    assert_eq!(bytes, Some(vec![Some(10e3), None, Some(1e6)]));
    let frame = dir.frame("runs", &["switch.mark.k_packets"]).unwrap();
    assert_eq!(frame.column("switch.mark.k_packets").unwrap().unit, "packets");
    let found: Vec<RunKey> = runs.iter().map(|run| run.key.clone()).collect();
    assert_eq!(dir.keys().unwrap(), found, "numbers are not keys");
}

#[test]
fn values_of_several_units_and_words_have_no_numbers() {
    let temp = tempfile::tempdir().unwrap();
    let runs = sweep(&[["20 pkt", "websearch"], ["30 kB", "datamining"]]);
    let dir = merged(temp.path(), &runs);
    let expected = ["run", "scheme", "switch.mark.k", "traffic.short.size"];
    assert_eq!(key_columns(&dir, "flows"), expected);
}

#[test]
fn tables_that_were_split_merge_to_the_same_bytes() {
    let temp = tempfile::tempdir().unwrap();
    let all = sweep(&[["100 pkt", "10 kB"], ["20 pkt", "1 MB"]]);
    let dir = merged(temp.path(), &all);
    let bytes = || TABLES.map(|t| fs::read(temp.path().join(format!("{t}.parquet"))).unwrap());
    let before = bytes();
    dir.finish(plan(&all), &[]).unwrap();
    let (dir, _) = RunDir::begin(temp.path(), &plan(&all), false).unwrap();
    dir.split_into_partial(&all.iter().collect::<Vec<_>>()).unwrap();
    dir.merge(&all).unwrap();
    assert_eq!(bytes(), before);
    // A plan with one of the points has its own units.
    let (one, _) = RunDir::begin(temp.path(), &plan(&all[..1]), false).unwrap();
    one.merge(&all[..1]).unwrap();
    assert_eq!(numbers(&one, "switch.mark.k_packets"), Some(vec![Some(100.0)]));
}

#[test]
fn rows_are_compared_without_metadata() {
    let temp = tempfile::tempdir().unwrap();
    let directory = |name: &str, change: &dyn Fn(&mut Manifest, &mut RunTables)| {
        let runs = sweep(&[["20 pkt", "10 kB"]]);
        let mut tables = RunTables::new(&setup(1), outcome(1));
        let mut manifest = plan(&runs);
        change(&mut manifest, &mut tables);
        let root = temp.path().join(name);
        let (dir, _) = RunDir::begin(&root, &manifest, false).unwrap();
        dir.save_run(&runs[0], &tables).unwrap();
        dir.merge(&runs).unwrap();
        dir.finish(manifest, &[]).unwrap();
        RunDir::open(&root).unwrap().0
    };
    let first = directory("first", &|_, _| ());
    let renamed = directory("renamed", &|manifest, _| manifest.scenario = "other".into());
    let changed = directory("changed", &|_, tables| tables.flows[1].delivered_bytes += 1);
    let shorter = directory("shorter", &|_, tables| drop(tables.flows.pop()));
    let differ = |other: &RunDir| {
        let files = TABLES.map(|table| format!("{table}.parquet"));
        let differ = files.into_iter().filter(|f| !first.has_equal_rows(other, f).unwrap());
        differ.collect::<Vec<_>>()
    };
    let bytes = |dir: &RunDir| fs::read(dir.table("flows").unwrap()).unwrap();
    assert_ne!(bytes(&first), bytes(&renamed));
    assert_eq!(differ(&first), [""; 0]);
    assert_eq!(differ(&renamed), [""; 0]);
    assert_eq!(differ(&changed), ["flows.parquet"]);
    assert_eq!(differ(&shorter), ["flows.parquet"]);
}

#[test]
fn a_table_names_its_schema_and_origin() {
    let temp = tempfile::tempdir().unwrap();
    let (dir, _) = RunDir::begin(temp.path(), &manifest(), false).unwrap();
    for run in runs() {
        dir.save_run(&run, &RunTables::new(&setup(1), outcome(run.key.seed))).unwrap();
    }
    dir.merge(&runs()).unwrap();
    let file = File::open(dir.table("flows").unwrap()).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let metadata = reader.metadata().file_metadata();
    let stored = metadata.key_value_metadata().unwrap();
    let value = |key: &str| {
        let found = stored.iter().find(|pair| pair.key == key);
        found.and_then(|pair| pair.value.clone()).unwrap_or_else(|| panic!("{key}"))
    };
    assert_eq!(value("lowtide.schema"), TABLES_SCHEMA);
    assert_eq!(value("lowtide.table"), "flows");
    assert_eq!(value("lowtide.scenario"), manifest().scenario);
    assert_eq!(value("lowtide.scenario-hash"), manifest().scenario_hash);
    let columns: serde_json::Value = serde_json::from_str(&value("lowtide.columns")).unwrap();
    assert_eq!(columns.as_array().map(Vec::len), Some(metadata.schema_descr().num_columns()));
    assert_eq!(columns[3]["name"], "traffic.short.size_bytes");
    assert_eq!((&columns[3]["unit"], &columns[3]["key"]), (&"bytes".into(), &columns[2]["name"]));
}

#[test]
fn a_table_of_an_unknown_schema_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("flows.parquet");
    let pair = KeyValue::new("lowtide.schema".to_owned(), "lowtide.tables/99".to_owned());
    let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![pair])).build();
    let schema = Type::group_type_builder("schema").build().unwrap().into();
    let file = File::create(&path).unwrap();
    SerializedFileWriter::new(file, schema, properties.into()).unwrap().close().unwrap();
    let error = read_table(&path).err().unwrap().to_string();
    let sentence = format!(
        "flows.parquet was not written by this version of lowtide: its schema is \
         `lowtide.tables/99`, and this version reads `{TABLES_SCHEMA}`"
    );
    assert!(error.contains(&sentence), "{error}");
}
