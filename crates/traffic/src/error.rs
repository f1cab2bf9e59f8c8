//! Errors of workloads.

use crate::text_file::FileError;

/// Most connections of one traffic group: about 0.3 GB of flows before the run starts. A persistent
/// connection counts once.
pub const MAX_CONNECTIONS: u64 = 4_000_000;

/// Most queries of one traffic group.
pub const MAX_QUERIES: u64 = 10_000_000;

/// An error in the combination of parameters, in the hosts, or in a file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}{}", help.as_ref().map_or_else(String::new, |help| format!("; {help}")))]
pub struct WorkloadError {
    /// Key at fault: a parameter, `from` or `to`; `None` is the whole group.
    pub key: Option<&'static str>,
    /// The error, with line and column if it is in a file.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
    /// The error in a file, for callers that can show the file.
    pub file: Option<Box<FileError>>,
}

impl WorkloadError {
    /// Returns an error about one key.
    pub fn at(key: &'static str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { key: Some(key), message: message.into(), help: Some(help.into()), file: None }
    }

    /// Returns an error about a group that makes more than `most` of `what`, such as connections.
    pub fn above_limit(group: &str, what: &str, most: u64) -> Self {
        let message = format!("[traffic.{group}] makes more than {most} {what}");
        let help = "lower the load or the count, or shorten the run".to_owned();
        Self { key: None, message, help: Some(help), file: None }
    }

    /// Returns an error about a bug of `workload`, which made `wrong` for `group`.
    pub(crate) fn of_workload(workload: &str, group: &str, wrong: &str) -> Self {
        let message = format!("the workload `{workload}` of [traffic.{group}] makes {wrong}");
        let help = "correct the workload: this is not an error of the scenario".to_owned();
        Self { key: None, message, help: Some(help), file: None }
    }

    /// Returns an error about the file named by `key`.
    pub fn file(key: &'static str, error: &FileError) -> Self {
        let message = format!("{}: {}", error.location(), error.message);
        Self { file: Some(Box::new(error.clone())), ..Self::at(key, message, error.help.clone()) }
    }
}
