//! From a plan to a complete run directory, over several sessions if need be.
//!
//! Contract: a finished run is on disk before the next one starts on its thread. Interrupted, the
//! directory says so, and the same plan continues where it stopped. Complete, everything in it follows
//! from its tables, so that the report can be made again without running anything.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lowtide_record::{MANIFEST_SCHEMA, Manifest, ManifestRun, Point};
use lowtide_record::{RunDir, RunKey, Status};
use lowtide_scenario::{Plan, RunSpec};

use crate::backend::{self, Backend, Made};
use crate::error::LabError;
use crate::facts::RunFacts;
use crate::flow;
use crate::present;
use crate::results::Results;
use crate::schedule::{Progress, Schedule, keys};
use crate::settings::settings;
use crate::transports::{Transports, recorded};

/// How a plan is executed.
pub struct Options<'a> {
    /// The run directory; [`default_dir`] is where it belongs.
    pub dir: PathBuf,
    /// Runs at a time, at least one.
    pub jobs: usize,
    /// Threads of each run, as far as they pay; `None` for `jobs` shared out where there are fewer runs.
    pub threads: Option<usize>,
    /// Forget what is in the directory instead of continuing.
    pub afresh: bool,
    /// The text of the scenario file, kept beside the results.
    pub source: &'a str,
    /// The command that makes these results again, for the report.
    pub command: &'a str,
    /// Wall time since some fixed moment; it is only reported.
    pub clock: &'a (dyn Fn() -> Duration + Sync),
    /// Set it to stop.
    pub stop: &'a AtomicBool,
    /// Whom to tell how far it is.
    pub progress: &'a (dyn Fn(Progress<'_>) + Sync),
    /// Who makes the runs; `None` for the simulator.
    pub backend: Option<&'a dyn Backend>,
}

/// A complete run directory and what it says.
#[derive(Debug)]
pub struct Finished {
    /// Where it is.
    pub dir: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// Its results.
    pub results: Results,
}

impl Finished {
    /// What ran, with the labels that say so.
    pub fn transports(&self) -> Transports {
        Transports::new(&self.manifest, &self.results)
    }
}

/// Writes what people look at into a directory whose tables are complete, and names its files.
pub(crate) type Present<'a> =
    dyn Fn(&RunDir, &Manifest, &Results) -> Result<Vec<String>, LabError> + 'a;

/// `runs/<scenario>/<the first eight digits of its hash>`.
pub fn default_dir(plan: &Plan) -> PathBuf {
    let short = plan.hash.get(..8).unwrap_or(&plan.hash);
    Path::new("runs").join(&plan.name).join(short)
}

/// The same for the runs of a backend: its name follows.
pub fn default_dir_of(plan: &Plan, backend: Option<&dyn Backend>) -> PathBuf {
    let dir = default_dir(plan);
    let Some(backend) = backend else { return dir };
    let (entry, mut name) = (backend.entry(), dir.file_name().unwrap_or_default().to_owned());
    for part in std::iter::once(&entry.name).chain(&entry.choices) {
        name.push("-");
        name.push(flow::file_name(part));
    }
    dir.with_file_name(name)
}

/// Runs what of `plan` is not in the directory yet, and completes the directory.
pub fn execute(plan: &Plan, options: &Options<'_>) -> Result<Finished, LabError> {
    execute_as(plan, options, &present::write)
}

/// One task of a job array: it does the runs of the plan whose number leaves `index` when divided by
/// `of`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Task {
    /// From zero.
    pub index: usize,
    /// How many tasks there are; more than `index`.
    pub of: usize,
}

/// What a task leaves behind.
#[derive(Debug)]
pub enum Tasked {
    /// It found all runs finished, and completed the directory.
    Complete(Box<Finished>),
    /// Other tasks are not done yet; the last one completes the directory.
    Waiting {
        /// Runs that are finished, whoever did them.
        finished: usize,
        /// Runs of the plan.
        total: usize,
    },
}

/// Does one task's runs of `plan`. Tasks may run at the same time, in processes and on machines of their
/// own, into one directory.
pub fn execute_task(plan: &Plan, options: &Options<'_>, task: Task) -> Result<Tasked, LabError> {
    let keys = keys(plan);
    backend::check(plan, options.backend)?;
    let planned = manifest(plan, options)?;
    let (dir, before) = RunDir::begin(&options.dir, &planned, false)?;
    let completed = |m: &Manifest| holds(m, plan, &keys);
    if before.as_ref().is_none_or(|m| !completed(m)) {
        keep_complete(&dir, before.as_ref(), plan, &keys)?;
        match do_task(&dir, plan, options, task, &keys, planned) {
            done @ Ok(Tasked::Complete(_)) => return done,
            other if !dir.manifest().is_ok_and(|m| completed(&m)) => return other,
            // Another task completed the directory meanwhile, and took what this one was reading or
            // writing; nothing that this one has done since is needed.
            _ => dir.tidy()?,
        }
    }
    load(&options.dir).map(Box::new).map(Tasked::Complete)
}

/// The runs of a task, and the directory if no other run is missing.
fn do_task(
    dir: &RunDir,
    plan: &Plan,
    options: &Options<'_>,
    task: Task,
    keys: &[RunKey],
    planned: Manifest,
) -> Result<Tasked, LabError> {
    let jobs = || keys.iter().zip(&plan.runs);
    let own: Vec<_> = jobs().skip(task.index).step_by(task.of.max(1)).collect();
    let todo: Vec<_> = own.iter().copied().filter(|(k, s)| !dir.has(k, &s.hash)).collect();
    let kept = own.len() - todo.len();
    (options.progress)(Progress::Planned { runs: own.len(), kept });
    let done = run_and_keep(dir, &todo, options)?.into_iter().flatten().count();
    if done < todo.len() {
        let (finished, total) = (kept + done, own.len());
        return Err(LabError::Interrupted { finished, total, dir: options.dir.clone() });
    }
    let total = keys.len();
    let finished = jobs().filter(|(key, spec)| dir.has(key, &spec.hash)).count();
    if finished < total {
        return Ok(Tasked::Waiting { finished, total });
    }
    let runs = kept_runs(dir, plan, keys);
    let finished = complete(dir, plan, options, runs, planned, &present::write)?;
    Ok(Tasked::Complete(Box::new(finished)))
}

/// Of complete results of fewer or other seeds, those runs that are in the plan, too, are kept.
fn keep_complete(
    dir: &RunDir,
    before: Option<&Manifest>,
    plan: &Plan,
    keys: &[RunKey],
) -> Result<(), LabError> {
    let Some(complete) = before.filter(|m| m.status == Status::Complete) else { return Ok(()) };
    let mut planned: BTreeMap<&str, Vec<&RunKey>> = BTreeMap::new();
    for (key, spec) in keys.iter().zip(&plan.runs) {
        planned.entry(&spec.hash).or_default().push(key);
    }
    let wanted = |run: &&ManifestRun| {
        let same = |key: &&RunKey| **key == RunKey { run: key.run, ..run.key.clone() };
        let alike = planned.get(run.hash.as_str());
        alike.is_some_and(|keys| keys.iter().any(same)) && !dir.has(&run.key, &run.hash)
    };
    let runs: Vec<&ManifestRun> = complete.runs.iter().filter(wanted).collect();
    if !runs.is_empty() {
        dir.take_apart(&runs)?;
    }
    Ok(())
}

/// The runs of the plan that are there already.
fn kept_runs(dir: &RunDir, plan: &Plan, keys: &[RunKey]) -> Vec<Option<(ManifestRun, RunFacts)>> {
    let kept = |(key, spec): (&RunKey, &RunSpec)| {
        let (run, tables) = dir.kept(key, &spec.hash)?;
        let facts = RunFacts::new(key, &tables, &run.size_classes);
        Some((run, facts))
    };
    keys.iter().zip(&plan.runs).map(kept).collect()
}

/// Does `todo` and keeps each run as soon as it is finished; in the same order, `None` where the caller
/// stopped.
fn run_and_keep(
    dir: &RunDir,
    todo: &[(&RunKey, &RunSpec)],
    options: &Options<'_>,
) -> Result<Vec<Option<(ManifestRun, RunFacts)>>, LabError> {
    let &Options { jobs, threads, stop, progress, backend, .. } = options;
    let schedule = Schedule { jobs, threads, stop, progress, backend };
    schedule.run(todo, options.clock, &|i, _, Made { tables, measured, threads }, wall| {
        let (key, spec) = todo[i];
        let run = ManifestRun {
            key: key.clone(),
            hash: spec.hash.clone(),
            digest: tables.digest().to_owned(),
            wall_seconds: wall.as_secs_f64(),
            threads,
            size_classes: spec.size_classes(),
            measured,
        };
        dir.keep(&run, &tables)?;
        let facts = RunFacts::new(key, &tables, &run.size_classes);
        Ok((run, facts))
    })
}

/// The same with a report of another kind.
pub(crate) fn execute_as(
    plan: &Plan,
    options: &Options<'_>,
    present: &Present<'_>,
) -> Result<Finished, LabError> {
    let keys = keys(plan);
    backend::check(plan, options.backend)?;
    let planned = manifest(plan, options)?;
    let (dir, before) = RunDir::begin(&options.dir, &planned, options.afresh)?;
    if let Some(complete) = before.as_ref().filter(|m| holds(m, plan, &keys)) {
        (options.progress)(Progress::Planned { runs: keys.len(), kept: keys.len() });
        return finished(&dir, complete.clone());
    }
    keep_complete(&dir, before.as_ref(), plan, &keys)?;
    let mut runs = kept_runs(&dir, plan, &keys);
    let kept = runs.iter().flatten().count();
    (options.progress)(Progress::Planned { runs: keys.len(), kept });

    let todo: Vec<(&RunKey, &RunSpec)> = keys
        .iter()
        .zip(&plan.runs)
        .zip(&runs)
        .filter_map(|(job, run)| run.is_none().then_some(job))
        .collect();
    let mut new = run_and_keep(&dir, &todo, options)?.into_iter();
    for run in runs.iter_mut().filter(|r| r.is_none()) {
        *run = new.next().flatten();
    }
    complete(&dir, plan, options, runs, planned, present)
}

/// Merges the runs, which must all be there, and writes everything that follows from them.
fn complete(
    dir: &RunDir,
    plan: &Plan,
    options: &Options<'_>,
    runs: Vec<Option<(ManifestRun, RunFacts)>>,
    planned: Manifest,
    present: &Present<'_>,
) -> Result<Finished, LabError> {
    let total = runs.len();
    let (entries, facts): (Vec<_>, Vec<_>) = runs.into_iter().flatten().unzip();
    if facts.len() < total {
        return Err(LabError::Interrupted {
            finished: facts.len(),
            total,
            dir: options.dir.clone(),
        });
    }

    (options.progress)(Progress::Writing);
    dir.merge(&entries)?;
    dir.write("scenario.toml", options.source)?;
    let mut files = vec!["scenario.toml".to_owned()];
    for (scheme, spec) in resolved(plan) {
        let shown = (format!("resolved/{}.toml", flow::file_name(scheme)), spec);
        for (path, spec) in std::iter::once(shown).chain(flow::others(plan, spec)) {
            dir.write(&path, &spec.resolved_toml())?;
            files.push(path);
        }
    }
    let results = Results::new(facts);
    let manifest = Manifest {
        digest: Some(results.digest.clone()),
        hops: results.runs.iter().map(|r| r.hops).sum(),
        flows: results.runs.iter().flat_map(|r| &r.groups).map(|g| g.flows as u64).sum(),
        unfinished: results.unfinished() as u64,
        failed: results.failed() as u64,
        wall_seconds: entries.iter().map(|r| r.wall_seconds).sum(),
        runs: entries,
        ..planned
    };
    files.extend(present(dir, &manifest, &results)?);
    let manifest = dir.finish(manifest, &files)?;
    Ok(Finished { dir: options.dir.clone(), manifest, results })
}

/// The results of a complete run directory.
pub fn load(root: &Path) -> Result<Finished, LabError> {
    let (dir, manifest) = RunDir::open(root)?;
    finished(&dir, manifest)
}

/// Makes everything in a complete run directory that follows from its tables again, with the report that
/// is wanted.
pub(crate) fn again(root: &Path, present: &Present<'_>) -> Result<Finished, LabError> {
    let (dir, manifest) = RunDir::open(root)?;
    let Finished { results, .. } = finished(&dir, manifest.clone())?;
    let mut files: Vec<String> = manifest
        .files
        .iter()
        .map(|f| f.path.clone())
        .filter(|p| p == "scenario.toml" || p.starts_with("resolved/"))
        .collect();
    files.extend(present(&dir, &manifest, &results)?);
    let manifest = dir.finish(manifest, &files)?;
    Ok(Finished { dir: root.to_path_buf(), manifest, results })
}

/// Runs a plan and keeps nothing on disk: for claims and tests.
pub fn simulate(plan: &Plan, jobs: usize) -> Result<Results, LabError> {
    let keys = keys(plan);
    let todo: Vec<(&RunKey, &RunSpec)> = keys.iter().zip(&plan.runs).collect();
    let schedule = Schedule {
        jobs,
        threads: None,
        stop: &AtomicBool::new(false),
        progress: &|_| {},
        backend: None,
    };
    let facts = schedule.run(&todo, &|| Duration::ZERO, &|i, _, made, _| {
        let (key, spec) = todo[i];
        Ok(RunFacts::new(key, &made.tables, &spec.size_classes()))
    })?;
    Ok(Results::new(facts.into_iter().flatten().collect()))
}

fn finished(dir: &RunDir, manifest: Manifest) -> Result<Finished, LabError> {
    let mut reader = dir.reader()?;
    let mut facts = Vec::new();
    for run in &manifest.runs {
        if let Some(tables) = reader.take(run.key.run)? {
            facts.push(RunFacts::new(&run.key, &tables, &run.size_classes));
        }
    }
    let results = Results::new(facts);
    Ok(Finished { dir: dir.root().to_path_buf(), manifest, results })
}

/// Whether a directory is complete and holds exactly the runs of `plan`.
fn holds(manifest: &Manifest, plan: &Plan, keys: &[RunKey]) -> bool {
    manifest.status == Status::Complete
        && manifest.runs.len() == keys.len()
        && manifest
            .runs
            .iter()
            .zip(keys.iter().zip(&plan.runs))
            .all(|(run, (key, spec))| run.key == *key && run.hash == spec.hash)
}

/// The first run of every scheme at the point that the report shows.
fn resolved(plan: &Plan) -> impl Iterator<Item = (&str, &RunSpec)> {
    let point = plan.points.last().cloned().unwrap_or_default();
    plan.schemes.iter().filter_map(move |scheme| {
        let spec = plan.runs.iter().find(|r| r.scheme == *scheme && r.point == point)?;
        Some((scheme.as_str(), spec))
    })
}

/// What the scenario says about itself.
fn description(plan: &Plan) -> Option<String> {
    let table: toml::Table = plan.runs.first()?.resolved_toml().parse().ok()?;
    table.get("description")?.as_str().map(str::to_owned)
}

fn manifest(plan: &Plan, options: &Options<'_>) -> Result<Manifest, LabError> {
    let mut seeds: Vec<u64> = plan.runs.iter().map(|r| r.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    Ok(Manifest {
        schema: MANIFEST_SCHEMA.to_owned(),
        status: Status::Interrupted,
        version: crate::VERSION.to_owned(),
        scenario: plan.name.clone(),
        title: plan.title.clone(),
        description: description(plan),
        scenario_hash: plan.hash.clone(),
        command: options.command.to_owned(),
        backend: options.backend.map(Backend::entry),
        digest: None,
        schemes: plan.schemes.clone(),
        replaced: plan.replaced.iter().map(recorded).collect(),
        points: plan.points.iter().cloned().map(Point).collect(),
        seeds,
        settings: settings(plan)?,
        wall_seconds: 0.0,
        hops: 0,
        flows: 0,
        unfinished: 0,
        failed: 0,
        runs: Vec::new(),
        files: Vec::new(),
    })
}
