//! A report made again: from a complete run directory, whatever it answers.

use std::path::Path;

use lowtide_record::RunDir;

use crate::error::LabError;
use crate::stored::{self, Finished};
use crate::{matrix, present};

/// Makes everything in a complete run directory that follows from its tables again: `summary.json`,
/// the figures, the report.
pub fn report(root: &Path) -> Result<Finished, LabError> {
    let (dir, manifest) = RunDir::open(root)?;
    match matrix::again(&dir, &manifest)? {
        Some(finished) => Ok(finished),
        None => stored::again(root, &present::write),
    }
}
