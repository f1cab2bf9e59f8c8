//! Evaluations of settings: runs of experiments, each stored as the values of its claims.
//!
//! Contract: an evaluation is one experiment at one setting with one seed. Its file is written when
//! it is finished, so an interrupted inference repeats no finished evaluation, and several
//! processes with one directory divide the evaluations among them. The name of the file covers the
//! runs, the measures and the program, so a file is never used for something else.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lowtide_input_files::JSON;
use lowtide_lab::{
    ExecuteOptions, LabError, ResourceLimits, execute_as, load_open, program_digest,
};
use lowtide_record::{RecordError, remove_directory, write_atomic};
use lowtide_scenario::RunPlan;
use serde::{Deserialize, Serialize};

use super::setting::Setting;
use super::subject::{InferenceSubject, InferredExperiment};
use crate::ClaimError;
use crate::error::PaperError;
use crate::source::RunData;

/// Time between two looks at evaluations of other processes.
const POLL: Duration = Duration::from_millis(500);

/// The code that turns tables into values, which the digest of the program does not cover.
const MEASURES: [&str; 9] = [
    include_str!("../measure.rs"),
    include_str!("../measure/censored.rs"),
    include_str!("../measure/filter.rs"),
    include_str!("../measure/metric.rs"),
    include_str!("../measure/reduce.rs"),
    include_str!("../measure/rows.rs"),
    include_str!("../rates.rs"),
    include_str!("../windows.rs"),
    include_str!("../source.rs"),
];

/// Options of an inference.
pub struct InferenceOptions<'a> {
    /// Directory of all results.
    pub dir: PathBuf,
    /// Concurrent evaluations in this process, at least one.
    pub jobs: usize,
    /// Number of this process and of all that share the directory: where it begins in the list.
    pub part: (usize, usize),
    /// Set by the caller to stop.
    pub stop: &'a AtomicBool,
    /// Wall time since a fixed instant; only recorded.
    pub clock: &'a (dyn Fn() -> Duration + Sync),
    /// Resource limits of all evaluations together.
    pub limits: ResourceLimits<'a>,
    /// Name of this process.
    pub worker: &'a str,
    /// Called with the phase, finished evaluations and all of the phase.
    pub progress: &'a (dyn Fn(&str, usize, usize) + Sync),
}

/// Value of a claim with one seed, and for a rate the number of trials.
pub(super) type SeedValue = (Option<f64>, Option<f64>);

/// A stored evaluation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Evaluation {
    /// The experiment.
    experiment: String,
    /// The setting; empty for the defaults.
    setting: Setting,
    seed: u64,
    /// Packet-hops of its runs.
    pub(super) hops: u64,
    /// Values by claim.
    pub(super) values: BTreeMap<String, SeedValue>,
}

/// One experiment at one setting with one seed.
struct Task<'s> {
    experiment: &'s InferredExperiment,
    setting: &'s Setting,
    seed: u64,
    plan: RunPlan,
    file: PathBuf,
}

/// State of an evaluation in this process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Open,
    /// Another process runs it.
    Elsewhere,
    Taken,
    Done,
}

/// Values of the claims at each of `settings`, with these seeds: by setting, then by claim, then by
/// seed.
///
/// # Errors
/// A run fails or is stopped, or a file cannot be written.
pub(super) fn evaluate(
    subject: &InferenceSubject,
    settings: &[Setting],
    seeds: Range<u64>,
    phase: &str,
    options: &InferenceOptions<'_>,
) -> Result<Vec<BTreeMap<String, Vec<SeedValue>>>, PaperError> {
    let all: Vec<&InferredExperiment> = subject.experiments.iter().collect();
    evaluate_in(subject, &all, settings, seeds, phase, options)
}

/// As [`evaluate`], for some experiments.
///
/// # Errors
/// As [`evaluate`].
pub(super) fn evaluate_in(
    subject: &InferenceSubject,
    experiments: &[&InferredExperiment],
    settings: &[Setting],
    seeds: Range<u64>,
    phase: &str,
    options: &InferenceOptions<'_>,
) -> Result<Vec<BTreeMap<String, Vec<SeedValue>>>, PaperError> {
    let mut tasks = Vec::new();
    for setting in settings {
        for experiment in experiments {
            for seed in seeds.clone() {
                tasks.push(task(subject, experiment, setting, seed, options)?);
            }
        }
    }
    run_all(&tasks, phase, options)?;
    let mut read = tasks.iter().map(|task| read(&task.file));
    let mut out = Vec::new();
    for _ in settings {
        let mut values: BTreeMap<String, Vec<SeedValue>> = BTreeMap::new();
        for _ in 0..experiments.len() * seeds.clone().count() {
            let Some(evaluation) = read.next() else { break };
            for (claim, value) in evaluation?.values {
                values.entry(claim).or_default().push(value);
            }
        }
        out.push(values);
    }
    Ok(out)
}

fn task<'s>(
    subject: &'s InferenceSubject,
    experiment: &'s InferredExperiment,
    setting: &'s Setting,
    seed: u64,
    options: &InferenceOptions<'_>,
) -> Result<Task<'s>, PaperError> {
    let plan = experiment.plan(&subject.open, setting, seed)?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(plan.hash.as_bytes()).update(&seed.to_le_bytes());
    hasher.update(program_digest().as_bytes());
    for source in MEASURES {
        hasher.update(source.as_bytes());
    }
    for claim in &experiment.claims {
        let claim = &claim.claim;
        let measure = format!("{} {:?} {:?};", claim.id, claim.measure, claim.trials);
        hasher.update(measure.as_bytes());
    }
    let name = &hasher.finalize().to_hex().as_str()[..16].to_owned();
    let dir = options.dir.join("evaluations").join(experiment.experiment.id());
    Ok(Task { experiment, setting, seed, plan, file: dir.join(format!("{name}.json")) })
}

/// Runs the tasks that have no file, until all have one.
fn run_all(
    tasks: &[Task<'_>],
    phase: &str,
    options: &InferenceOptions<'_>,
) -> Result<(), PaperError> {
    let (index, of) = options.part;
    let begin = (tasks.len() * index / of.max(1)).min(tasks.len());
    let begun = |task: &Task<'_>| {
        if task.file.exists() { Progress::Done } else { Progress::Open }
    };
    let states = Mutex::new(tasks.iter().map(begun).collect::<Vec<_>>());
    let failure: Mutex<Option<PaperError>> = Mutex::new(None);
    let locked = || states.lock().unwrap_or_else(PoisonError::into_inner);
    let set = |i: usize, state: Progress| {
        let mut states = locked();
        states[i] = state;
        let done = states.iter().filter(|s| **s == Progress::Done).count();
        drop(states);
        (options.progress)(phase, done, tasks.len());
    };
    let take = || -> Option<usize> {
        let mut states = locked();
        let order = (begin..tasks.len()).chain(0..begin);
        let next = order.into_iter().find(|i| states[*i] == Progress::Open)?;
        states[next] = Progress::Taken;
        Some(next)
    };
    let failed = || failure.lock().unwrap_or_else(PoisonError::into_inner).is_some();
    let work = || {
        while !failed() && !options.stop.load(Ordering::Relaxed) {
            let Some(i) = take() else {
                if locked().iter().all(|s| !matches!(s, Progress::Elsewhere | Progress::Open)) {
                    return;
                }
                std::thread::sleep(POLL);
                for (state, task) in locked().iter_mut().zip(tasks) {
                    if *state == Progress::Elsewhere {
                        *state = begun(task);
                    }
                }
                continue;
            };
            match run(&tasks[i], options) {
                Ok(true) => set(i, Progress::Done),
                Ok(false) => set(i, Progress::Elsewhere),
                Err(error) => {
                    let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                    failure.get_or_insert(error);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(work);
        }
    });
    if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let finished = locked().iter().filter(|s| **s == Progress::Done).count();
    let total = tasks.len();
    if finished < total {
        let dir = options.dir.clone();
        return Err(LabError::Interrupted { finished, total, dir }.into());
    }
    Ok(())
}

/// Runs a task and writes its file. Returns `false` if another process runs it.
fn run(task: &Task<'_>, options: &InferenceOptions<'_>) -> Result<bool, PaperError> {
    let io = |action, path: &Path| {
        let path = path.to_owned();
        move |source| PaperError::from(RecordError::Io { action, path, source })
    };
    let parent = task.file.parent().unwrap_or(&options.dir);
    std::fs::create_dir_all(parent).map_err(io("create", parent))?;
    let lock_path = task.file.with_extension("lock");
    let lock = File::create(&lock_path).map_err(io("create", &lock_path))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(false),
        Err(TryLockError::Error(e)) => return Err(io("lock", &lock_path)(e)),
    }
    // Another process may have finished it before this one had the lock.
    if !task.file.exists() {
        let evaluation = measure(task, options)?;
        let text = serde_json::to_vec(&evaluation).map_err(|e| ClaimError {
            file: task.file.display().to_string(),
            message: e.to_string(),
        })?;
        write_atomic(&task.file, &text)?;
    }
    // The file of results exists, so a process that locks another file of this name finds it. One
    // that waited for this file has removed it already.
    match std::fs::remove_file(&lock_path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(io("remove", &lock_path)(e)),
        _ => Ok(true),
    }
}

fn measure(task: &Task<'_>, options: &InferenceOptions<'_>) -> Result<Evaluation, PaperError> {
    let Task { experiment, setting, seed, plan, file } = task;
    let dir = file.with_extension("runs");
    let jobs = options.jobs.max(1) as u64;
    let limits =
        ResourceLimits { memory: options.limits.memory.map(|m| m / jobs), ..options.limits };
    let execute = ExecuteOptions {
        dir: dir.clone(),
        jobs: 1,
        threads: Some(1),
        discard_existing: false,
        source: experiment.experiment.scenario,
        command: "",
        clock: options.clock,
        stop: options.stop,
        progress: &|_| {},
        on_thread: &|work| work(),
        backend: None,
        limits,
        share: true,
        worker: options.worker,
    };
    execute_as(plan, &execute, &|_, _, _| Ok(Vec::new()))?;
    let (tables, finished) = load_open(&dir)?;
    let manifest = &finished.manifest;
    let source = RunData { dir: &tables, runs: &finished.results.runs, seeds: &manifest.seeds };
    let mut values = BTreeMap::new();
    for claim in &experiment.claims {
        let id = &claim.id;
        let fail = |message: String| ClaimError {
            file: experiment.experiment.id(),
            message: format!("claim `{id}`: {message}"),
        };
        let one = |values: Vec<Option<f64>>| values.into_iter().next().flatten();
        let value = one(claim.claim.measure.values(source).map_err(fail)?);
        let trials = claim.claim.trials.as_ref().map(|t| t.values(source));
        let trials = trials.transpose().map_err(fail)?.and_then(one);
        values.insert(id.clone(), (value, trials));
    }
    let hops = manifest.hops;
    drop(tables);
    remove_directory(&dir)?;
    let experiment = experiment.experiment.id();
    Ok(Evaluation { experiment, setting: (*setting).clone(), seed: *seed, hops, values })
}

fn read(path: &Path) -> Result<Evaluation, PaperError> {
    let text = lowtide_input_files::read(path, &JSON).map_err(|source| RecordError::Io {
        action: "read",
        path: path.to_owned(),
        source,
    })?;
    serde_json::from_slice(&text).map_err(|e| {
        let message = format!("it is not an evaluation ({e}); remove it, and it is run again");
        ClaimError { file: path.display().to_string(), message }.into()
    })
}
