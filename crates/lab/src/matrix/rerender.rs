//! Rebuilds the results of a complete directory.

use lowtide_record::{Manifest, RunDir};

use super::page;
use super::request::{MatrixRequest, read_request};
use super::share;
use crate::error::LabError;
use crate::stored::{self, CompletedExperiment};

/// Rebuilds everything that follows from the tables, if they belong to a request of this kind.
pub(crate) fn rerender(
    dir: &RunDir,
    manifest: &Manifest,
) -> Result<Option<CompletedExperiment>, LabError> {
    let Some(request) = read_request(dir, manifest)? else { return Ok(None) };
    let write = |dir: &RunDir, manifest: &_, results: &_| {
        let files = match &request {
            MatrixRequest::Pairs(pairs) => page::write_outputs(pairs, dir, manifest, results)?.0,
            MatrixRequest::Share(share) => share::write_outputs(share, dir, manifest, results)?.0,
        };
        request.write(dir, files)
    };
    stored::rerender(dir.root(), &write).map(Some)
}
