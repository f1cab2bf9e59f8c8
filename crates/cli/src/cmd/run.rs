//! `lowtide run`: every run of a plan, then tables, figures and the report.

mod point;
mod show;
mod tails;

use std::path::{Path, PathBuf};
use std::time::Instant;

use lowtide_lab::{
    Backend, CompletedExperiment, ExecuteOptions, LabError, PartOutcome, ResourceLimits,
};
use lowtide_lab::{default_dir_for_backend, execute, execute_part, part_text};
use lowtide_output::shell;
use lowtide_record::{Manifest, ManifestRun, RunSelection};
use lowtide_scenario::RunPlan;
use serde::Serialize;

use crate::args::{MemoryArg, RunArgs, ThreadCount};
use crate::cmd::backend::backend;
use crate::cmd::scenario;
use crate::error::CommandError;
use crate::interrupt::{STOP, watch_for_interrupt};
use crate::invocation;
use crate::machine;
use crate::output::Output;
use crate::progress::ProgressReporter;
pub(super) use show::show;

pub(crate) fn run(args: &RunArgs, out: Output) -> Result<(), CommandError> {
    let backend = backend(args.backend, &args.real)?;
    run_by(args, backend.as_deref(), out)
}

/// Runs the scenario by `backend`; `None` is the simulator.
pub(super) fn run_by(
    args: &RunArgs,
    backend: Option<&dyn Backend>,
    out: Output,
) -> Result<(), CommandError> {
    let mut scenario = scenario(&args.scenario)?;
    if !args.trace.is_empty() {
        scenario = scenario.with_flag("--trace", "probes.trace", &args.trace.join(","))?;
    }
    let selection = selection(args)?;
    let plan = scenario.expand()?;
    let dir = args.part.as_deref().or(args.out.as_deref());
    let runner = PlanRunner {
        out: dir,
        jobs: args.jobs,
        threads: args.threads,
        discard_existing: args.afresh,
        backend,
        memory: args.memory,
    };
    // A run directory repeats its runs without the files beside the scenario.
    let source = scenario.text_with_files();
    if let Some(selection) = selection {
        let work = |options: &ExecuteOptions<'_>| {
            execute_part(&plan, &part_text(&scenario, &plan)?, options, &selection)
        };
        let part = runner
            .run_plan(&plan, &source, out, &work)
            .map_err(|failure| failure.located_in(&scenario))?;
        return print_part(&part, &runner.dir(&plan), out);
    }
    let finished = runner
        .run_plan(&plan, &source, out, &|options| execute(&plan, options))
        .map_err(|failure| failure.located_in(&scenario))?;
    show(&plan, &finished, out)?;
    if !out.json {
        print_fidelity(&finished.manifest, out);
    }
    check_failed_flows(&finished)
}

/// Returns the runs of the part; `None` if the command makes all runs.
fn selection(args: &RunArgs) -> Result<Option<RunSelection>, CommandError> {
    let slice = args.index.zip(args.of).map(|(index, of)| RunSelection::Slice { index, of });
    let selection = slice.or_else(|| args.runs.clone());
    let wrong = match (&selection, &args.part) {
        (None, Some(_)) => ("--part needs the runs of the part", "add --index I --of N, or --runs"),
        (Some(_), None) => (
            "some runs of a plan are a part of its results, in a separate directory",
            "add --part DIR (another DIR for each task) instead of -o; \
             `lowtide merge OUT DIR...` merges all parts",
        ),
        _ => return Ok(selection),
    };
    Err(CommandError::Usage(wrong.0.to_owned(), Some(wrong.1.to_owned())))
}

/// Prints timing accuracy and remarks of runs on real packets, each remark once.
fn print_fidelity(manifest: &Manifest, out: Output) {
    let runs = || manifest.runs.iter().filter_map(|r| r.measured.as_ref());
    let Some(latest) = runs().map(|m| m.late_max_us).max_by(f64::total_cmp) else { return };
    let mean = runs().map(|m| m.late_mean_us).sum::<f64>() / runs().count() as f64;
    out.note(&format!(
        "packets left the bottleneck late by {mean:.1} us on average, {latest:.0} us at most"
    ));
    let behind = runs().filter(|m| m.late_packets * 100 > m.packets).count();
    if behind > 0 {
        out.note(&format!(
            "- in {behind} of {} runs more than 1 % of the packets were late by more than {:.0} us: the machine was busy",
            runs().count(),
            runs().map(|m| m.tolerance_us).fold(0.0, f64::max)
        ));
    }
    let mut remarks: Vec<&String> = Vec::new();
    for text in runs().flat_map(|m| m.remarks.iter().chain(&m.differences)) {
        if !remarks.contains(&text) {
            remarks.push(text);
        }
    }
    for text in remarks.iter().take(MAX_REMARKS) {
        out.note(&format!("- {text}"));
    }
    if let Some(more @ 1..) = remarks.len().checked_sub(MAX_REMARKS) {
        out.note(&format!("and {more} more in manifest.json"));
    }
}

/// Most remarks printed at the end of a run.
const MAX_REMARKS: usize = 12;

#[derive(Serialize)]
struct PartOutput<'a> {
    dir: &'a Path,
    scenario: &'a str,
    scenario_hash: &'a str,
    program: &'a str,
    total: usize,
    runs: &'a [ManifestRun],
}

/// Prints a finished part.
fn print_part(part: &PartOutcome, dir: &Path, out: Output) -> Result<(), CommandError> {
    let PartOutcome { manifest, total } = part;
    if out.json {
        let body = PartOutput {
            dir,
            scenario: &manifest.scenario,
            scenario_hash: &manifest.scenario_hash,
            program: &manifest.program,
            total: *total,
            runs: &manifest.runs,
        };
        return out.answer("lowtide.part/1", &body);
    }
    let (count, dir) = (manifest.runs.len(), dir.display().to_string());
    out.text(&format!(
        "the part {dir} is finished: {count} of the {total} runs of {}; `lowtide merge OUT {} ...` \
         merges all parts",
        manifest.scenario,
        shell::word(&dir)
    ))
}

/// Options of the command line for the runs of a plan.
#[derive(Default)]
pub(crate) struct PlanRunner<'a> {
    pub(crate) out: Option<&'a Path>,
    pub(crate) jobs: Option<u32>,
    pub(crate) threads: ThreadCount,
    pub(crate) discard_existing: bool,
    /// Backend; `None` is the simulator.
    pub(crate) backend: Option<&'a dyn Backend>,
    /// Memory limit of all runs together.
    pub(crate) memory: MemoryArg,
}

impl PlanRunner<'_> {
    /// Output directory.
    pub(crate) fn dir(&self, plan: &RunPlan) -> PathBuf {
        self.out.map_or_else(|| default_dir_for_backend(plan, self.backend), Path::to_path_buf)
    }

    /// Runs the plan, with progress on stderr, until it is done or interrupted.
    pub(crate) fn run_plan<T>(
        &self,
        plan: &RunPlan,
        source: &str,
        out: Output,
        work: &dyn Fn(&ExecuteOptions<'_>) -> Result<T, LabError>,
    ) -> Result<T, CommandError> {
        self.run_labelled(plan, source, out, "", work)
    }

    /// As [`Self::run_plan`], with `label` before the progress.
    pub(crate) fn run_labelled<T>(
        &self,
        plan: &RunPlan,
        source: &str,
        out: Output,
        label: &str,
        work: &dyn Fn(&ExecuteOptions<'_>) -> Result<T, LabError>,
    ) -> Result<T, CommandError> {
        watch_for_interrupt()?;
        #[expect(
            clippy::disallowed_methods,
            reason = "wall time is reported, nothing depends on it"
        )]
        let start = Instant::now();
        let dir = self.dir(plan);
        let limits = ResourceLimits {
            memory: self.memory.limit(),
            disk: machine::free_disk(&dir),
            resident: Some(&machine::resident),
        };
        let bar = ProgressReporter::new(out, plan.runs.len() as u64, label);
        let result = work(&ExecuteOptions {
            dir,
            jobs: self.jobs.map_or_else(processors, |n| n as usize),
            threads: self.threads.number(),
            discard_existing: self.discard_existing,
            source,
            command: &command(),
            clock: &|| start.elapsed(),
            stop: &STOP,
            progress: &|p| bar.update(p),
            on_thread: &|work| work(),
            backend: self.backend,
            limits,
            share: true,
        });
        bar.clear();
        if let (Some(why), ThreadCount::UpTo(_)) = (bar.fewer_threads(), self.threads) {
            out.note(&why);
        }
        result.map_err(CommandError::from)
    }
}

/// Fails if a flow failed.
pub(crate) fn check_failed_flows(finished: &CompletedExperiment) -> Result<(), CommandError> {
    match finished.results.failed() {
        0 => Ok(()),
        bad => Err(CommandError::Run(format!("{bad} flows failed; the report lists them"))),
    }
}

pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get)
}

/// Options that select some runs of a plan or show their progress, each with a value.
const NOT_OF_THE_PLAN: [&str; 5] = ["--index", "--of", "--runs", "--part", "--progress"];

/// Removes options so that the command makes all runs.
fn for_all_runs(args: impl Iterator<Item = String>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut skip = false;
    for arg in args {
        if std::mem::take(&mut skip) {
            continue;
        }
        match arg.split_once('=') {
            None if NOT_OF_THE_PLAN.contains(&arg.as_str()) => skip = true,
            Some((name, _)) if NOT_OF_THE_PLAN.contains(&name) => {}
            _ => kept.push(arg),
        }
    }
    kept
}

/// The command line for all runs of the plan, quoted for a shell; the report shows it.
pub(crate) fn command() -> String {
    let kept = for_all_runs(invocation::text_args().into_iter());
    shell::command(std::iter::once("lowtide").chain(kept.iter().map(String::as_str)))
}
