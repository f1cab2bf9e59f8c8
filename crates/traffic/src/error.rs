//! Why a workload makes no traffic.

use core::fmt;

use crate::text_file::FileError;

/// Most connections that one group of traffic makes: about 0.3 GB of flows before the run starts.
/// Standing connections count once, however often they are used.
pub const MAX_CONNECTIONS: u64 = 4_000_000;

/// Most queries that one group of traffic asks.
pub const MAX_QUERIES: u64 = 10_000_000;

/// What is wrong with the parameters together, with the hosts, or with a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkloadError {
    /// The key to point at: a parameter, `from` or `to`; `None` is the whole group.
    pub key: Option<&'static str>,
    /// What is wrong, with the line and column of a file where it is one.
    pub message: String,
    /// What would be right.
    pub help: Option<String>,
    /// The mistake in a file, for those who can show the file.
    pub file: Option<Box<FileError>>,
}

impl WorkloadError {
    /// About one key.
    pub fn at(key: &'static str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { key: Some(key), message: message.into(), help: Some(help.into()), file: None }
    }

    /// About more than a group may make.
    pub(crate) fn above_limit(group: &str, what: &str, most: u64) -> Self {
        let message = format!("[traffic.{group}] makes more than {most} {what}");
        let help = "ask for less load or fewer of them, or end the run earlier".to_owned();
        Self { key: None, message, help: Some(help), file: None }
    }

    /// About a file that stands under `key`.
    pub fn file(key: &'static str, error: &FileError) -> Self {
        let message = format!("{}: {}", error.location(), error.message);
        Self { file: Some(Box::new(error.clone())), ..Self::at(key, message, error.help.clone()) }
    }
}

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for WorkloadError {}
