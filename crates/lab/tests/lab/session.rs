//! A whole experiment on disk: threads, interruption, continuation, report, JSON envelope.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use lowtide_lab::{
    CompletedExperiment, ExecuteOptions, LabError, RunProgress, execute, load, rerender_report,
    simulate,
};
use lowtide_record::RecordError;
use lowtide_scenario::RunPlan;

use crate::common::{self, plan, scenario};

struct Run<'a> {
    jobs: usize,
    stop: &'a AtomicBool,
    progress: &'a (dyn Fn(RunProgress<'_>) + Sync),
}

fn run(dir: &Path, plan: &RunPlan, how: &Run<'_>) -> Result<CompletedExperiment, LabError> {
    let &Run { jobs, stop, progress } = how;
    execute(plan, &ExecuteOptions { jobs, stop, progress, ..common::options(dir) })
}

fn quiet(dir: &Path, jobs: usize) -> Result<CompletedExperiment, LabError> {
    run(dir, &plan(), &Run { jobs, stop: &AtomicBool::new(false), progress: &|_| {} })
}

/// Records the numbers of kept and started runs.
fn note(seen: &Mutex<(usize, usize)>, progress: &RunProgress<'_>) {
    match progress {
        RunProgress::Planned { kept, .. } => seen.lock().expect("no thread panics").0 = *kept,
        RunProgress::Started(_) => seen.lock().expect("no thread panics").1 += 1,
        _ => {}
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let one = quiet(&temp.path().join("one"), 1).unwrap();
    let four = quiet(&temp.path().join("four"), 4).unwrap();
    assert_eq!(one.results, four.results);
    assert_eq!(one.results, simulate(&plan(), 2).unwrap(), "without a directory");
    assert_eq!(one.manifest.files, four.manifest.files, "byte by byte, by their hashes");
    assert_eq!(one.results.runs.len(), 12);
    assert!(one.manifest.files.iter().any(|f| f.path == "report.html" && f.bytes > 10_000));
}

#[test]
fn an_interrupted_experiment_continues_where_it_stopped() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("out");
    let (stop, finished) = (AtomicBool::new(false), AtomicUsize::new(0));
    let progress = |p: RunProgress<'_>| {
        if matches!(p, RunProgress::Finished(_)) && finished.fetch_add(1, Ordering::Relaxed) == 4 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let error = run(&dir, &plan(), &Run { jobs: 1, stop: &stop, progress: &progress }).unwrap_err();
    assert!(matches!(error, LabError::Interrupted { finished: 5, total: 12, .. }), "{error}");
    let error = load(&dir).unwrap_err();
    assert!(
        matches!(error, LabError::Record(RecordError::Interrupted { finished: 5, wanted: 12, .. })),
        "{error}"
    );
    assert!(!dir.join("report.html").exists());

    let seen = Mutex::new((0, 0));
    let progress = |p: RunProgress<'_>| note(&seen, &p);
    let go = AtomicBool::new(false);
    let continued = run(&dir, &plan(), &Run { jobs: 2, stop: &go, progress: &progress }).unwrap();
    assert_eq!(seen.into_inner().unwrap(), (5, 7));
    assert_eq!(continued.results, simulate(&plan(), 2).unwrap());

    let started = AtomicUsize::new(0);
    let count = |p: RunProgress<'_>| {
        started.fetch_add(usize::from(matches!(p, RunProgress::Started(_))), Ordering::Relaxed);
    };
    let again = run(&dir, &plan(), &Run { jobs: 2, stop: &go, progress: &count }).unwrap();
    assert_eq!((again.results, started.into_inner()), (continued.results, 0));
}

#[test]
fn more_seeds_keep_the_existing_runs() {
    let temp = tempfile::tempdir().unwrap();
    let (grown, whole) = (temp.path().join("grown"), temp.path().join("whole"));
    let of = |seeds: u64| scenario().seeds(seeds).unwrap().expand().unwrap();
    let seen = Mutex::new((0, 0));
    let progress = |p: RunProgress<'_>| note(&seen, &p);
    let go = AtomicBool::new(false);
    let how = Run { jobs: 2, stop: &go, progress: &progress };
    let two = run(&grown, &of(2), &how).unwrap().results.runs.len();
    assert_eq!(std::mem::take(&mut *seen.lock().unwrap()), (0, two));
    let more = run(&grown, &of(4), &how).unwrap();
    assert_eq!(std::mem::take(&mut *seen.lock().unwrap()), (two, two));
    let once = run(&whole, &of(4), &how).unwrap();
    assert_eq!((&more.results, &more.manifest.files), (&once.results, &once.manifest.files));
    assert!(!grown.join("partial").exists());
    // Fewer seeds are included: nothing runs again.
    *seen.lock().unwrap() = (0, 0);
    let fewer = run(&grown, &of(2), &how).unwrap();
    assert_eq!((seen.into_inner().unwrap(), fewer.results.runs.len()), ((two, 0), two));
}

#[test]
fn the_report_follows_from_the_tables() {
    let temp = tempfile::tempdir().unwrap();
    let first = quiet(temp.path(), 2).unwrap();
    let before = fs::read_to_string(temp.path().join("report.html")).unwrap();
    fs::remove_file(temp.path().join("report.html")).unwrap();
    fs::remove_dir_all(temp.path().join("figures")).unwrap();
    let second = rerender_report(temp.path()).unwrap();
    assert_eq!(second.manifest.files, first.manifest.files);
    let page = fs::read_to_string(temp.path().join("report.html")).unwrap();
    assert_eq!(page, before);
    for wanted in [first.results.digest.as_str(), "<svg", "Settings that decide", "lowtide run"] {
        assert!(page.contains(wanted), "{wanted}");
    }
    // The only URL is the SVG namespace, which no browser fetches.
    assert!(!page.replace("http://www.w3.org/2000/svg", "").contains("http"), "it works offline");
    assert!(!page.contains(" src=") && !page.contains("<link"), "it loads nothing");
}

#[test]
fn the_envelope_has_the_documented_shape() {
    let temp = tempfile::tempdir().unwrap();
    let done = quiet(temp.path(), 2).unwrap();
    let value = serde_json::to_value(done.json()).unwrap();
    let keys =
        |v: &serde_json::Value| -> Vec<String> { v.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(
        keys(&value),
        [
            "schema",
            "version",
            "scenario",
            "scenario_hash",
            "digest",
            "labels",
            "mismatches",
            "shared",
            "question",
            "answer",
            "sentences",
            "comparisons",
            "runs",
            "summary",
            "findings",
            "tails"
        ]
    );
    assert_eq!(value["mismatches"], serde_json::json!([]), "each scheme ran under its own name");
    assert_eq!(value["labels"]["dctcp"], "dctcp");
    assert_eq!(value["schema"], "lowtide.run/4");
    let run = &value["runs"][0];
    assert_eq!(run["point"]["traffic.short.size"], "10 kB");
    let short = run["groups"].as_array().unwrap().iter().find(|g| g["name"] == "short").unwrap();
    assert_eq!((&short["flows"], &short["size_bytes"]), (&10.into(), &10_000.into()));
    assert!(short["fct_ms"]["mean"].is_number());
    assert!(short["fct_ms"]["p99"].is_null(), "ten flows have no 99th percentile");
    let row = value["summary"].as_array().unwrap().iter();
    let row =
        row.into_iter().find(|r| r["group"] == "short" && r["metric"] == "fct_ms.mean").unwrap();
    assert_eq!((&row["unit"], &row["seeds"]), (&"ms".into(), &2.into()));
    // The documentation names every key.
    let documented = include_str!("../../../../docs/reference/json.md");
    let (tail, compared) = (&value["tails"][0], &value["comparisons"][0]);
    let parts = [&value, run, short, row, tail, &tail["p50"], compared, &compared["a"]];
    for key in parts.into_iter().flat_map(keys) {
        assert!(documented.contains(&format!("`{key}`")), "docs/reference/json.md lacks `{key}`");
    }
    for key in keys(&run["queues"][0]) {
        assert!(documented.contains(&format!("`{key}`")), "docs/reference/json.md lacks `{key}`");
    }
}
