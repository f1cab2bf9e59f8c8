//! Errors of writing and reading result files.

use std::io;
use std::path::{Path, PathBuf};

use lowtide_output::shell;

/// An error of a result file, with its path.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file system returned an error.
    #[error("cannot {action} {}: {source}{}", path.display(), remedy(source))]
    Io {
        /// The attempted action, as a verb.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The content of a file does not match its hash.
    #[error("{} is damaged: {reason}; {remedy}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage.
        reason: String,
        /// The remedy.
        remedy: String,
    },
    /// The rows of a table cannot be encoded.
    #[error("cannot write {}: {message}", path.display())]
    Encode {
        /// The file.
        path: PathBuf,
        /// The error of the encoder.
        message: String,
    },
    /// The Parquet file cannot be decoded.
    #[error("{} is not a readable table: {message}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// The error of the decoder.
        message: String,
    },
    /// The JSON file is invalid.
    #[error("{} is not readable: {message}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Line, column and reason.
        message: String,
    },
    /// The directory has foreign files.
    #[error(
        "{} is not empty and holds no lowtide results; choose another directory with -o",
        path.display()
    )]
    NotResults {
        /// The directory.
        path: PathBuf,
    },
    /// Another version wrote the file, or another program.
    #[error(
        "{} was not written by this version of lowtide: {found}, and this version reads `{reads}`; \
         read it with the version that wrote it, or run its scenario again with `--afresh`",
        path.display()
    )]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// The schema that it names, as a clause.
        found: String,
        /// The schema of this version.
        reads: &'static str,
    },
    /// The directory holds results of another scenario or version.
    #[error(
        "{} holds results of {found}, not of {wanted}{}; choose another directory with -o, \
         or remove it",
        path.display(), differing(differs)
    )]
    Stale {
        /// The directory.
        path: PathBuf,
        /// The results that it holds.
        found: String,
        /// The results to be written.
        wanted: String,
        /// Keys whose values differ; empty if only the runs or the version do.
        differs: Vec<String>,
    },
    /// The unfinished directory was begun by another program.
    #[error(
        "{} was begun by another program ({found}, this one is {wanted}), and runs of two programs \
         are never mixed; continue with that program, or make its runs again with `--afresh`",
        path.display()
    )]
    OtherProgram {
        /// The directory.
        path: PathBuf,
        /// Digest of the program that began it.
        found: String,
        /// Digest of this program.
        wanted: String,
    },
    /// The directory is that of another task of the same plan.
    #[error("{} is for {found} of this plan, not for {wanted}; choose another directory", path.display())]
    OtherRuns {
        /// The directory.
        path: PathBuf,
        /// Options of its runs.
        found: String,
        /// Options of the requested runs.
        wanted: String,
    },
    /// A part is no run directory.
    #[error(
        "{} holds only the runs `{runs}` of a plan; `lowtide merge OUT {} ...` with all parts makes \
         a run directory",
        path.display(), shell::word(&path.display().to_string())
    )]
    IsPart {
        /// The part.
        path: PathBuf,
        /// Options of its runs.
        runs: String,
    },
    /// The directory cannot be merged.
    #[error("{} {reason}", path.display())]
    NotMergeable {
        /// The directory.
        path: PathBuf,
        /// The reason and the remedy.
        reason: String,
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
        /// Runs that are present.
        finished: usize,
        /// Runs of the plan.
        wanted: usize,
    },
    /// No flow was traced.
    #[error(
        "{} has no table `{name}`: no flow was traced; `lowtide run` with `--trace FLOW` traces one, \
         and `lowtide plot`, `pcap` and `explain` with `--flow` need no table",
        path.display()
    )]
    NoTrace {
        /// The directory.
        path: PathBuf,
        /// The requested table.
        name: String,
    },
    /// A table that these runs do not have.
    #[error("{} has no table `{name}`: {reason}", path.display())]
    NoTable {
        /// The directory.
        path: PathBuf,
        /// The requested table.
        name: &'static str,
        /// The missing part of the scenario.
        reason: &'static str,
    },
    /// There is no table of that name.
    #[error("there is no table `{name}`; the tables are {known}")]
    UnknownTable {
        /// The requested table.
        name: String,
        /// The existing tables.
        known: String,
    },
}

impl RecordError {
    /// Wraps an error of the file system.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }

    /// A file that does not match the manifest, or its own hash.
    pub(crate) fn damaged(path: &Path, reason: impl Into<String>, remedy: &str) -> Self {
        Self::Damaged { path: path.to_path_buf(), reason: reason.into(), remedy: remedy.to_owned() }
    }

    /// Wraps an error of the encoder.
    pub(crate) fn encode(path: &Path, message: &dyn ToString) -> Self {
        Self::Encode { path: path.to_path_buf(), message: message.to_string() }
    }

    /// Whether a partial run is missing or damaged, so repeating the run may help. Another process
    /// may have completed the directory meanwhile, or begun it afresh.
    pub fn is_lost_partial(&self) -> bool {
        match self {
            Self::Damaged { .. } => true,
            Self::Io { source, .. } => source.kind() == io::ErrorKind::NotFound,
            _ => false,
        }
    }

    /// Whether a file was refused by its type, its size or its path, or because another version or
    /// program wrote it.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Io { source, .. } => lowtide_input_files::is_refusal(source),
            Self::OtherVersion { .. } | Self::Stale { .. } | Self::OtherProgram { .. } => true,
            _ => false,
        }
    }

    /// Wraps an error of the table decoder.
    pub(crate) fn table(path: &Path, message: &dyn ToString) -> Self {
        Self::Table { path: path.to_path_buf(), message: message.to_string() }
    }

    /// Wraps an error of the JSON decoder.
    pub(crate) fn json(path: &Path, message: &dyn ToString) -> Self {
        Self::Json { path: path.to_path_buf(), message: message.to_string() }
    }
}

/// The first keys in which two results differ.
fn differing(keys: &[String]) -> String {
    let shown: Vec<String> = keys.iter().take(3).map(|key| format!("`{key}`")).collect();
    match shown.as_slice() {
        [] => String::new(),
        shown if shown.len() < keys.len() => format!(" ({} and others differ)", shown.join(", ")),
        [one] => format!(" ({one} differs)"),
        shown => format!(" ({} differ)", shown.join(", ")),
    }
}

/// Remedy if the file system is full.
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
