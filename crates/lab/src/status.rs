//! The state of the runs of a directory while they are being made: finished, running, failed.
//!
//! Contract: nothing is written, and no table is read, so it works at any time during a run. The
//! estimate of the remaining time uses the wall times of finished runs only.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

use lowtide_record::{
    DirectoryStatus, Manifest, ManifestRun, RunDir, RunKey, StartedRun, SurveyedDir, SweepPoint,
};
use serde::Serialize;

use crate::error::LabError;

lowtide_units::named_enum! {
    /// State of a run.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum RunState {
        /// It is finished and stored.
        Done = "done",
        /// A live process makes it.
        Running = "running",
        /// It ended with an error.
        Failed = "failed",
        /// Its process ended before the run did.
        Stopped = "stopped",
        /// No process has started it.
        Missing = "missing",
    }
}

/// A run and its state.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RunStatus {
    /// The run.
    #[serde(flatten)]
    pub key: RunKey,
    /// Its state.
    pub state: RunState,
    /// Wall-clock seconds of a finished run; zero if it has the tables of another.
    pub wall_seconds: Option<f64>,
    /// The process that started it, if it is not finished.
    pub worker: Option<String>,
    /// Seconds since it started, if it is running.
    pub elapsed_seconds: Option<f64>,
    /// The error that ended it.
    pub error: Option<String>,
}

/// State of one or several directories of one plan.
#[derive(Clone, PartialEq, Debug)]
pub struct SweepStatus {
    /// Manifest of the first directory.
    pub manifest: Manifest,
    /// Whether all directories are finished: complete results, or parts.
    pub is_finished: bool,
    /// The runs that the directories are for, in the order of the plan.
    pub runs: Vec<RunStatus>,
    /// Runs of the plan, of which parts have some.
    pub planned: usize,
    /// Estimated seconds of one worker for the runs that are not done; `None` without a finished
    /// run.
    pub remaining_seconds: Option<f64>,
}

impl SweepStatus {
    /// Returns the number of runs in `state`.
    pub fn count(&self, state: RunState) -> usize {
        self.runs.iter().filter(|run| run.state == state).count()
    }

    /// Returns the estimated seconds until the running processes have made all runs; `None` if none
    /// is running, or without a finished run.
    pub fn remaining_wall_seconds(&self) -> Option<f64> {
        let running = self.count(RunState::Running);
        self.remaining_seconds.filter(|_| running > 0).map(|seconds| seconds / running as f64)
    }
}

/// Returns the state of the runs of `roots`: a run directory, or parts of one plan.
///
/// # Errors
/// A directory holds no results, or those of another plan than the first.
pub fn status(roots: &[PathBuf], now: SystemTime) -> Result<SweepStatus, LabError> {
    let mut dirs = Vec::new();
    for root in roots {
        let dir = RunDir::survey(root)?;
        if let Some((first, _)) = dirs.first() {
            check_plan(&dir, first, (root, &roots[0]))?;
        }
        dirs.push((dir, root));
    }
    let Some((first, _)) = dirs.first() else {
        let (message, help) = ("there is no directory".to_owned(), None);
        return Err(LabError::InvalidRequest { message, help });
    };
    let manifest = first.manifest.clone();
    let identity = |key: &RunKey| (key.scheme.clone(), key.point.clone(), key.seed);
    let mut found: BTreeMap<(String, SweepPoint, u64), RunStatus> = BTreeMap::new();
    for (dir, _) in &dirs {
        let done = dir.finished.iter().map(finished);
        for run in done.chain(dir.started.iter().map(|run| started(run, now))) {
            let place = identity(&run.key);
            if found.get(&place).is_none_or(|other| run.state < other.state) {
                found.insert(place, run);
            }
        }
    }
    let wanted = |run: u32| {
        dirs.iter().any(|(dir, _)| dir.manifest.selection.as_ref().is_none_or(|s| s.contains(run)))
    };
    let state = |key: RunKey| match found.remove(&identity(&key)) {
        // Another plan may have given it another number.
        Some(run) => RunStatus { key, ..run },
        None => missing(key),
    };
    let runs: Vec<RunStatus> =
        keys(&manifest).into_iter().filter(|key| wanted(key.run)).map(state).collect();
    let is_finished =
        dirs.iter().all(|(dir, _)| dir.manifest.status != DirectoryStatus::Interrupted);
    let planned = manifest.planned_runs();
    let remaining_seconds = remaining(&runs);
    Ok(SweepStatus { manifest, is_finished, runs, planned, remaining_seconds })
}

/// Rejects a directory of another plan than the first.
fn check_plan(
    dir: &SurveyedDir,
    first: &SurveyedDir,
    (root, first_root): (&PathBuf, &PathBuf),
) -> Result<(), LabError> {
    let (found, wanted) = (&dir.manifest, &first.manifest);
    if found.identity() == wanted.identity()
        && found.has_same_plan(wanted)
        && found.program == wanted.program
    {
        return Ok(());
    }
    let message = format!(
        "`{}` has runs of another plan or program than `{}`",
        root.display(),
        first_root.display()
    );
    let help = Some("name the parts of one command".to_owned());
    Err(LabError::InvalidRequest { message, help })
}

/// Returns the keys of all runs in the order of the plan: by scheme, point and seed.
fn keys(manifest: &Manifest) -> Vec<RunKey> {
    let mut keys = Vec::new();
    for scheme in &manifest.schemes {
        for point in &manifest.points {
            for &seed in &manifest.seeds {
                let run = u32::try_from(keys.len()).unwrap_or(u32::MAX);
                keys.push(RunKey { run, scheme: scheme.clone(), point: point.clone(), seed });
            }
        }
    }
    keys
}

fn finished(run: &ManifestRun) -> RunStatus {
    let wall_seconds = Some(run.wall_seconds);
    RunStatus { state: RunState::Done, wall_seconds, ..missing(run.key.clone()) }
}

fn started(run: &StartedRun, now: SystemTime) -> RunStatus {
    let state = match run {
        StartedRun { error: Some(_), .. } => RunState::Failed,
        StartedRun { is_running: true, .. } => RunState::Running,
        StartedRun { .. } => RunState::Stopped,
    };
    // The clocks of two machines may differ a little.
    let elapsed = now.duration_since(run.since).unwrap_or_default().as_secs_f64();
    RunStatus {
        state,
        worker: Some(run.worker.clone()),
        elapsed_seconds: (state == RunState::Running).then_some(elapsed),
        error: run.error.clone(),
        ..missing(run.key.clone())
    }
}

const fn missing(key: RunKey) -> RunStatus {
    RunStatus {
        key,
        state: RunState::Missing,
        wall_seconds: None,
        worker: None,
        elapsed_seconds: None,
        error: None,
    }
}

/// Estimates the wall-clock seconds of the runs that are not done, one after the other: the mean of
/// finished runs of their scheme and point, or else of their scheme, or else of all.
fn remaining(runs: &[RunStatus]) -> Option<f64> {
    let mut overall = MeanTime::default();
    let mut by_scheme: BTreeMap<&str, MeanTime> = BTreeMap::new();
    let mut by_point: BTreeMap<(&str, &SweepPoint), MeanTime> = BTreeMap::new();
    for RunStatus { key: RunKey { scheme, point, .. }, wall_seconds, .. } in runs {
        // A run with the tables of another one took no time.
        if let Some(wall) = wall_seconds.filter(|wall| *wall > 0.0) {
            overall.add(wall);
            by_scheme.entry(scheme).or_default().add(wall);
            by_point.entry((scheme, point)).or_default().add(wall);
        }
    }
    let mut rest = 0.0;
    for run in runs.iter().filter(|run| run.state != RunState::Done) {
        let RunKey { scheme, point, .. } = &run.key;
        let nearest = by_point.get(&(scheme.as_str(), point)).or(by_scheme.get(scheme.as_str()));
        let expected = nearest.unwrap_or(&overall).mean()?;
        rest += (expected - run.elapsed_seconds.unwrap_or(0.0)).max(0.0);
    }
    Some(rest)
}

/// Mean wall time of runs.
#[derive(Default)]
struct MeanTime {
    sum: f64,
    runs: u32,
}

impl MeanTime {
    fn add(&mut self, seconds: f64) {
        self.sum += seconds;
        self.runs += 1;
    }

    fn mean(&self) -> Option<f64> {
        (self.runs > 0).then(|| self.sum / f64::from(self.runs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(scheme: &str, value: &str, seed: u64, state: RunState, wall: Option<f64>) -> RunStatus {
        let point = SweepPoint(vec![("k".to_owned(), value.to_owned())]);
        let key = RunKey { run: 0, scheme: scheme.to_owned(), point, seed };
        RunStatus { state, wall_seconds: wall, ..missing(key) }
    }

    #[test]
    fn the_rest_is_estimated_from_the_nearest_finished_runs() {
        let done = |scheme, value, seed, wall| run(scheme, value, seed, RunState::Done, Some(wall));
        let todo = |scheme, value, seed| run(scheme, value, seed, RunState::Missing, None);
        let mut runs = vec![
            done("dctcp", "10", 1, 2.0),
            done("dctcp", "20", 1, 4.0),
            // It has the tables of another run.
            done("dctcp", "20", 2, 0.0),
            todo("dctcp", "10", 2),
            todo("dctcp", "40", 1),
            todo("sack", "10", 1),
        ];
        // Its own point, the mean of its scheme, and the mean of all.
        assert_eq!(remaining(&runs), Some(2.0 + 3.0 + 3.0));
        runs[3].state = RunState::Running;
        runs[3].elapsed_seconds = Some(0.5);
        assert_eq!(remaining(&runs), Some(7.5));
        runs[3].elapsed_seconds = Some(60.0);
        assert_eq!(remaining(&runs), Some(6.0), "a run that takes longer needs no negative time");
        assert_eq!(remaining(&runs[..3]), Some(0.0));
        assert_eq!(remaining(&runs[4..]), None, "without a finished run");
    }
}
