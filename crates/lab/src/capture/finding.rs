//! Something that is wrong with a connection.

use serde::Serialize;

/// How bad it is; the worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Weight {
    Severe,
    Notable,
    Remark,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Finding {
    pub(super) weight: Weight,
    pub(super) kind: &'static str,
    /// Who sends the data that it is about; none where it is about the connection.
    pub(super) from: Option<String>,
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    pub(super) what: String,
    pub(super) means: String,
}
