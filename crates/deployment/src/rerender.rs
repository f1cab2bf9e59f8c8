//! Rebuilds the results of a complete directory, of a matrix or of any other kind.

use std::path::Path;

use lowtide_charts::Chart;
use lowtide_lab::{CompletedExperiment, LabError, rerender_as};
use lowtide_record::{Manifest, RunDir};

use super::request::{MatrixRequest, read_request};
use super::{page, rollout};

/// Writes all outputs of a complete run directory of any kind that follow from its tables again:
/// `summary.json`, figures, report.
pub fn rerender_report(root: &Path) -> Result<CompletedExperiment, LabError> {
    let (dir, manifest) = RunDir::open(root)?;
    match rerender(&dir, &manifest)? {
        Some(finished) => Ok(finished),
        None => lowtide_lab::rerender_report(root),
    }
}

/// Returns the figures of a complete directory of any kind before they are drawn.
///
/// # Errors
/// A table or the request cannot be read.
pub fn charts(dir: &RunDir, finished: &CompletedExperiment) -> Result<Vec<Chart>, LabError> {
    let (manifest, results) = (&finished.manifest, &finished.results);
    match read_request(dir, manifest)? {
        None => lowtide_lab::charts(dir, finished),
        Some(MatrixRequest::Pairs(pairs)) => page::charts(&pairs, dir, manifest, results),
        Some(MatrixRequest::Rollout(of)) => rollout::charts(&of, dir, manifest, results),
    }
}

/// Rebuilds everything that follows from the tables, if they belong to a request of this kind.
fn rerender(dir: &RunDir, manifest: &Manifest) -> Result<Option<CompletedExperiment>, LabError> {
    let Some(request) = read_request(dir, manifest)? else { return Ok(None) };
    let write = |dir: &RunDir, manifest: &_, results: &_| {
        let files = match &request {
            MatrixRequest::Pairs(pairs) => page::write_outputs(pairs, dir, manifest, results)?.0,
            MatrixRequest::Rollout(of) => rollout::write_outputs(of, dir, manifest, results)?.0,
        };
        request.write(dir, files)
    };
    rerender_as(dir.root(), &write).map(Some)
}
