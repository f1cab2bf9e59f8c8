//! From a question to its answer: the runs, and what is written when they are there.

use std::cell::RefCell;

use lowtide_record::{Manifest, RunDir};
use lowtide_scenario::{RunPlan, Scenario};

use super::request::{Question, REQUEST_FILE};
use crate::error::LabError;
use crate::results::Results;
use crate::session::{self, ExecuteOptions};
use crate::stored::{self, CompletedExperiment};

/// A setup is one point: the matrix is the sweep.
pub(crate) fn single_point_plan(scenario: &Scenario) -> Result<RunPlan, LabError> {
    let plan = scenario.expand()?;
    if plan.schemes.len() > 1 || plan.points.len() > 1 {
        return Err(LabError::InvalidRequest {
            message: format!("the setup `{}` compares or sweeps something itself", plan.name),
            help: Some("take [compare] schemes and [sweep] out; -s sets a single value".to_owned()),
        });
    }
    Ok(plan)
}

/// Runs a plan with the report that `present` writes, or makes that report again from complete results.
/// `present` answers and names its files; the question is kept beside them.
pub(crate) fn run_and_report<A>(
    question: &Question,
    plan: &RunPlan,
    options: &ExecuteOptions<'_>,
    present: impl Fn(&RunDir, &Manifest, &Results) -> Result<(Vec<String>, A), LabError>,
) -> Result<(CompletedExperiment, A), LabError> {
    let answer = RefCell::new(None);
    let write = |dir: &RunDir, manifest: &_, results: &_| {
        let (files, found) = present(dir, manifest, results)?;
        *answer.borrow_mut() = Some(found);
        question.write(dir, files)
    };
    let mut finished = session::execute_as(plan, options, &write)?;
    if answer.borrow().is_none() {
        // All runs were there: only the thresholds may have changed.
        finished = stored::rerender(&options.dir, &write)?;
    }
    let found = answer.into_inner().ok_or_else(|| LabError::InvalidRequest {
        message: "the directory was not judged".to_owned(),
        help: Some("give another --out, or --afresh".to_owned()),
    })?;
    debug_assert!(finished.manifest.files.iter().any(|f| f.path == REQUEST_FILE));
    Ok((finished, found))
}
