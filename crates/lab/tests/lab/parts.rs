//! Parts and their merge: repeated tasks, duplicates, parts of another program, missing runs.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use lowtide_lab::{
    ExecuteOptions, LabError, PartOutcome, RunProgress, execute, execute_part, merge,
    merged as results, part_runs, part_text, program_digest, simulate,
};
use lowtide_record::{Manifest, RecordError, RunDir, RunSelection};

use crate::common::{self, plan, scenario};

fn slice(index: usize, of: usize) -> RunSelection {
    RunSelection::Slice { index, of }
}

fn part(dir: &Path, selection: &RunSelection) -> Result<PartOutcome, LabError> {
    let scenario = scenario();
    let options = ExecuteOptions { source: scenario.text(), ..common::options(dir) };
    execute_part(&plan(), &text(), &options, selection)
}

fn text() -> String {
    part_text(&scenario(), &plan()).expect("it can be written")
}

/// Writes the manifest of a part again with a change.
fn change(dir: &Path, change: impl FnOnce(&mut Manifest)) {
    let (open, mut manifest) = RunDir::open_part(dir).expect("a part");
    change(&mut manifest);
    let files = ["scenario.toml".into(), "plan.toml".into()];
    open.finish_part(manifest, &files).expect("it is written");
}

fn merged(out: &Path, parts: &[PathBuf]) -> Result<String, LabError> {
    merge(out, parts, &|_| {}).map(|(_, finished)| finished.results.digest)
}

fn refusal(out: &Path, parts: &[PathBuf]) -> String {
    let error = merged(out, parts).expect_err("it is refused").to_string();
    assert!(!out.exists(), "{error}");
    error
}

#[test]
fn a_repeated_part_makes_no_run_again_and_duplicates_are_merged_once() {
    let temp = tempfile::tempdir().unwrap();
    let dir = |name: &str| temp.path().join(name);
    let started = AtomicUsize::new(0);
    let count = |p: RunProgress<'_>| {
        started.fetch_add(usize::from(matches!(p, RunProgress::Started(_))), Ordering::Relaxed);
    };
    let scenario = scenario();
    for _ in 0..2 {
        let a = dir("a");
        let options =
            ExecuteOptions { source: scenario.text(), progress: &count, ..common::options(&a) };
        let made = execute_part(&plan(), &text(), &options, &slice(0, 2)).unwrap();
        assert_eq!((made.manifest.runs.len(), made.total), (6, 12));
        assert_eq!(started.load(Ordering::Relaxed), 6);
    }
    part(&dir("b"), &slice(1, 2)).unwrap();
    let listed = RunSelection::Listed { runs: vec![0, 1, 2] };
    part(&dir("again"), &listed).unwrap();
    // More tasks than runs: the last ones have nothing to do, and their parts can be merged.
    assert_eq!(part(&dir("empty"), &slice(40, 50)).unwrap().manifest.runs, []);
    let parts = ["a", "again", "b", "empty"].map(dir);
    let expected = simulate(&plan(), 2).unwrap().digest;
    assert_eq!(merged(&dir("out"), &parts).unwrap(), expected);

    change(&dir("again"), |manifest| manifest.runs[1].digest = "ffff".to_owned());
    let error = refusal(&dir("out2"), &parts);
    assert!(error.contains("different results of the run"), "{error}");
    assert!(error.contains("remove the part that is wrong"), "{error}");
}

#[test]
fn the_runs_of_a_part_are_found_if_it_is_whole_and_of_this_plan() {
    let temp = tempfile::tempdir().unwrap();
    let (a, out) = (temp.path().join("a"), temp.path().join("out"));
    part(&a, &slice(1, 4)).unwrap();
    assert_eq!(part_runs(&plan(), &a).unwrap(), Some(vec![1, 5, 9]));
    assert_eq!(part_runs(&plan(), &temp.path().join("none")).unwrap(), None);
    let mut other = plan();
    other.hash = "ffff".to_owned();
    let error = part_runs(&other, &a).unwrap_err().to_string();
    assert!(error.contains("this sweep"), "{error}");

    assert!(results(&plan(), &out).unwrap().is_none());
    part(&temp.path().join("all"), &slice(0, 1)).unwrap();
    let digest = merged(&out, &[temp.path().join("all")]).unwrap();
    assert_eq!(results(&plan(), &out).unwrap().unwrap().results.digest, digest);
    assert!(results(&other, &out).is_err());

    change(&a, |manifest| manifest.program = "0123".to_owned());
    let error = part_runs(&plan(), &a).unwrap_err().to_string();
    assert!(error.contains("another program (0123"), "{error}");
    change(&a, |manifest| manifest.program = program_digest().to_owned());
    std::fs::remove_file(a.join("plan.toml")).unwrap();
    assert_eq!(part_runs(&plan(), &a).unwrap(), None);
    std::fs::write(a.join("manifest.json"), "{").unwrap();
    assert_eq!(part_runs(&plan(), &a).unwrap(), None);
}

#[test]
fn runs_of_another_program_are_refused() {
    let temp = tempfile::tempdir().unwrap();
    let (a, out) = (temp.path().join("a"), temp.path().join("out"));
    part(&a, &slice(0, 1)).unwrap();
    change(&a, |manifest| manifest.program = "0123456789abcdef".to_owned());
    let error = refusal(&out, std::slice::from_ref(&a));
    let programs = format!("another program (0123456789abcdef, this one is {})", program_digest());
    assert!(error.contains(&programs), "{error}");
    assert!(error.starts_with(&a.display().to_string()), "it names the part: {error}");
    let error = part(&a, &slice(0, 1)).expect_err("another program began it");
    assert!(matches!(&error, LabError::Record(RecordError::OtherProgram { .. })), "{error}");
    // A run directory that another program began.
    let shared = temp.path().join("shared");
    let begun = Manifest { selection: None, ..RunDir::open_part(&a).unwrap().1 };
    RunDir::begin(&shared, &begun, false).unwrap();
    let error = execute(&plan(), &common::options(&shared)).expect_err("another program");
    assert!(error.to_string().contains("`--afresh`"), "{error}");
    let afresh = ExecuteOptions { discard_existing: true, ..common::options(&shared) };
    execute(&plan(), &afresh).unwrap();
}

#[test]
fn a_merge_says_of_all_parts_at_once_which_are_not_finished_and_which_runs_are_missing() {
    let temp = tempfile::tempdir().unwrap();
    let dir = |name: &str| temp.path().join(name);
    let out = dir("out");
    part(&dir("whole"), &slice(0, 4)).unwrap();
    // The second task stops after its first run, the third before it, the fourth never begins.
    for (name, index, runs) in [("second", 1, 1), ("third", 2, 0)] {
        let (stop, finished) = (AtomicBool::new(runs == 0), AtomicUsize::new(0));
        let progress = |p: RunProgress<'_>| {
            if matches!(p, RunProgress::Finished(_)) {
                finished.fetch_add(1, Ordering::Relaxed);
                stop.store(true, Ordering::Relaxed);
            }
        };
        let (scenario, place) = (scenario(), dir(name));
        let options = ExecuteOptions {
            source: scenario.text(),
            jobs: 1,
            stop: &stop,
            progress: &progress,
            ..common::options(&place)
        };
        let error = execute_part(&plan(), &text(), &options, &slice(index, 4)).unwrap_err();
        assert!(matches!(error, LabError::Interrupted { total: 3, .. }), "{error}");
        assert_eq!(finished.into_inner(), runs);
    }
    let parts = ["whole", "second", "third", "none"].map(dir);
    let error = refusal(&out, &parts);
    for (name, wanted) in [
        ("second", "is a half-written part: 1 of its 3 runs are finished; `lowtide run --index 1"),
        ("third", "is a half-written part: 0 of its 3 runs are finished; `lowtide run --index 2"),
        ("none", "holds no part of a run directory"),
    ] {
        let wanted = format!("{} {wanted}", dir(name).display());
        assert!(error.contains(&wanted), "{wanted}: {error}");
    }
    // Run 1 is the second of the first scheme.
    let first = plan().runs[1].clone();
    let wanted = format!("9 of 12 runs are in no finished part, first the run {},", first.scheme);
    assert!(error.contains(&wanted), "{wanted}: {error}");
    assert!(error.contains("--index I --of 4 --part DIR` makes them, for I = 1, 2, 3"), "{error}");
    // Each command continues or makes its part, and the merge has the digest of one process.
    for (index, place) in parts.iter().enumerate().skip(1) {
        part(place, &slice(index, 4)).unwrap();
    }
    assert_eq!(merged(&out, &parts).unwrap(), simulate(&plan(), 2).unwrap().digest);
}
