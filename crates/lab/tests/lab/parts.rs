//! Parts and their merge: repeated tasks, duplicates, parts of another program, failed runs.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use lowtide_host::Setup;
use lowtide_lab::{
    Backend, CompletedRun, ExecuteOptions, LabError, PartOutcome, RunProgress, RunState,
    UnsupportedSetup, execute, execute_part, merge, merged as results, part_runs, part_text,
    program_digest, simulate, status,
};
use lowtide_record::{Backend as Entry, Manifest, RecordError, RunDir, RunSelection};
use lowtide_units::Instant;

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
    // A shared directory of another program.
    let shared = temp.path().join("shared");
    let begun = Manifest { selection: None, ..RunDir::open_part(&a).unwrap().1 };
    RunDir::begin(&shared, &begun, false).unwrap();
    let error = execute(&plan(), &common::options(&shared)).expect_err("another program");
    assert!(error.to_string().contains("`--afresh`"), "{error}");
    let afresh = ExecuteOptions { discard_existing: true, ..common::options(&shared) };
    execute(&plan(), &afresh).unwrap();
}

/// A backend whose runs fail for this reason.
struct Broken(&'static str);

impl Backend for Broken {
    fn entry(&self) -> Entry {
        Entry { name: "broken".to_owned(), kernel: "0".to_owned(), choices: Vec::new() }
    }

    fn check(&self, _: &Setup) -> Result<(), UnsupportedSetup> {
        Ok(())
    }

    fn run(
        &self,
        _: &Setup,
        _: &mut dyn FnMut(Instant) -> bool,
    ) -> Result<Option<CompletedRun>, String> {
        Err(self.0.to_owned())
    }
}

#[test]
fn the_status_of_a_failed_run_has_its_latest_reason() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("out");
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 32);
    for reason in ["the first device broke", "the second device broke"] {
        let backend = Broken(reason);
        let options = ExecuteOptions { backend: Some(&backend), ..common::options(&dir) };
        let error = execute(&plan(), &options).map(|_| ()).expect_err("it fails").to_string();
        let failed = status(std::slice::from_ref(&dir), now).unwrap();
        assert_eq!(failed.count(RunState::Failed), 1, "{failed:?}");
        assert_eq!(failed.count(RunState::Missing), 11);
        assert_eq!((failed.is_finished, failed.remaining_seconds), (false, None));
        let run = failed.runs.iter().find(|run| run.state == RunState::Failed).unwrap();
        assert!(error.contains(reason), "{error}");
        assert_eq!(run.error.as_deref(), Some(error.as_str()));
        assert_eq!(run.worker.as_deref(), Some("test"));
    }
}
