//! Which content the files of a directory must have, and whether they were looked at.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Seek};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::RecordError;
use crate::files::{self, FileEntry};

/// The files whose content is known: those that a manifest lists, and those written by this process.
#[derive(Debug, Default)]
pub(super) struct Checksums {
    known: Mutex<BTreeMap<String, Known>>,
    /// What to do about a file that is damaged.
    remedy: String,
}

#[derive(Clone, Debug)]
struct Known {
    entry: FileEntry,
    /// Its content was hashed, on the way in or out.
    verified: bool,
}

impl Checksums {
    /// Of files that somebody else wrote.
    pub(super) fn of(files: &[FileEntry], remedy: String) -> Self {
        let known = |entry: &FileEntry| {
            (entry.path.clone(), Known { entry: entry.clone(), verified: false })
        };
        Self { known: Mutex::new(files.iter().map(known).collect()), remedy }
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Known>> {
        // Each entry is put in whole.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what this process has written.
    pub(super) fn record_written(&self, entry: FileEntry) {
        self.known().insert(entry.path.clone(), Known { entry, verified: true });
    }

    /// Forgets all: the directory is written anew.
    pub(super) fn clear(&self) {
        self.known().clear();
    }

    /// Whether nothing is known of any file.
    pub(super) fn is_empty(&self) -> bool {
        self.known().is_empty()
    }

    /// What is known of a file.
    pub(super) fn entry(&self, relative: &str) -> Option<FileEntry> {
        self.known().get(relative).map(|k| k.entry.clone())
    }

    /// The names of all files that are known.
    pub(super) fn names(&self) -> Vec<String> {
        self.known().keys().cloned().collect()
    }

    /// Opens a file of `root`. The first time, its content is held against what is known of it: the hash is
    /// of the very file that is then read.
    pub(super) fn open(&self, root: &Path, relative: &str) -> Result<File, RecordError> {
        let path = root.join(relative);
        let known = self.known().get(relative).cloned();
        let damaged = |reason: String| RecordError::damaged(&path, reason, &self.remedy);
        let mut file = match File::open(&path) {
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
            return Err(damaged("its content is not what was written".to_owned()));
        }
        file.rewind().map_err(RecordError::io("read", &path))?;
        if let Some(known) = self.known().get_mut(relative) {
            known.verified = true;
        }
        Ok(file)
    }
}
