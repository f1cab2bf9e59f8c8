//! Errors of the papers' experiments.

use lowtide_charts::ChartError;
use lowtide_lab::LabError;
use lowtide_record::RecordError;
use lowtide_scenario::ScenarioErrors;

/// The error that stopped an experiment, its judgement or its page.
#[derive(Debug, thiserror::Error)]
pub enum PaperError {
    /// A run, its tables or its scenario failed.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// A file of claims is wrong, or does not fit the results.
    #[error(transparent)]
    Claim(#[from] ClaimError),
}

/// An error in a file of claims, or in the tables that it is compared with.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file}: {message}")]
pub struct ClaimError {
    /// The file of claims.
    pub file: String,
    /// The error and the claim that has it.
    pub message: String,
}

impl From<RecordError> for PaperError {
    fn from(error: RecordError) -> Self {
        Self::Lab(error.into())
    }
}

impl From<ScenarioErrors> for PaperError {
    fn from(error: ScenarioErrors) -> Self {
        Self::Lab(error.into())
    }
}

impl From<ChartError> for PaperError {
    fn from(error: ChartError) -> Self {
        Self::Lab(error.into())
    }
}
