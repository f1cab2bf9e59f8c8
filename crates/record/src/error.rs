//! Why a result file could not be written or read.

use std::io;
use std::path::{Path, PathBuf};

/// What went wrong with a file of results, with its path.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file system said no.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The Parquet file is broken, or cannot be written.
    #[error("{} is not a readable table: {message}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// What the decoder said.
        message: String,
    },
    /// The JSON file is broken.
    #[error("{} is not readable: {message}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Line, column and reason.
        message: String,
    },
    /// The directory holds something else.
    #[error(
        "{} is not empty and holds no lowtide results; choose another directory with -o",
        path.display()
    )]
    NotResults {
        /// The directory.
        path: PathBuf,
    },
    /// The directory holds results of another scenario or version.
    #[error(
        "{} holds results of {found}, not of {wanted}; choose another directory with -o, \
         or remove it",
        path.display()
    )]
    Stale {
        /// The directory.
        path: PathBuf,
        /// What is there.
        found: String,
        /// What was about to be written.
        wanted: String,
    },
    /// The results are not complete.
    #[error(
        "{} holds an interrupted run: {finished} of {wanted} runs are there; \
         the command that started it continues it",
        path.display()
    )]
    Interrupted {
        /// The directory.
        path: PathBuf,
        /// Runs that are there.
        finished: usize,
        /// Runs of the plan.
        wanted: usize,
    },
    /// Nothing was traced.
    #[error(
        "{} has no table `{name}`: no flow was traced; `lowtide run` with `--trace FLOW` traces one, \
         and `lowtide plot`, `pcap` and `explain` with `--flow` need no table",
        path.display()
    )]
    NoTrace {
        /// The directory.
        path: PathBuf,
        /// What was asked for.
        name: String,
    },
    /// A table that only some runs have, and these do not.
    #[error("{} has no table `{name}`: {reason}", path.display())]
    NoTable {
        /// The directory.
        path: PathBuf,
        /// What was asked for.
        name: &'static str,
        /// What the scenario lacks.
        reason: &'static str,
    },
    /// There is no table of that name.
    #[error("there is no table `{name}`; the tables are {known}")]
    UnknownTable {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
}

impl RecordError {
    /// Wraps what the file system said.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }

    /// Wraps what the table code said.
    pub(crate) fn table(path: &Path, message: &dyn ToString) -> Self {
        Self::Table { path: path.to_path_buf(), message: message.to_string() }
    }

    /// Wraps what the JSON code said.
    pub(crate) fn json(path: &Path, message: &dyn ToString) -> Self {
        Self::Json { path: path.to_path_buf(), message: message.to_string() }
    }
}
