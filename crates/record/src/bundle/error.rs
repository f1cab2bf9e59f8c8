//! Errors of packing and unpacking.

use std::path::{Path, PathBuf};

use crate::RecordError;

/// An error of an archive.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The run directory is incomplete or damaged, or a file cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A file cannot be read or written.
    #[error("cannot read or write {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The file is not an archive of `lowtide bundle`.
    #[error("{} is not an archive of `lowtide bundle`: {reason}", path.display())]
    NotBundle {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The content of the archive is not what its lists state.
    #[error("the archive is damaged: {0}; ask its authors for another copy")]
    Damaged(String),
}

impl BundleError {
    pub(crate) fn io(path: &Path) -> impl Fn(std::io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self::Io { path: path.clone(), source }
    }
}
