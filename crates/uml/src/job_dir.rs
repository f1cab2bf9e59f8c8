//! The folder of a job, below the one for temporary files.
//!
//! Contract: it is removed when the job is over. It remains if the program was killed; the next job
//! removes every folder whose lock is not held.

use std::fs::{self, File};
use std::path::Path;

use tempfile::{Builder, TempDir};

use crate::error::UmlError;
use crate::job::LOCK;

/// Name prefix of these folders.
const PREFIX: &str = "lowtide-uml-";

/// A folder, and the lock that marks it as in use.
#[derive(Debug)]
pub(crate) struct JobDir {
    folder: TempDir,
    _lock: File,
}

impl JobDir {
    /// Creates a folder after removing stale ones in `parent`.
    pub(crate) fn make(parent: &Path) -> Result<Self, UmlError> {
        remove_stale(parent);
        let failed = |e| UmlError::system(format!("make a folder in {}", parent.display()), e);
        let folder = Builder::new().prefix(PREFIX).tempdir_in(parent).map_err(failed)?;
        // Locked before it gets the name that other processes look for.
        let (unfinished, path) = (folder.path().join("lock.new"), folder.path().join(LOCK));
        let lock = File::create(&unfinished).map_err(failed)?;
        lock.lock().map_err(failed)?;
        fs::rename(&unfinished, &path).map_err(failed)?;
        Ok(Self { folder, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the folders of ended programs. Folders that cannot be removed (another user's) remain.
fn remove_stale(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_str().is_some_and(|n| n.starts_with(PREFIX));
        if !ours || !entry.file_type().is_ok_and(|t| t.is_dir()) {
            continue;
        }
        if let Ok(lock) = File::open(entry.path().join(LOCK))
            && lock.try_lock().is_ok()
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unlocked_directories_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let dead = parent.path().join("lowtide-uml-dead");
        let (young, other) = (parent.path().join("lowtide-uml-young"), parent.path().join("other"));
        for folder in [&dead, &young, &other] {
            fs::create_dir(folder).unwrap();
        }
        for folder in [&dead, &other] {
            fs::write(folder.join(LOCK), "").unwrap();
        }
        let first = JobDir::make(parent.path()).unwrap();
        let second = JobDir::make(parent.path()).unwrap();
        assert!(!dead.exists() && young.exists() && other.exists());
        assert!(first.path().exists() && second.path().exists());
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists());
    }
}
