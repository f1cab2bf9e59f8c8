//! Rendering of the outputs again from a complete run directory of any kind.

use std::path::Path;

use lowtide_record::RunDir;

use crate::error::LabError;
use crate::stored::{self, CompletedExperiment};
use crate::{matrix, outputs};

/// Writes all outputs of a complete run directory that follow from its tables again:
/// `summary.json`, figures, report.
pub fn rerender_report(root: &Path) -> Result<CompletedExperiment, LabError> {
    let (dir, manifest) = RunDir::open(root)?;
    match matrix::rerender(&dir, &manifest)? {
        Some(finished) => Ok(finished),
        None => stored::rerender(root, &outputs::write),
    }
}
