//! Errors of figures and pages.

/// A figure or a page could not be drawn.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("cannot draw {what}: {reason}")]
pub struct ChartError {
    /// The part that failed.
    pub what: String,
    /// The reason.
    pub reason: String,
}
