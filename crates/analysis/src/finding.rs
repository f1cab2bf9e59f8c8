//! A finding about a connection.

use serde::Serialize;

/// Severity, in descending order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Severity {
    Severe,
    Notable,
    Remark,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct FlowFinding {
    pub(super) severity: Severity,
    pub(super) kind: &'static str,
    /// Sender of the data concerned; `None` if the finding is about the connection.
    pub(super) from: Option<String>,
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    /// The observation, and what the numbers beside it make of it.
    pub(super) what: String,
    pub(super) means: String,
    /// Frames that show it, the first ones.
    pub(super) frames: Vec<u64>,
    /// Display filter of Wireshark for them.
    pub(super) filter: String,
}
