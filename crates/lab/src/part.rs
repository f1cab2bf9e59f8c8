//! A part: some runs of a plan, in a separate directory. [`crate::merge`] makes a run directory of
//! all parts.

use std::path::Path;

use lowtide_record::{Manifest, PART_PLAN, RecordError, RunDir, RunKey, RunSelection};
use lowtide_scenario::{RunPlan, RunSpec, Scenario, ScenarioErrors};

use crate::budget::{admit, concurrent_jobs};
use crate::error::LabError;
use crate::schedule::RunProgress;
use crate::session::{ExecuteOptions, Session, run_and_keep};

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
    let all = session.keys.iter().zip(&plan.runs);
    let own: Vec<_> = all.filter(|(key, _)| selection.contains(key.run)).collect();
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

/// Rejects numbers that no run of `plan` has. A slice may be empty, as job arrays may have more
/// tasks than the plan has runs.
fn check_selection(plan: &RunPlan, selection: &RunSelection) -> Result<(), LabError> {
    let (message, help) = match selection {
        RunSelection::Slice { index, of } if index >= of => (
            format!("there is no task {index} of {of}"),
            format!("tasks are numbered from 0: --index 0 to {}", of.saturating_sub(1)),
        ),
        RunSelection::Listed { runs } => match runs.last() {
            Some(last) if *last as usize >= plan.runs.len() => (
                format!("there is no run {last}"),
                format!("runs are numbered from 0: --runs 0-{}", plan.runs.len().max(1) - 1),
            ),
            _ => return Ok(()),
        },
        RunSelection::Slice { .. } => return Ok(()),
    };
    Err(LabError::InvalidRequest { message, help: Some(help) })
}

/// Makes those of the runs `own` that are missing in the directory.
fn run_own(
    options: &ExecuteOptions<'_>,
    (dir, jobs): (&RunDir, usize),
    own: &[(&RunKey, &RunSpec)],
) -> Result<(), LabError> {
    let todo: Vec<_> =
        own.iter().copied().filter(|(k, s)| !dir.is_run_intact(k, &s.hash)).collect();
    let kept = own.len() - todo.len();
    (options.progress)(RunProgress::Planned { runs: own.len(), kept });
    let done = run_and_keep(dir, &todo, (options, jobs))?.into_iter().flatten().count();
    if done < todo.len() {
        let (finished, total) = (kept + done, own.len());
        return Err(LabError::Interrupted { finished, total, dir: options.dir.clone() });
    }
    Ok(())
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
        let help = Some("run it on one machine, without --part".to_owned());
        return Err(LabError::InvalidRequest { message, help });
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
