//! Life cycle of a run directory: partial, interrupted, resumed, complete, rejected.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{self, keys, manifest, outcome, run, runs, setup};
use lowtide_output::csv;
use lowtide_record::{DirectoryStatus, RecordError, RunDir, RunTables, TABLES, read_table};

fn tables(seed: u64) -> RunTables {
    RunTables::new(&setup(seed), outcome(seed))
}

fn filled(root: &Path) -> RunDir {
    let (dir, before) = RunDir::begin(root, &manifest(), false).expect("an empty directory");
    assert_eq!(before, None);
    // Finished in another order than planned.
    for run in runs().iter().rev() {
        dir.save_run(run, &tables(run.key.seed)).expect("a writable directory");
    }
    dir
}

/// The partial result of the run with that number.
fn partial(root: &Path, number: u32) -> PathBuf {
    let entries = fs::read_dir(root.join("partial")).expect("partial results");
    let mut places = entries.map(|e| e.expect("an entry").path());
    let wanted = format!("\"run\": {number},");
    let of =
        |p: &PathBuf| fs::read_to_string(p.join("run.json")).is_ok_and(|t| t.contains(&wanted));
    places.find(of).expect("the run")
}

#[test]
fn rows_round_trip_in_plan_order() {
    let temp = tempfile::tempdir().unwrap();
    let dir = filled(&temp.path().join("out"));
    dir.merge(&runs()).unwrap();
    assert_eq!(dir.keys().unwrap(), keys());
    let mut reader = dir.reader().unwrap();
    for key in keys() {
        let read = reader.take(key.run).unwrap().unwrap();
        let written = tables(key.seed);
        assert_eq!(read.run, written.run);
        assert_eq!(read.flows, written.flows);
        assert_eq!(read.queues, written.queues);
        assert_eq!(read.links, written.links);
    }
    assert_eq!(reader.take(99).unwrap(), None);
}

#[test]
fn series_of_selected_runs_are_found() {
    let temp = tempfile::tempdir().unwrap();
    let dir = filled(temp.path());
    dir.merge(&runs()).unwrap();
    let series = dir.series(&[1, 4]).unwrap();
    let runs: Vec<u32> = series.probes.iter().map(|(run, _)| *run).collect();
    assert_eq!(runs, [1, 1, 1, 4, 4, 4]);
    assert_eq!(series.probes[3].1, tables(2).probes[0]);
    assert_eq!(series.queue_samples.len(), 2);
    assert_eq!(dir.levels(&[1]).unwrap()[0], (1, tables(2).levels.remove(0)));
    assert_eq!(dir.series(&[17]).unwrap().probes, []);
}

#[test]
fn a_directory_is_interrupted_until_everything_is_there() {
    let temp = tempfile::tempdir().unwrap();
    let dir = filled(temp.path());
    let error = RunDir::open(temp.path()).unwrap_err();
    assert!(matches!(error, RecordError::Interrupted { finished: 6, wanted: 6, .. }), "{error}");
    dir.merge(&runs()).unwrap();
    dir.write("figures/a.svg", "<svg/>").unwrap();
    assert_eq!(dir.manifest().unwrap().status, DirectoryStatus::Interrupted);
    // A killed process left half-written files behind.
    dir.write("resolved/sack.toml", "").unwrap();
    let left = ["scenario.toml", "figures/a.svg", "resolved/sack.toml"];
    let left = left.map(|name| temp.path().join(format!("{name}.0123456789abcdef-7.tmp")));
    for path in &left {
        fs::write(path, "half").unwrap();
    }
    dir.finish(manifest(), &["figures/a.svg".into()]).unwrap();
    let (_, done) = RunDir::open(temp.path()).unwrap();
    assert_eq!(done.status, DirectoryStatus::Complete);
    assert_eq!(done.files.len(), TABLES.len() + 1);
    assert_eq!(done.files.last().unwrap().bytes, 6);
    assert!(!temp.path().join("partial").exists());
    assert_eq!(left.map(|path| path.exists()), [false; 3]);
    let leftovers = fs::read_dir(temp.path()).unwrap();
    let mut names = leftovers.map(|e| e.unwrap().file_name().into_string().unwrap());
    assert!(names.all(|n| !n.contains(".tmp")));
}

/// A late process merges files that another one has merged and removed, or is removing.
#[test]
fn a_late_process_leaves_a_complete_directory_unchanged() {
    let temp = tempfile::tempdir().unwrap();
    let dir = filled(temp.path());
    dir.merge(&runs()).unwrap();
    let names = || {
        let entries = fs::read_dir(temp.path()).unwrap().map(|e| e.unwrap().file_name());
        let mut all: Vec<_> = entries.map(|n| n.into_string().unwrap()).collect();
        all.sort_unstable();
        all
    };
    // An optional table may be missing because its run is removed, or because the run has none.
    let queries = temp.path().join("queries.parquet");
    fs::write(&queries, "somebody's").unwrap();
    let gone = partial(temp.path(), 1);
    fs::rename(gone.join("run.json"), gone.join("run.json.tmp")).unwrap();
    let error = dir.merge(&runs()).unwrap_err().to_string();
    assert!(error.contains("run.json"), "{error}");
    assert!(queries.exists());
    fs::rename(gone.join("run.json.tmp"), gone.join("run.json")).unwrap();
    dir.merge(&runs()).unwrap();
    assert!(!queries.exists(), "no run has it");

    dir.finish(manifest(), &[]).unwrap();
    let complete = names();
    let error = dir.merge(&runs()).unwrap_err().to_string();
    assert!(error.contains("partial"), "{error}");
    assert_eq!(names(), complete);
    // A late run that is no longer needed.
    dir.save_run(&runs()[0], &tables(1)).unwrap();
    fs::create_dir(temp.path().join("partial.0123-4.tmp")).unwrap();
    assert_ne!(names(), complete);
    dir.tidy().unwrap();
    assert_eq!(names(), complete);
}

#[test]
fn finished_runs_are_kept_and_damaged_ones_repeated() {
    let temp = tempfile::tempdir().unwrap();
    filled(temp.path());
    let (dir, before) = RunDir::begin(temp.path(), &manifest(), false).unwrap();
    assert_eq!(before.unwrap().status, DirectoryStatus::Interrupted);
    let (found, kept) = dir.load_run(&keys()[2], "00aa").unwrap();
    assert_eq!(found, runs()[2]);
    assert_eq!(kept.flows, tables(3).flows);
    assert!(dir.load_run(&common::key(2, "cubic", "10 kB", 3), "00aa").is_none(), "another scheme");
    assert!(dir.load_run(&keys()[2], "00ab").is_none(), "other physics");

    let flows = partial(temp.path(), 2).join("flows.parquet");
    let whole = fs::read(&flows).unwrap();
    fs::write(&flows, &whole[..whole.len() / 2]).unwrap();
    assert!(dir.load_run(&keys()[2], "00aa").is_none(), "half a file");
    fs::remove_file(partial(temp.path(), 1).join("links.parquet")).unwrap();
    assert!(dir.load_run(&keys()[1], "00aa").is_none(), "a file missing");

    let (dir, before) = RunDir::begin(temp.path(), &manifest(), true).unwrap();
    assert_eq!(before, None);
    assert!(dir.load_run(&keys()[0], "00aa").is_none(), "afresh");
}

#[test]
fn a_run_keeps_its_rows_when_another_plan_gives_it_another_number() {
    let temp = tempfile::tempdir().unwrap();
    let dir = filled(temp.path());
    let moved = run(common::key(0, "dctcp", "10 kB", 3));
    let (found, _) = dir.load_run(&moved.key, "00aa").unwrap();
    assert_eq!(found.key.run, 0);
    dir.merge(&[found]).unwrap();
    assert_eq!(dir.keys().unwrap(), [moved.key]);
    assert_eq!(dir.reader().unwrap().take(0).unwrap().unwrap().flows, tables(3).flows);
}

#[test]
fn directories_with_foreign_files_are_refused() {
    let temp = tempfile::tempdir().unwrap();
    let other = temp.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("thesis.tex"), "precious").unwrap();
    let error = RunDir::begin(&other, &manifest(), true).unwrap_err();
    assert!(matches!(error, RecordError::NotResults { .. }), "{error}");
    assert_eq!(fs::read_dir(&other).unwrap().count(), 1);

    let ours = temp.path().join("ours");
    filled(&ours);
    let mut changed = manifest();
    changed.scenario_hash = "fedcba9876543210".into();
    let error = RunDir::begin(&ours, &changed, false).unwrap_err();
    assert!(error.to_string().contains("holds results of small 0123456789abcdef"), "{error}");
    assert!(RunDir::begin(&ours, &changed, true).is_ok(), "afresh replaces it");
}

#[test]
fn broken_files_are_errors_that_name_the_file() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("manifest.json"), "{\"schema\":").unwrap();
    let error = RunDir::open(temp.path()).unwrap_err().to_string();
    assert!(error.contains("manifest.json") && error.contains("line 1"), "{error}");
    fs::write(temp.path().join("flows.parquet"), "PAR1 nonsense PAR1").unwrap();
    let error = read_table(&temp.path().join("flows.parquet")).err().unwrap().to_string();
    assert!(error.contains("flows.parquet is not a readable table"), "{error}");
    let error = read_table(&temp.path().join("absent.parquet")).err().unwrap().to_string();
    assert!(error.starts_with("cannot open"), "{error}");
}

#[test]
fn any_table_reads_as_text_with_units() {
    let temp = tempfile::tempdir().unwrap();
    let dir = filled(temp.path());
    dir.merge(&runs()).unwrap();
    let table = read_table(&dir.table("flows").unwrap()).unwrap();
    let names: Vec<&str> = table.columns().iter().map(|c| c.name.as_str()).collect();
    let key = ["run", "scheme", "traffic.short.size", "traffic.short.size_bytes", "seed", "flow"];
    assert_eq!(names[..6], key);
    let at = |name: &str| names.iter().position(|n| *n == name).unwrap();
    let (fct, status, error) = (at("fct_ps"), at("status"), at("error"));
    assert_eq!(table.columns()[fct].unit, "ps");
    assert!(table.columns()[fct].description.starts_with("From `start_ps` to the last byte"));
    assert!(table.columns()[fct].numeric && !table.columns()[status].numeric);
    let rows: Vec<_> = table.map(Result::unwrap).collect();
    assert_eq!(rows.len(), 18);
    assert_eq!(
        rows[0][..6].iter().flatten().map(String::as_str).collect::<Vec<_>>(),
        ["0", "sack", "10 kB", "10000", "1", "0"]
    );
    assert_eq!(rows[0][fct].as_deref(), Some("24000"));
    assert_eq!((rows[1][fct].as_deref(), rows[1][status].as_deref()), (None, Some("unfinished")));
    let text = csv::line(rows[2].iter().map(|v| v.as_deref().unwrap_or_default()));
    assert!(text.trim_end().ends_with("failed,\"reset, \"\"by\"\" peer\""), "{text}");
    assert_eq!(rows[2][error].as_deref(), Some("reset, \"by\" peer"));

    let error = dir.table("flow").unwrap_err().to_string();
    assert!(error.contains("the tables are runs, flows, queues"), "{error}");
}

#[test]
fn every_column_has_a_description() {
    let temp = tempfile::tempdir().unwrap();
    let dir = filled(temp.path());
    dir.merge(&runs()).unwrap();
    for name in TABLES {
        for column in read_table(&dir.table(name).unwrap()).unwrap().columns() {
            let c = &column.name;
            assert!(column.description.ends_with('.'), "{name}.{c}");
            for (suffix, unit) in [("_ps", "ps"), ("_ns", "ns"), ("_bytes", "bytes")] {
                assert!(!c.ends_with(suffix) || column.unit == unit, "{name}.{c} in {unit}");
            }
        }
    }
}

#[test]
fn the_table_of_queues_summarises_the_histogram() {
    let queue = tables(1).queues.remove(0);
    assert_eq!(queue.observed_ps, 50_000_000_000);
    assert_eq!(queue.length.mean_packets, Some(0.6));
    assert_eq!(
        (queue.length.p50_packets, queue.length.p99_packets, queue.length.max_packets),
        (Some(0), Some(3), Some(3))
    );
    assert_eq!(queue.seen_mean_packets, Some(1.2));
    assert_eq!((queue.seen_p99_packets, queue.seen_p999_packets), (Some(3), None));
    assert_eq!(tables(1).links[0].utilisation, Some(0.5));
}
