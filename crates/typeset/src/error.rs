//! Errors of figures for papers.

use lowtide_charts::ChartError;

/// A figure cannot be written as requested.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TypesetError {
    /// The request is invalid: message and help.
    #[error("{message}")]
    Invalid {
        /// The fault.
        message: String,
        /// A valid request.
        help: Option<String>,
    },
    /// The figure does not fit.
    #[error("{0}")]
    Chart(#[from] ChartError),
    /// A library failed.
    #[error("cannot write the {format}: {reason}")]
    Write {
        /// Name of the format.
        format: &'static str,
        /// The reason.
        reason: String,
    },
}
