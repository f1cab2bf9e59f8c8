//! Execution of a plan into a complete run directory, in one or several sessions.
//!
//! Contract: a finished run is on disk before its thread starts the next one. An interrupted
//! directory is marked as such, and the same plan continues it. In a complete directory everything
//! follows from the tables, so the report can be rendered again without any run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lowtide_record::{
    DirectoryStatus, MANIFEST_SCHEMA, Manifest, ManifestRun, RecordError, RunDir, RunKey,
    SweepPoint,
};
use lowtide_scenario::{RunPlan, RunSpec};

use crate::backend::{self, Backend, CompletedRun};
use crate::budget::{ResourceLimits, admit, concurrent_jobs};
use crate::delay_target;
use crate::error::LabError;
use crate::facts::RunFacts;
use crate::flow;
use crate::outputs;
use crate::program::program_digest;
use crate::results::Results;
use crate::schedule::{FinishedRun, OnThread, RunProgress, Schedule, keys};
use crate::settings::settings;
use crate::sharing;
use crate::stored::{
    CompletedExperiment, OutputWriter, answer_again, load_results, verify_and_load,
};
use crate::transports::manifest_entry;

/// Options of an execution.
pub struct ExecuteOptions<'a> {
    /// The run directory; the usual one is [`default_dir`].
    pub dir: PathBuf,
    /// Concurrent runs, at least one.
    pub jobs: usize,
    /// Threads per run, as far as they help; `None` to distribute `jobs` over fewer runs.
    pub threads: Option<usize>,
    /// Discards the content of the directory instead of continuing.
    pub discard_existing: bool,
    /// Text of the scenario file, stored next to the results.
    pub source: &'a str,
    /// Command that reproduces these results, for the report.
    pub command: &'a str,
    /// Wall time since a fixed instant; only reported.
    pub clock: &'a (dyn Fn() -> Duration + Sync),
    /// Set by the caller to stop.
    pub stop: &'a AtomicBool,
    /// Progress callback.
    pub progress: &'a (dyn Fn(RunProgress<'_>) + Sync),
    /// Wraps the work of each thread that makes runs: a caller may prepare the thread.
    pub on_thread: &'a OnThread<'a>,
    /// Backend of the runs; `None` for the simulator.
    pub backend: Option<&'a dyn Backend>,
    /// Resource limits of the runs; a plan that does not fit is rejected before its first run.
    pub limits: ResourceLimits<'a>,
    /// Simulates runs of a scheme with equal outcomes once ([`RunPlan::shared`]).
    pub share: bool,
}

/// Returns `runs/<scenario>/<first eight digits of its hash>`.
pub fn default_dir(plan: &RunPlan) -> PathBuf {
    let short = plan.hash.get(..8).unwrap_or(&plan.hash);
    Path::new("runs").join(&plan.name).join(short)
}

/// Returns [`default_dir`] with the name of the backend appended.
pub fn default_dir_for_backend(plan: &RunPlan, backend: Option<&dyn Backend>) -> PathBuf {
    let dir = default_dir(plan);
    let Some(backend) = backend else { return dir };
    let (entry, mut name) = (backend.entry(), dir.file_name().unwrap_or_default().to_owned());
    for part in std::iter::once(&entry.name).chain(&entry.choices) {
        name.push("-");
        name.push(flow::file_name(part));
    }
    dir.with_file_name(name)
}

/// Makes the runs of `plan` that are missing in the directory, and completes the directory.
pub fn execute(
    plan: &RunPlan,
    options: &ExecuteOptions<'_>,
) -> Result<CompletedExperiment, LabError> {
    execute_as(plan, options, &outputs::write)
}

/// Keeps the runs of complete results with other seeds that are in the plan too.
fn keep_matching_runs(
    dir: &RunDir,
    before: Option<&Manifest>,
    plan: &RunPlan,
    keys: &[RunKey],
) -> Result<(), LabError> {
    let usable =
        |m: &&Manifest| m.status == DirectoryStatus::Complete && m.program == program_digest();
    let Some(complete) = before.filter(usable) else { return Ok(()) };
    let mut planned: BTreeMap<&str, Vec<&RunKey>> = BTreeMap::new();
    for (key, spec) in keys.iter().zip(&plan.runs) {
        planned.entry(&spec.hash).or_default().push(key);
    }
    let wanted = |run: &&ManifestRun| {
        let same = |key: &&RunKey| **key == RunKey { run: key.run, ..run.key.clone() };
        let alike = planned.get(run.hash.as_str());
        alike.is_some_and(|keys| keys.iter().any(same)) && !dir.is_run_intact(&run.key, &run.hash)
    };
    let runs: Vec<&ManifestRun> = complete.runs.iter().filter(wanted).collect();
    if !runs.is_empty() {
        dir.split_into_partial(&runs)?;
    }
    Ok(())
}

/// Returns the runs of the plan that the directory already has.
fn kept_runs(
    dir: &RunDir,
    plan: &RunPlan,
    keys: &[RunKey],
) -> Vec<Option<(ManifestRun, RunFacts)>> {
    let kept = |(key, spec): (&RunKey, &RunSpec)| {
        let (run, tables) = dir.load_run(key, &spec.hash)?;
        let facts = RunFacts::new(key, &tables, &run.size_classes);
        Some((run, facts))
    };
    keys.iter().zip(&plan.runs).map(kept).collect()
}

/// Makes `todo` and stores each run when it is finished. Returns them in the same order, with
/// `None` for runs after the caller's stop.
pub(crate) fn run_and_keep(
    dir: &RunDir,
    todo: &[(&RunKey, &RunSpec)],
    (options, jobs): (&ExecuteOptions<'_>, usize),
) -> Result<Vec<Option<(ManifestRun, RunFacts)>>, LabError> {
    let &ExecuteOptions { threads, stop, progress, on_thread, backend, limits, share, .. } =
        options;
    let schedule = Schedule { jobs, threads, stop, progress, on_thread, backend, limits, share };
    schedule.run(todo, options.clock, &|run| {
        let FinishedRun { index, completed, wall, shared_from } = run;
        let (key, spec) = todo[index];
        let CompletedRun { tables, measured, threads } = completed;
        let run = ManifestRun {
            key: key.clone(),
            hash: spec.hash.clone(),
            digest: tables.digest().to_owned(),
            wall_seconds: wall.as_secs_f64(),
            threads: *threads,
            size_classes: spec.size_classes(),
            measured: measured.clone(),
            shared_from: shared_from.map(|key| key.point.clone()),
        };
        dir.save_run(&run, tables)?;
        let facts = RunFacts::new(key, tables, &run.size_classes);
        Ok((run, facts))
    })
}

/// Makes the runs of the plan that are `None`.
fn run_missing(
    dir: &RunDir,
    plan: &RunPlan,
    keys: &[RunKey],
    how: (&ExecuteOptions<'_>, usize),
    runs: &mut [Option<(ManifestRun, RunFacts)>],
) -> Result<(), LabError> {
    let jobs = keys.iter().zip(&plan.runs).zip(&*runs);
    let todo: Vec<(&RunKey, &RunSpec)> =
        jobs.filter_map(|(job, run)| run.is_none().then_some(job)).collect();
    let mut new = run_and_keep(dir, &todo, how)?.into_iter();
    for run in runs.iter_mut().filter(|r| r.is_none()) {
        *run = new.next().flatten();
    }
    Ok(())
}

/// Execution of a plan into a directory.
pub(crate) struct Session<'a> {
    pub(crate) plan: &'a RunPlan,
    pub(crate) options: &'a ExecuteOptions<'a>,
    pub(crate) keys: Vec<RunKey>,
    pub(crate) planned: Manifest,
}

/// Attempts of a session whose files another process removes.
const ATTEMPTS: usize = 4;

impl<'a> Session<'a> {
    pub(crate) fn new(
        plan: &'a RunPlan,
        options: &'a ExecuteOptions<'a>,
    ) -> Result<Self, LabError> {
        backend::check(plan, options.backend)?;
        delay_target::check(plan)?;
        Ok(Self { plan, options, keys: keys(plan), planned: manifest(plan, options)? })
    }

    /// Returns whether a directory is complete and holds exactly the runs of the plan.
    pub(crate) fn holds(&self, manifest: &Manifest) -> bool {
        holds(manifest, self.plan, &self.keys)
    }

    /// Opens the directory and calls `work` with the number of concurrent runs, unless the
    /// directory holds the whole plan.
    ///
    /// Another process may complete the directory meanwhile and remove files in use here; then the
    /// work of this session is not needed. It may also restart the directory, or remove runs that
    /// its own plan lacks; those runs are repeated.
    fn attempt(
        &self,
        write_outputs: &OutputWriter<'_>,
        work: &dyn Fn(&RunDir, usize) -> Result<CompletedExperiment, LabError>,
    ) -> Result<CompletedExperiment, LabError> {
        let Self { plan, options, keys, planned } = self;
        let (mut left, mut afresh) = (ATTEMPTS, options.discard_existing);
        // A plan that does not fit creates no directory; a complete directory needs no resources.
        let mut cost = None;
        if !RunDir::is_begun(&options.dir) {
            cost = Some(admit(plan, &options.limits)?);
        }
        loop {
            left -= 1;
            let (dir, before) = RunDir::begin(&options.dir, planned, afresh)?;
            if let Some(complete) = before.as_ref().filter(|m| self.holds(m)) {
                (options.progress)(RunProgress::Planned { runs: keys.len(), kept: keys.len() });
                let asked = Manifest { question: planned.question.clone(), ..complete.clone() };
                if asked.question != complete.question {
                    return answer_again(&dir, &asked, write_outputs);
                }
                return verify_and_load(&dir, complete, write_outputs);
            }
            let fits = cost.map_or_else(|| admit(plan, &options.limits), Ok)?;
            cost = Some(fits);
            let jobs = concurrent_jobs(options.jobs, &fits, &options.limits);
            let done = keep_matching_runs(&dir, before.as_ref(), plan, keys)
                .and_then(|()| work(&dir, jobs));
            let Err(error) = done else { return done };
            if let Some(complete) = dir.manifest().ok().filter(|m| self.holds(m)) {
                dir.tidy()?;
                let (dir, _) = RunDir::open(&options.dir)?;
                return load_results(&dir, complete);
            }
            let lost = matches!(&error, LabError::Record(e) if e.is_lost_partial());
            if left == 0 || !lost {
                return Err(error);
            }
            afresh = false;
        }
    }
}

/// Executes a plan as [`execute`] does, with a report of another kind.
pub fn execute_as(
    plan: &RunPlan,
    options: &ExecuteOptions<'_>,
    write_outputs: &OutputWriter<'_>,
) -> Result<CompletedExperiment, LabError> {
    let session = Session::new(plan, options)?;
    let keys = &session.keys;
    session.attempt(write_outputs, &|dir, jobs| {
        let mut runs = kept_runs(dir, plan, keys);
        let kept = runs.iter().flatten().count();
        (options.progress)(RunProgress::Planned { runs: keys.len(), kept });
        run_missing(dir, plan, keys, (options, jobs), &mut runs)?;
        complete(&session, dir, runs, write_outputs, &|runs| dir.merge(runs))
    })
}

/// Writes the tables of a directory from its finished runs, which are in the order of the plan.
pub(crate) type TableWriter<'a> = dyn Fn(&[ManifestRun]) -> Result<(), RecordError> + 'a;

/// Merges the runs, which must be complete, by `write_tables`, and writes everything that follows
/// from them.
pub(crate) fn complete(
    session: &Session<'_>,
    dir: &RunDir,
    runs: Vec<Option<(ManifestRun, RunFacts)>>,
    write_outputs: &OutputWriter<'_>,
    write_tables: &TableWriter<'_>,
) -> Result<CompletedExperiment, LabError> {
    let &Session { plan, options, .. } = session;
    let total = runs.len();
    let (entries, facts): (Vec<_>, Vec<_>) = runs.into_iter().flatten().unzip();
    if facts.len() < total {
        return Err(LabError::Interrupted {
            finished: facts.len(),
            total,
            dir: options.dir.clone(),
        });
    }

    // Sessions that complete one directory do so one at a time.
    let alone = dir.lock_exclusive();
    if let Some(complete) = dir.manifest().ok().filter(|m| session.holds(m)) {
        dir.tidy()?;
        let (dir, _) = RunDir::open(&options.dir)?;
        return load_results(&dir, complete);
    }
    (options.progress)(RunProgress::Writing);
    write_tables(&entries)?;
    dir.write("scenario.toml", options.source)?;
    let mut files = vec!["scenario.toml".to_owned()];
    for (scheme, spec) in resolved(plan) {
        let shown = (format!("resolved/{}.toml", flow::file_name(scheme)), spec);
        for (path, spec) in std::iter::once(shown).chain(flow::extra_scenarios(plan, spec)) {
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
        shared: sharing::entries(plan, &entries),
        runs: entries,
        ..session.planned.clone()
    };
    files.extend(write_outputs(dir, &manifest, &results)?);
    let manifest = dir.finish(manifest, &files)?;
    drop(alone);
    Ok(CompletedExperiment { dir: options.dir.clone(), manifest, results })
}

/// Runs a plan without storing anything on disk: for claims and tests.
pub fn simulate(plan: &RunPlan, jobs: usize) -> Result<Results, LabError> {
    simulate_within(plan, jobs, ResourceLimits::default())
}

/// As [`simulate`], within `limits`.
pub fn simulate_within(
    plan: &RunPlan,
    jobs: usize,
    limits: ResourceLimits<'_>,
) -> Result<Results, LabError> {
    let cost = admit(plan, &limits)?;
    let jobs = concurrent_jobs(jobs, &cost, &limits);
    let keys = keys(plan);
    let todo: Vec<(&RunKey, &RunSpec)> = keys.iter().zip(&plan.runs).collect();
    let schedule = Schedule {
        jobs,
        threads: None,
        stop: &AtomicBool::new(false),
        progress: &|_| {},
        on_thread: &|work| work(),
        backend: None,
        limits,
        share: true,
    };
    let facts =
        schedule.run(&todo, &|| Duration::ZERO, &|FinishedRun { index, completed, .. }| {
            let (key, spec) = todo[index];
            Ok(RunFacts::new(key, &completed.tables, &spec.size_classes()))
        })?;
    Ok(Results::new(facts.into_iter().flatten().collect()))
}

/// Returns whether a directory is complete and holds exactly the runs of `plan`.
fn holds(manifest: &Manifest, plan: &RunPlan, keys: &[RunKey]) -> bool {
    manifest.status == DirectoryStatus::Complete
        && manifest.runs.len() == keys.len()
        && manifest
            .runs
            .iter()
            .zip(keys.iter().zip(&plan.runs))
            .all(|(run, (key, spec))| run.key == *key && run.hash == spec.hash)
}

/// Returns the first run of every scheme at the point that the report shows.
fn resolved(plan: &RunPlan) -> impl Iterator<Item = (&str, &RunSpec)> {
    let point = plan.points.last().cloned().unwrap_or_default();
    plan.schemes.iter().filter_map(move |scheme| {
        let spec = plan.runs.iter().find(|r| r.scheme == *scheme && r.point == point)?;
        Some((scheme.as_str(), spec))
    })
}

/// Returns the description in the scenario.
fn description(plan: &RunPlan) -> Option<String> {
    let table: toml::Table = plan.runs.first()?.resolved_toml().parse().ok()?;
    table.get("description")?.as_str().map(str::to_owned)
}

fn manifest(plan: &RunPlan, options: &ExecuteOptions<'_>) -> Result<Manifest, LabError> {
    let mut seeds: Vec<u64> = plan.runs.iter().map(|r| r.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    Ok(Manifest {
        schema: MANIFEST_SCHEMA.to_owned(),
        status: DirectoryStatus::Interrupted,
        version: crate::VERSION.to_owned(),
        program: program_digest().to_owned(),
        selection: None,
        scenario: plan.name.clone(),
        title: plan.title.clone(),
        description: description(plan),
        scenario_hash: plan.hash.clone(),
        command: options.command.to_owned(),
        backend: options.backend.map(Backend::entry),
        digest: None,
        schemes: plan.schemes.clone(),
        replaced: plan.replaced.iter().map(manifest_entry).collect(),
        question: plan.question.clone(),
        points: plan.points.iter().cloned().map(SweepPoint).collect(),
        seeds,
        settings: settings(plan)?,
        shared: Vec::new(),
        wall_seconds: 0.0,
        hops: 0,
        flows: 0,
        unfinished: 0,
        failed: 0,
        runs: Vec::new(),
        files: Vec::new(),
    })
}
