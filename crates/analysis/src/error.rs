//! Errors of an analysis.

use super::capture::CaptureError;
use lowtide_charts::ChartError;

/// The error that stopped an analysis or its page.
#[derive(Debug, thiserror::Error)]
pub enum AnalysisError {
    /// The capture could not be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A figure or the page could not be drawn.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// No connection of the capture matches the selection.
    #[error("{message}")]
    NotFound {
        /// The missing item.
        message: String,
        /// The available items.
        help: Option<String>,
    },
}
