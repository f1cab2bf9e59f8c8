//! A part: some runs of a plan, in a separate directory, for workers without a shared file system.
//! [`crate::merge`] makes a run directory of all parts.

use std::path::Path;

use lowtide_record::{Manifest, PART_PLAN, RecordError, RunDir, RunSelection};
use lowtide_scenario::{RunPlan, Scenario, ScenarioErrors};

use crate::budget::{admit, concurrent_jobs};
use crate::error::LabError;
use crate::schedule::RunProgress;
use crate::session::{ExecuteOptions, Session};
use crate::task::{check_selection, run_own, selected};

/// The scenario file as it was read.
pub(crate) const SOURCE: &str = "scenario.toml";

/// A finished part.
#[derive(Clone, PartialEq, Debug)]
pub struct PartOutcome {
    /// Its manifest, with its runs.
    pub manifest: Manifest,
    /// Runs of the whole plan.
    pub total: usize,
}

/// Makes the selected runs of `plan` into the part `options.dir`. A repeated call makes only the
/// runs that are missing or damaged. `text` is that of [`part_text`].
///
/// # Errors
/// A run fails, or the directory has other runs or those of another scenario or program.
pub fn execute_part(
    plan: &RunPlan,
    text: &str,
    options: &ExecuteOptions<'_>,
    selection: &RunSelection,
) -> Result<PartOutcome, LabError> {
    check_selection(plan, selection)?;
    let mut session = Session::new(plan, options)?;
    session.planned.selection = Some(selection.clone());
    let own = selected(&session, selection);
    let total = plan.runs.len();
    if let Some(manifest) = finished(&session) {
        (options.progress)(RunProgress::Planned { runs: own.len(), kept: own.len() });
        return Ok(PartOutcome { manifest, total });
    }
    let runs = own.iter().map(|(_, spec)| (*spec).clone()).collect();
    let cost = admit(&RunPlan { runs, ..plan.clone() }, &options.limits)?;
    let jobs = concurrent_jobs(options.jobs, &cost, &options.limits);
    let (dir, _) = RunDir::begin(&options.dir, &session.planned, options.discard_existing)?;
    dir.write(SOURCE, options.source)?;
    dir.write(PART_PLAN, text)?;
    run_own(options, (&dir, jobs), &own)?;
    let saved = own.iter().filter_map(|(key, spec)| dir.saved_run(key, &spec.hash));
    let runs: Vec<_> = saved.collect();
    let manifest = Manifest {
        wall_seconds: runs.iter().map(|r| r.wall_seconds).sum(),
        runs,
        ..session.planned.clone()
    };
    let manifest = dir.finish_part(manifest, &[SOURCE.to_owned(), PART_PLAN.to_owned()])?;
    Ok(PartOutcome { manifest, total })
}

/// Returns the manifest of the session's part if it is finished and intact.
fn finished(session: &Session<'_>) -> Option<Manifest> {
    if session.options.discard_existing {
        return None;
    }
    let (dir, found) = RunDir::open_part(&session.options.dir).ok()?;
    let wanted = &session.planned;
    let same = found.identity() == wanted.identity()
        && found.has_same_plan(wanted)
        && found.program == wanted.program
        && found.selection == wanted.selection;
    (same && dir.verify(|_| true).is_ok()).then_some(found)
}

/// Returns the scenario with the changes of the command line, which expands to `plan`.
///
/// # Errors
/// The text does not expand to `plan`.
pub fn part_text(scenario: &Scenario, plan: &RunPlan) -> Result<String, LabError> {
    let text = scenario.to_toml()?;
    let again = expand(&text, &plan.name)?;
    if again.hash != plan.hash || again.runs.len() != plan.runs.len() {
        let message = format!("the scenario `{}` cannot be written into a part", plan.name);
        let help = "tasks with a shared directory (-o instead of --part) need no copy of it";
        return Err(LabError::InvalidRequest { message, help: Some(help.to_owned()) });
    }
    Ok(text)
}

/// Returns the plan of the text of a part.
pub(crate) fn expand(text: &str, name: &str) -> Result<RunPlan, ScenarioErrors> {
    Scenario::parse(text, PART_PLAN)?.named(name).expand()
}

/// Opens a finished part and checks all its files.
///
/// # Errors
/// The directory is no part, or it is half-written or damaged.
pub(crate) fn open(root: &Path) -> Result<(RunDir, Manifest), RecordError> {
    let (dir, manifest) = RunDir::open_part(root)?;
    dir.verify(|_| true)?;
    Ok((dir, manifest))
}
