//! The answer of a connection: a verdict, and the causes of lost time.

use serde::Serialize;

/// A cause of lost time.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Cause {
    pub(super) kind: &'static str,
    /// Sender of the data.
    pub(super) from: String,
    /// Share of the direction's time.
    pub(super) percent: f64,
    pub(super) ns: u64,
    /// The numbers that decided.
    pub(super) evidence: String,
}

/// The answer of a connection.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub(super) struct TransferAnswer {
    /// One line.
    pub(super) text: String,
    /// `limited`, `healthy` or `undetermined`.
    pub(super) verdict: &'static str,
    /// The greatest first.
    pub(super) causes: Vec<Cause>,
}

impl TransferAnswer {
    /// Returns the time lost by causes, nanoseconds.
    pub(super) fn lost_ns(&self) -> u64 {
        self.causes.iter().map(|c| c.ns).sum()
    }
}

impl Cause {
    /// Returns the cause with its share.
    pub(super) fn line(&self) -> String {
        format!("{:.0} % {} ({})", self.percent, self.kind, self.evidence)
    }
}
