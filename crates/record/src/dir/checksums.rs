//! Expected content of the files of a directory, and whether it was verified.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Seek};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lowtide_input_files::{TABLE, open_beneath};

use crate::error::RecordError;
use crate::files::{self, FileEntry};

/// Files with known content: those listed in the manifest, and those written by this process.
#[derive(Debug, Default)]
pub(super) struct Checksums {
    known: Mutex<BTreeMap<String, Known>>,
    /// Remedy for a damaged file.
    remedy: String,
}

#[derive(Clone, Debug)]
struct Known {
    entry: FileEntry,
    /// Its content was hashed while it was read or written.
    verified: bool,
}

impl Checksums {
    /// Checksums of files that another process wrote.
    pub(super) fn of(files: &[FileEntry], remedy: String) -> Self {
        let known = |entry: &FileEntry| {
            (entry.path.clone(), Known { entry: entry.clone(), verified: false })
        };
        Self { known: Mutex::new(files.iter().map(known).collect()), remedy }
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Known>> {
        // Entries are inserted atomically, so a poisoned map is consistent.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a file that this process has written.
    pub(super) fn record_written(&self, entry: FileEntry) {
        self.known().insert(entry.path.clone(), Known { entry, verified: true });
    }

    /// Forgets all files, as the directory is written anew.
    pub(super) fn clear(&self) {
        self.known().clear();
    }

    /// Whether no file is known.
    pub(super) fn is_empty(&self) -> bool {
        self.known().is_empty()
    }

    /// The entry of a file.
    pub(super) fn entry(&self, relative: &str) -> Option<FileEntry> {
        self.known().get(relative).map(|k| k.entry.clone())
    }

    /// The names of all known files.
    pub(super) fn names(&self) -> Vec<String> {
        self.known().keys().cloned().collect()
    }

    /// Opens a file of `root`. On first use its content is checked; the hash is taken from the same
    /// open file that is then read.
    pub(super) fn open(&self, root: &Path, relative: &str) -> Result<File, RecordError> {
        let path = root.join(relative);
        let known = self.known().get(relative).cloned();
        let damaged = |reason: String| RecordError::damaged(&path, reason, &self.remedy);
        let mut file = match open_beneath(root, relative, &TABLE) {
            Err(e) if known.is_some() && e.kind() == ErrorKind::NotFound => {
                return Err(damaged("it is missing".to_owned()));
            }
            opened => opened.map_err(RecordError::io("open", &path))?,
        };
        let Some(Known { entry, verified: false }) = known else { return Ok(file) };
        let bytes = file.metadata().map_err(RecordError::io("read", &path))?.len();
        if bytes != entry.bytes {
            return Err(damaged(format!("it has {bytes} bytes, not {}", entry.bytes)));
        }
        let content = files::hash_file(&mut file).map_err(RecordError::io("read", &path))?;
        if content.into_entry(relative) != entry {
            return Err(damaged("its content does not match its hash".to_owned()));
        }
        file.rewind().map_err(RecordError::io("read", &path))?;
        if let Some(known) = self.known().get_mut(relative) {
            known.verified = true;
        }
        Ok(file)
    }
}
