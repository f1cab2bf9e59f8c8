//! Something that is wrong with a connection.

use serde::Serialize;

/// How bad it is; the worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Severity {
    Severe,
    Notable,
    Remark,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct FlowFinding {
    pub(super) weight: Severity,
    pub(super) kind: &'static str,
    /// Who sends the data that it is about; none where it is about the connection.
    pub(super) from: Option<String>,
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    pub(super) what: String,
    pub(super) means: &'static str,
}

/// Kinds that are about the capture, not about the connection.
const CAPTURE_ARTIFACTS: [&str; 10] = [
    "answer-unknown",
    "captured-twice",
    "handshake-unknown",
    "merged-interfaces",
    "not-in-capture",
    "offload",
    "one-direction",
    "options-lost",
    "several-interfaces",
    "time-backwards",
];

impl FlowFinding {
    /// It says something about the capture only.
    pub(super) fn is_capture_artifact(&self) -> bool {
        CAPTURE_ARTIFACTS.contains(&self.kind)
    }
}
