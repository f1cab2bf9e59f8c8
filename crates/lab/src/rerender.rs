//! Rendering of the outputs again from a complete run directory of an experiment.

use std::path::Path;

use crate::error::LabError;
use crate::outputs;
use crate::stored::{self, CompletedExperiment};

/// Writes all outputs of a complete run directory that follow from its tables again:
/// `summary.json`, figures, report. A report of another kind is replaced.
pub fn rerender_report(root: &Path) -> Result<CompletedExperiment, LabError> {
    stored::rerender_as(root, &outputs::write)
}
