//! Damaged files: every reader detects them, names the file and the remedy.

use std::fs;
use std::path::Path;

use crate::common::{self, keys, manifest, outcome, runs, setup};
use lowtide_record::{DirectoryStatus, RecordError, RunDir, RunTables, TABLES, read_table};

fn tables(seed: u64) -> RunTables {
    RunTables::new(&setup(seed), outcome(seed))
}

fn complete(root: &Path) {
    let (dir, _) = RunDir::begin(root, &manifest(), false).expect("it works");
    for run in runs() {
        dir.save_run(&run, &tables(run.key.seed)).expect("it works");
    }
    dir.merge(&runs()).expect("it works");
    dir.write("resolved/sack.toml", "schema = 1\n").expect("it works");
    let done = manifest();
    dir.finish(done, &["resolved/sack.toml".into()]).expect("it works");
}

fn flip(path: &Path, bit: usize) {
    let mut content = fs::read(path).expect("it works");
    let bit = bit % (content.len() * 8);
    content[bit / 8] ^= 1 << (bit % 8);
    fs::write(path, content).expect("it works");
}

/// The path of the damaged file, and the text of the error.
fn damaged<T>(read: Result<T, RecordError>) -> String {
    match read.err().expect("damage is noticed") {
        error @ RecordError::Damaged { .. } => error.to_string(),
        other => panic!("{other}"),
    }
}

#[test]
fn a_flipped_bit_is_detected_by_every_reader() {
    let temp = tempfile::tempdir().unwrap();
    complete(temp.path());
    for name in TABLES {
        let path = temp.path().join(format!("{name}.parquet"));
        let whole = fs::read(&path).unwrap();
        for bit in [9, 4_001, 77_777] {
            flip(&path, bit);
            let (dir, _) = RunDir::open(temp.path()).unwrap();
            let said = damaged(dir.text_table(name));
            let file = format!("{name}.parquet is damaged: its content does not match its hash");
            assert!(said.contains(&file), "{said}");
            assert!(said.contains("--afresh` makes the results again"), "{said}");
            damaged(dir.frame(name, &["run"]));
            damaged(dir.verify(|f| f.ends_with(".parquet")));
            assert_eq!(dir.damage().len(), 1);
            fs::write(&path, &whole).unwrap();
        }
        let (dir, _) = RunDir::open(temp.path()).unwrap();
        assert!(dir.text_table(name).is_ok() && dir.damage().is_empty());
    }
    let one = |name: &str, read: &dyn Fn(&RunDir) -> Result<(), RecordError>| {
        let path = temp.path().join(format!("{name}.parquet"));
        flip(&path, 31);
        damaged(read(&RunDir::open(temp.path()).unwrap().0));
        flip(&path, 31);
        read(&RunDir::open(temp.path()).unwrap().0).unwrap();
    };
    one("runs", &|d| d.keys().map(drop));
    one("links", &|d| d.reader().map(drop));
    one("flows", &|d| d.flows(0).map(drop));
    one("probes", &|d| d.series(&[0]).map(drop));
    one("queue_levels", &|d| d.levels(&[0]).map(drop));
    one("queues", &|d| d.split_into_partial(&[&runs()[0]]));
}

#[test]
fn truncated_missing_and_unlisted_files_are_detected() {
    let temp = tempfile::tempdir().unwrap();
    complete(temp.path());
    let flows = temp.path().join("flows.parquet");
    let whole = fs::read(&flows).unwrap();
    fs::write(&flows, &whole[..whole.len() - 1]).unwrap();
    let (dir, _) = RunDir::open(temp.path()).unwrap();
    let said = damaged(dir.flows(0));
    assert!(
        said.contains(&format!("it has {} bytes, not {}", whole.len() - 1, whole.len())),
        "{said}"
    );
    fs::remove_file(&flows).unwrap();
    let said = damaged(RunDir::open(temp.path()).unwrap().0.reader());
    assert!(said.contains("it is missing"), "{said}");
    fs::write(&flows, whole).unwrap();
    // A table that is not in the manifest is rejected.
    fs::copy(&flows, temp.path().join("queries.parquet")).unwrap();
    let (dir, _) = RunDir::open(temp.path()).unwrap();
    assert!(dir.text_table("queries").is_err());
    assert!(dir.reader().unwrap().take(0).unwrap().unwrap().queries.is_empty());
    // Text files are checked, too.
    flip(&temp.path().join("resolved/sack.toml"), 5);
    damaged(dir.read("resolved/sack.toml"));
}

/// The manifest declares the hashes of all other files, so only its own hash protects it.
#[test]
fn every_flipped_bit_of_the_manifest_is_detected() {
    let temp = tempfile::tempdir().unwrap();
    complete(temp.path());
    let path = temp.path().join("manifest.json");
    let whole = fs::read(&path).unwrap();
    for bit in (0..whole.len() * 8).step_by(41) {
        flip(&path, bit);
        let said = RunDir::open(temp.path()).unwrap_err().to_string();
        assert!(said.contains("manifest.json"), "bit {bit}: {said}");
        fs::write(&path, &whole).unwrap();
    }
    for cut in [0, 1, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..cut]).unwrap();
        let said = damaged(RunDir::open(temp.path()));
        assert!(said.contains("--afresh"), "{said}");
        damaged(RunDir::begin(temp.path(), &manifest(), false));
    }
    // The remedy that the error names.
    let (dir, _) = RunDir::begin(temp.path(), &manifest(), true).unwrap();
    assert_eq!(dir.manifest().unwrap().status, DirectoryStatus::Interrupted);
}

#[test]
fn directories_of_another_version_are_refused_in_one_sentence() {
    let temp = tempfile::tempdir().unwrap();
    complete(temp.path());
    let path = temp.path().join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    let (text, _) = text.rsplit_once(",\n  \"blake3\"").unwrap();
    for schema in ["lowtide.manifest/3", "lowtide.manifest/99"] {
        let same_fields = text.replace("lowtide.manifest/4", schema) + "\n}\n";
        let other_fields = format!("{{\"schema\": \"{schema}\", \"a\": \"another field\"}}\n");
        for other in [same_fields, other_fields] {
            fs::write(&path, other).unwrap();
            let opened = RunDir::open(temp.path()).map(drop);
            let begun = RunDir::begin(temp.path(), &manifest(), false).map(drop);
            for refused in [opened, begun] {
                let error = refused.unwrap_err();
                assert!(error.is_refusal(), "{error}");
                let said = error.to_string();
                for part in ["manifest.json", schema, "`lowtide.manifest/4`", "`--afresh`"] {
                    assert!(said.contains(part), "{said}");
                }
                assert!(!said.contains('\n'), "{said}");
            }
        }
    }
    // A manifest of this version without its hash is damaged.
    fs::write(&path, format!("{text}\n}}\n")).unwrap();
    assert!(damaged(RunDir::open(temp.path())).contains("the hash of its content is missing"));
    // The remedy that the error names.
    fs::write(&path, "{\"schema\": \"lowtide.manifest/3\"}\n").unwrap();
    let (dir, _) = RunDir::begin(temp.path(), &manifest(), true).unwrap();
    assert_eq!(dir.manifest().unwrap().status, DirectoryStatus::Interrupted);
}

/// The report is rebuilt from tables; files that it does not read keep their recorded hash.
#[test]
fn a_new_report_keeps_the_recorded_hash_of_a_damaged_table() {
    let temp = tempfile::tempdir().unwrap();
    complete(temp.path());
    let delays = temp.path().join("delays.parquet");
    flip(&delays, 1234);
    let (dir, before) = RunDir::open(temp.path()).unwrap();
    dir.write("report.html", "<p>").unwrap();
    let after = dir.finish(before.clone(), &["report.html".into()]).unwrap();
    let of = |m: &lowtide_record::Manifest| {
        m.files.iter().find(|f| f.path == "delays.parquet").cloned().unwrap()
    };
    assert_eq!(of(&after), of(&before));
    damaged(RunDir::open(temp.path()).unwrap().0.text_table("delays"));
}

#[test]
fn a_damaged_partial_run_counts_as_absent_and_can_be_saved_again() {
    let temp = tempfile::tempdir().unwrap();
    let (dir, _) = RunDir::begin(temp.path(), &manifest(), false).unwrap();
    let (run, key) = (&runs()[1], &keys()[1]);
    dir.save_run(run, &tables(key.seed)).unwrap();
    let place = fs::read_dir(temp.path().join("partial")).unwrap().next().unwrap().unwrap().path();
    let names: Vec<_> = fs::read_dir(&place).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), TABLES.len() + 1);
    for name in names {
        let path = place.join(&name);
        let whole = fs::read(&path).unwrap();
        let cut = || fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        let damages: [&dyn Fn(); 4] =
            [&|| flip(&path, 4_321), &|| fs::write(&path, "").unwrap(), &cut, &|| {
                fs::remove_file(&path).unwrap();
            }];
        for (i, damage) in damages.iter().enumerate() {
            damage();
            assert!(dir.load_run(key, &run.hash).is_none(), "{name:?}, damage {i}");
            assert!(!dir.is_run_intact(key, &run.hash), "{name:?}, damage {i}");
            let error = dir.merge(std::slice::from_ref(run)).unwrap_err();
            assert!(error.is_lost_partial(), "{name:?}, damage {i}: {error}");
            dir.save_run(run, &tables(key.seed)).unwrap();
            assert!(dir.load_run(key, &run.hash).is_some(), "{name:?}, damage {i}");
        }
    }
    let other = common::key(2, "cubic", "10 kB", 3);
    assert!(!dir.is_run_intact(&other, &run.hash));
}

/// A hash that was made to fit protects no one: the reader itself must refuse what is no table.
#[test]
fn a_table_with_any_changed_bytes_is_read_or_refused() {
    let temp = tempfile::tempdir().unwrap();
    complete(temp.path());
    let mut random = 1_u64;
    let mut next = move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize
    };
    let changed = temp.path().join("changed.parquet");
    let rounds = 1000;
    let mut refused = 0;
    for round in 0..rounds {
        let name = TABLES[round % TABLES.len()];
        let mut bytes = fs::read(temp.path().join(format!("{name}.parquet"))).unwrap();
        for _ in 0..=next() % 3 {
            let at = next() % bytes.len();
            bytes[at] = [0, 0xFF, bytes[at] ^ 1 << (next() % 8), next() as u8][next() % 4];
        }
        fs::write(&changed, &bytes).unwrap();
        let rows = read_table(&changed).map(Iterator::collect::<Result<Vec<_>, _>>);
        refused += usize::from(!matches!(rows, Ok(Ok(_))));
    }
    assert!(refused > rounds / 4, "{refused} of {rounds}");
}
