//! Why a result file could not be written or read.

use std::io;
use std::path::{Path, PathBuf};

/// What went wrong with a file of results, with its path.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file system refused.
    #[error("cannot {action} {}: {source}{}", path.display(), remedy(source))]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The content of a file is not what was written into it.
    #[error("{} is damaged: {reason}; {remedy}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// How it shows.
        reason: String,
        /// The way out.
        remedy: String,
    },
    /// The rows of a table cannot be encoded.
    #[error("cannot write {}: {message}", path.display())]
    Encode {
        /// The file.
        path: PathBuf,
        /// What the encoder said.
        message: String,
    },
    /// The Parquet file cannot be decoded.
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

    /// A file that is not what the manifest, or its own seal, says.
    pub(crate) fn damaged(path: &Path, reason: impl Into<String>, remedy: &str) -> Self {
        Self::Damaged { path: path.to_path_buf(), reason: reason.into(), remedy: remedy.to_owned() }
    }

    /// Wraps what the encoder said.
    pub(crate) fn encode(path: &Path, message: &dyn ToString) -> Self {
        Self::Encode { path: path.to_path_buf(), message: message.to_string() }
    }

    /// Whether a part of the directory is gone or damaged, so that making that part again may help: another
    /// process may have completed the directory meanwhile, or begun it afresh.
    pub fn is_lost_partial(&self) -> bool {
        match self {
            Self::Damaged { .. } => true,
            Self::Io { source, .. } => source.kind() == io::ErrorKind::NotFound,
            _ => false,
        }
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

/// The way out where the file system has no room.
fn remedy(source: &io::Error) -> &'static str {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    match source.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => {
            "; make room there, or choose another directory with -o: finished runs are kept, and \
             the same command continues"
        }
        _ => "",
    }
}
