//! Executes a request: the runs, and the outputs when they are complete.

use std::cell::RefCell;

use lowtide_lab::{
    CompletedExperiment, ExecuteOptions, LabError, Results, execute_as, rerender_as,
};
use lowtide_record::{Manifest, RunDir};
use lowtide_scenario::{RunPlan, Scenario};

use super::request::{MatrixRequest, REQUEST_FILE};

/// The plan of a setup, which must be a single point because the matrix is the sweep.
pub(crate) fn single_point_plan(scenario: &Scenario) -> Result<RunPlan, LabError> {
    let plan = scenario.expand()?;
    if plan.schemes.len() > 1 || plan.points.len() > 1 {
        return Err(LabError::InvalidRequest {
            message: format!("the setup `{}` compares or sweeps something itself", plan.name),
            help: Some("remove [compare] schemes and [sweep]; -s sets a single value".to_owned()),
        });
    }
    Ok(plan)
}

/// Runs a plan with the report that `present` writes, or rebuilds that report from complete
/// results. `present` returns the result and names its files; the request is kept beside them.
pub(crate) fn run_and_report<A>(
    request: &MatrixRequest,
    plan: &RunPlan,
    options: &ExecuteOptions<'_>,
    present: impl Fn(&RunDir, &Manifest, &Results) -> Result<(Vec<String>, A), LabError>,
) -> Result<(CompletedExperiment, A), LabError> {
    let result = RefCell::new(None);
    let write = |dir: &RunDir, manifest: &_, results: &_| {
        let (files, found) = present(dir, manifest, results)?;
        *result.borrow_mut() = Some(found);
        request.write(dir, files)
    };
    let mut finished = execute_as(plan, options, &write)?;
    if result.borrow().is_none() {
        // No run was missing: only the thresholds may have changed.
        finished = rerender_as(&options.dir, &write)?;
    }
    let found = result.into_inner().ok_or_else(|| LabError::InvalidRequest {
        message: "the directory was not judged".to_owned(),
        help: Some("give another --out, or --afresh".to_owned()),
    })?;
    debug_assert!(finished.manifest.files.iter().any(|f| f.path == REQUEST_FILE));
    Ok((finished, found))
}
