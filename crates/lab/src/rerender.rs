//! A report made again: from a complete run directory, whatever it answers.

use std::path::Path;

use lowtide_record::RunDir;

use crate::error::LabError;
use crate::stored::{self, CompletedExperiment};
use crate::{matrix, outputs};

/// Makes everything in a complete run directory that follows from its tables again: `summary.json`,
/// the figures, the report.
pub fn rerender_report(root: &Path) -> Result<CompletedExperiment, LabError> {
    let (dir, manifest) = RunDir::open(root)?;
    match matrix::rerender(&dir, &manifest)? {
        Some(finished) => Ok(finished),
        None => stored::rerender(root, &outputs::write),
    }
}
