//! Rebuilds the results of a complete directory, of a matrix or of any other kind.

use std::path::Path;

use lowtide_lab::{CompletedExperiment, LabError, rerender_as};
use lowtide_record::{Manifest, RunDir};

use super::page;
use super::request::{MatrixRequest, read_request};
use super::{rollout, share};

/// Writes all outputs of a complete run directory of any kind that follow from its tables again:
/// `summary.json`, figures, report.
pub fn rerender_report(root: &Path) -> Result<CompletedExperiment, LabError> {
    let (dir, manifest) = RunDir::open(root)?;
    match rerender(&dir, &manifest)? {
        Some(finished) => Ok(finished),
        None => lowtide_lab::rerender_report(root),
    }
}

/// Rebuilds everything that follows from the tables, if they belong to a request of this kind.
fn rerender(dir: &RunDir, manifest: &Manifest) -> Result<Option<CompletedExperiment>, LabError> {
    let Some(request) = read_request(dir, manifest)? else { return Ok(None) };
    let write = |dir: &RunDir, manifest: &_, results: &_| {
        let files = match &request {
            MatrixRequest::Pairs(pairs) => page::write_outputs(pairs, dir, manifest, results)?.0,
            MatrixRequest::Share(share) => share::write_outputs(share, dir, manifest, results)?.0,
            MatrixRequest::Rollout(of) => rollout::write_outputs(of, dir, manifest, results)?.0,
        };
        request.write(dir, files)
    };
    rerender_as(dir.root(), &write).map(Some)
}
