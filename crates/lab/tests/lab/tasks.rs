//! Tasks of a job array that fill one directory, sequentially and concurrently.

use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use lowtide_lab::{
    ExecuteOptions, LabError, RunProgress, TaskOutcome, execute, execute_task, load, simulate,
};
use lowtide_record::RunSelection;

use crate::common::{self, plan};

fn with<T>(
    dir: &Path,
    stop: &AtomicBool,
    progress: &(dyn Fn(RunProgress<'_>) + Sync),
    work: impl FnOnce(&ExecuteOptions<'_>) -> T,
) -> T {
    work(&ExecuteOptions { jobs: 1, stop, progress, ..common::options(dir) })
}

fn task(dir: &Path, index: usize, of: usize) -> Result<TaskOutcome, LabError> {
    let go = AtomicBool::new(false);
    with(dir, &go, &|_| {}, |options| {
        execute_task(&plan(), options, &RunSelection::Slice { index, of })
    })
}

fn files(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("a directory");
    entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn the_last_task_completes_the_directory() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("out");
    for (index, done) in [(2, 4), (0, 8)] {
        match task(&dir, index, 3).unwrap() {
            TaskOutcome::Waiting { finished, total } => assert_eq!((finished, total), (done, 12)),
            TaskOutcome::Complete(_) => panic!("task 1 has not run"),
        }
        assert!(load(&dir).is_err());
    }
    let TaskOutcome::Complete(finished) = task(&dir, 1, 3).unwrap() else { panic!("all have run") };
    assert_eq!(finished.results, simulate(&plan(), 2).unwrap());
    let go = AtomicBool::new(false);
    let whole = with(&temp.path().join("whole"), &go, &|_| {}, |o| execute(&plan(), o)).unwrap();
    assert_eq!(finished.manifest.files, whole.manifest.files, "byte by byte, by their hashes");
    // A late task finds the directory complete.
    assert!(matches!(task(&dir, 0, 3).unwrap(), TaskOutcome::Complete(_)));
}

#[test]
fn a_task_does_its_own_runs_once() {
    let temp = tempfile::tempdir().unwrap();
    let (go, started) = (AtomicBool::new(false), AtomicUsize::new(0));
    let count = |p: RunProgress<'_>| {
        started.fetch_add(usize::from(matches!(p, RunProgress::Started(_))), Ordering::Relaxed);
    };
    for expected in [3, 3] {
        let task = RunSelection::Slice { index: 3, of: 4 };
        let done = with(temp.path(), &go, &count, |o| execute_task(&plan(), o, &task)).unwrap();
        assert!(matches!(done, TaskOutcome::Waiting { finished: 3, total: 12 }));
        assert_eq!(started.load(Ordering::Relaxed), expected);
    }
    // With more tasks than runs, the last ones have nothing to do.
    assert!(matches!(task(temp.path(), 40, 50).unwrap(), TaskOutcome::Waiting { finished: 3, .. }));
    // Without an index, the remaining runs are made.
    let whole = with(temp.path(), &go, &count, |o| execute(&plan(), o)).unwrap();
    assert_eq!((whole.results.runs.len(), started.into_inner()), (12, 12));
}

#[test]
fn concurrent_tasks_complete_one_directory() {
    const TASKS: usize = 4;
    let expected = simulate(&plan(), 2).unwrap();
    for round in 0..6 {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("out");
        let start = Barrier::new(TASKS + 1);
        let ends: Vec<_> = std::thread::scope(|scope| {
            let spawn = |index: usize| {
                let (dir, start) = (&dir, &start);
                scope.spawn(move || {
                    start.wait();
                    // The first task is started twice, like a requeued job.
                    task(dir, index % TASKS, TASKS)
                })
            };
            let all: Vec<_> = (0..=TASKS).map(spawn).collect();
            all.into_iter().map(|t| t.join().expect("no panic")).collect()
        });
        let complete = ends.iter().filter(|e| matches!(e, Ok(TaskOutcome::Complete(_)))).count();
        assert!(complete >= 1, "round {round}: {ends:?}");
        assert!(ends.iter().all(Result::is_ok), "round {round}: {ends:?}");
        let finished = load(&dir).unwrap();
        assert_eq!(finished.results, expected, "round {round}");
        for entry in &finished.manifest.files {
            assert!(dir.join(&entry.path).exists(), "{}", entry.path);
        }
        let left: Vec<String> =
            files(&dir).into_iter().filter(|f| f.contains(".tmp") || f == "partial").collect();
        assert!(left.is_empty(), "round {round}: {left:?}");
    }
}
