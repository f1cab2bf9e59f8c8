//! Rebuilds the report of a complete run directory, of any kind.

use std::path::Path;

use lowtide_record::RunDir;

use crate::error::LabError;
use crate::stored::{self, CompletedExperiment};
use crate::{matrix, outputs};

/// Rebuilds everything in a complete run directory that follows from its tables: `summary.json`,
/// the figures, the report.
pub fn rerender_report(root: &Path) -> Result<CompletedExperiment, LabError> {
    let (dir, manifest) = RunDir::open(root)?;
    match matrix::rerender(&dir, &manifest)? {
        Some(finished) => Ok(finished),
        None => stored::rerender(root, &outputs::write),
    }
}
