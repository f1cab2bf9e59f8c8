//! A task of a job array: some runs of a plan, in a directory that all tasks share.

use lowtide_record::{RunDir, RunKey, RunSelection};
use lowtide_scenario::{RunPlan, RunSpec};

use crate::error::LabError;
use crate::outputs;
use crate::schedule::RunProgress;
use crate::session::{ExecuteOptions, Session, complete, kept_runs, run_and_keep, run_missing};
use crate::stored::CompletedExperiment;

/// Outcome of a task.
#[derive(Debug)]
pub enum TaskOutcome {
    /// All runs are finished; the task completed the directory.
    Complete(Box<CompletedExperiment>),
    /// Other tasks are not finished; the last one completes the directory.
    Waiting {
        /// Finished runs of all tasks.
        finished: usize,
        /// Runs of the plan.
        total: usize,
    },
}

impl From<CompletedExperiment> for TaskOutcome {
    fn from(finished: CompletedExperiment) -> Self {
        Self::Complete(Box::new(finished))
    }
}

/// Makes the selected runs of `plan`. Tasks may use one directory concurrently, from several
/// processes and machines.
pub fn execute_task(
    plan: &RunPlan,
    options: &ExecuteOptions<'_>,
    selection: &RunSelection,
) -> Result<TaskOutcome, LabError> {
    check_selection(plan, selection)?;
    let session = Session::new(plan, options)?;
    let work = |dir: &RunDir, jobs| do_task(&session, (dir, jobs), selection);
    session.attempt(options.discard_existing, &outputs::write, &work)
}

/// Rejects numbers that no run of `plan` has. A slice may be empty, as job arrays may have more
/// tasks than the plan has runs.
pub(crate) fn check_selection(plan: &RunPlan, selection: &RunSelection) -> Result<(), LabError> {
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

/// Returns the selected runs of the session's plan.
pub(crate) fn selected<'a>(
    session: &'a Session<'_>,
    selection: &RunSelection,
) -> Vec<(&'a RunKey, &'a RunSpec)> {
    let all = session.keys.iter().zip(&session.plan.runs);
    all.filter(|(key, _)| selection.contains(key.run)).collect()
}

/// Makes those of the runs `own` that are missing in the directory.
pub(crate) fn run_own(
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

/// Makes the runs of a task, and completes the directory if no other run is missing.
fn do_task(
    session: &Session<'_>,
    (dir, jobs): (&RunDir, usize),
    selection: &RunSelection,
) -> Result<TaskOutcome, LabError> {
    let &Session { plan, options, ref keys, .. } = session;
    run_own(options, (dir, jobs), &selected(session, selection))?;
    let total = keys.len();
    let all = keys.iter().zip(&plan.runs);
    let finished = all.filter(|(key, spec)| dir.has_run(key, &spec.hash)).count();
    if finished < total {
        return Ok(TaskOutcome::Waiting { finished, total });
    }
    // A run of another task may be damaged; the task that completes the directory repeats it.
    let mut runs = kept_runs(dir, plan, keys);
    run_missing(dir, plan, keys, (options, jobs), &mut runs)?;
    let merge = |runs: &[_]| dir.merge(runs);
    let finished = complete(session, dir, runs, &outputs::write, &merge)?;
    Ok(TaskOutcome::Complete(Box::new(finished)))
}
