//! Concurrent sessions in one directory, and damaged directories.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use lowtide_lab::{
    CompletedExperiment, ExecuteOptions, LabError, RunProgress, execute, load, rerender_report,
    simulate, verify,
};
use lowtide_record::RecordError;
use lowtide_scenario::RunPlan;

use crate::common::{self, plan, scenario};

fn left_over(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("a directory");
    let names = entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned());
    names.filter(|f| f.contains(".tmp") || f == "partial").collect()
}

/// Runs each of `plans` into `dir`, all started together.
fn run_concurrently(
    dir: &Path,
    plans: &[(&RunPlan, bool)],
) -> Vec<Result<CompletedExperiment, LabError>> {
    let start = Barrier::new(plans.len());
    std::thread::scope(|scope| {
        let spawn = |&(plan, afresh): &(&'_ RunPlan, bool)| {
            let start = &start;
            let plan = plan.clone();
            scope.spawn(move || {
                start.wait();
                execute(&plan, &ExecuteOptions { discard_existing: afresh, ..common::options(dir) })
            })
        };
        let all: Vec<_> = plans.iter().map(spawn).collect();
        all.into_iter().map(|t| t.join().expect("no panic")).collect()
    })
}

#[test]
fn two_full_sessions_into_one_directory_both_complete() {
    let plan = plan();
    let expected = simulate(&plan, 2).unwrap();
    for round in 0..2 {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("out");
        for end in run_concurrently(&dir, &[(&plan, false), (&plan, false), (&plan, false)]) {
            let end = end.unwrap_or_else(|e| panic!("round {round}: {e}"));
            assert_eq!(end.results, expected, "round {round}");
        }
        assert_eq!(load(&dir).unwrap().results, expected, "round {round}");
        assert!(verify(&dir).unwrap().1.is_empty(), "round {round}");
        assert!(left_over(&dir).is_empty(), "round {round}: {:?}", left_over(&dir));
    }
}

/// One session removes runs that another has finished, and the latter repeats them.
#[test]
fn sessions_that_compete_for_runs_both_complete() {
    let (two, four) = (plan(), scenario().seeds(4).unwrap().expand().unwrap());
    for round in 0..2 {
        let temp = tempfile::tempdir().unwrap();
        for end in run_concurrently(temp.path(), &[(&two, false), (&two, true), (&four, false)]) {
            end.unwrap_or_else(|e| panic!("round {round}: {e}"));
        }
        let dir = load(temp.path()).unwrap();
        let runs = dir.results.runs.len();
        assert!(runs == two.runs.len() || runs == four.runs.len(), "round {round}: {runs}");
        assert!(verify(temp.path()).unwrap().1.is_empty(), "round {round}");
    }
}

fn started(dir: &Path) -> (Result<CompletedExperiment, LabError>, usize) {
    let count = AtomicUsize::new(0);
    let progress = |p: RunProgress<'_>| {
        count.fetch_add(usize::from(matches!(p, RunProgress::Started(_))), Ordering::Relaxed);
    };
    let end = execute(&plan(), &ExecuteOptions { progress: &progress, ..common::options(dir) });
    (end, count.into_inner())
}

fn flip(path: &Path) {
    let mut content = fs::read(path).expect("it works");
    let at = content.len() / 2;
    content[at] ^= 4;
    fs::write(path, content).expect("it works");
}

/// Leaves a session that was stopped before it was complete; returns its partial files.
fn interrupted(dir: &Path) -> Vec<PathBuf> {
    let stop = std::sync::atomic::AtomicBool::new(false);
    let ended = AtomicUsize::new(0);
    let progress = |p: RunProgress<'_>| {
        if matches!(p, RunProgress::Finished(_)) && ended.fetch_add(1, Ordering::Relaxed) == 5 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let options =
        ExecuteOptions { jobs: 1, stop: &stop, progress: &progress, ..common::options(dir) };
    let error = execute(&plan(), &options).expect_err("it fails");
    assert!(matches!(error, LabError::Interrupted { finished: 6, .. }), "{error}");
    let mut parts: Vec<PathBuf> = fs::read_dir(dir.join("partial"))
        .expect("it works")
        .map(|e| e.expect("it works").path())
        .collect();
    parts.sort();
    parts
}

#[test]
fn only_a_damaged_run_is_repeated() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("out");
    let parts = interrupted(&dir);
    fs::write(parts[0].join("run.json"), "").unwrap();
    fs::write(parts[1].join("probes.parquet"), "").unwrap();
    flip(&parts[2].join("queue_samples.parquet"));
    fs::remove_file(parts[3].join("flows.parquet")).unwrap();
    let (end, runs) = started(&dir);
    assert_eq!(runs, 12 - 6 + 4);
    assert_eq!(end.unwrap().results, simulate(&plan(), 2).unwrap());
    let whole = common::run(&plan(), &temp.path().join("whole"));
    assert_eq!(load(&dir).unwrap().manifest.files, whole.manifest.files, "byte by byte");
}

#[test]
fn a_damaged_complete_directory_is_rejected_or_repaired() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let whole = common::run(&plan(), dir).manifest.files;
    let is_damaged = |of: &Result<CompletedExperiment, LabError>, name: &str| match of {
        Err(LabError::Record(e @ RecordError::Damaged { path, .. })) => {
            assert!(path.ends_with(name) && e.to_string().contains("--afresh"), "{e}");
        }
        other => panic!("{name}: {other:?}"),
    };
    for name in ["flows.parquet", "probes.parquet", "resolved/sack.toml", "scenario.toml"] {
        flip(&dir.join(name));
        let (end, runs) = started(dir);
        is_damaged(&end, name);
        assert_eq!(runs, 0);
        // No report is made from a damaged table, nor does the directory load.
        if name.ends_with(".parquet") {
            is_damaged(&load(dir), name);
            is_damaged(&rerender_report(dir), name);
        }
        let damage = verify(dir).unwrap().1;
        assert_eq!(damage.len(), 1, "{name}: {damage:?}");
        flip(&dir.join(name));
    }
    // Outputs that follow from the tables are rendered again.
    flip(&dir.join("report.html"));
    fs::remove_file(dir.join("summary.json")).unwrap();
    assert_eq!(verify(dir).unwrap().1.len(), 2);
    assert_eq!(load(dir).unwrap().results, simulate(&plan(), 2).unwrap());
    let (end, runs) = started(dir);
    assert_eq!((end.unwrap().manifest.files, runs), (whole, 0));
    assert!(verify(dir).unwrap().1.is_empty());
}
