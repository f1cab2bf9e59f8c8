//! Markers of runs that have started: who makes them, and whether the process is alive.
//!
//! Contract: a marker is information for people only; no run depends on it. The process holds a
//! lock on the marker while it makes the run, so the marker of a killed process is recognised.

use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lowtide_input_files::{MANIFEST, open_beneath, read_open};
use serde::{Deserialize, Serialize};

use super::RunDir;
use super::partial::PARTIAL;
use crate::error::RecordError;
use crate::files::{make_directory, rename, temp_path, write_atomic_nosync};
use crate::key::RunKey;

/// Extension of markers.
const EXTENSION: &str = "started";

/// Content of a marker.
#[derive(Serialize, Deserialize)]
struct MarkerFile {
    #[serde(flatten)]
    key: RunKey,
    /// The process, as it calls itself.
    worker: String,
    /// The error that ended the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Marks a run as started until it is dropped.
#[derive(Debug)]
pub struct RunMarker {
    path: PathBuf,
    key: RunKey,
    worker: String,
    /// Holds the lock.
    _file: File,
    /// Stays in the directory when it is dropped.
    kept: bool,
}

/// A run that has started and is not finished.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StartedRun {
    /// The run.
    pub key: RunKey,
    /// The process that started it.
    pub worker: String,
    /// Time of its start, or of its failure.
    pub since: SystemTime,
    /// Whether the process that started it is alive.
    pub is_running: bool,
    /// The error that ended it.
    pub error: Option<String>,
}

impl RunDir {
    /// Marks a run as started by `worker`, a name of this process.
    ///
    /// # Errors
    /// The marker cannot be written.
    pub fn mark_started(
        &self,
        key: &RunKey,
        hash: &str,
        worker: &str,
    ) -> Result<RunMarker, RecordError> {
        let path = self.partial(key, hash).with_extension(EXTENSION);
        make_directory(&self.root.join(PARTIAL))?;
        let staging = temp_path(&path);
        let mut file = File::create(&staging).map_err(RecordError::io("create", &staging))?;
        // Without locks in the file system a killed process counts as alive.
        let _ = file.lock();
        let marker = MarkerFile { key: key.clone(), worker: worker.to_owned(), error: None };
        let text = serde_json::to_vec(&marker).map_err(|e| RecordError::encode(&path, &e))?;
        file.write_all(&text).map_err(RecordError::io("write", &staging))?;
        rename(&staging, &path)?;
        let MarkerFile { key, worker, .. } = marker;
        Ok(RunMarker { path, key, worker, _file: file, kept: false })
    }

    /// Runs with a marker.
    pub(super) fn started_runs(&self) -> Vec<StartedRun> {
        let Ok(entries) = fs::read_dir(self.root.join(PARTIAL)) else { return Vec::new() };
        let paths = entries.filter_map(|e| e.ok().map(|e| e.path()));
        let markers = paths.filter(|p| p.extension().is_some_and(|e| e == EXTENSION));
        markers.filter_map(|path| read(&path)).collect()
    }
}

/// Reads a marker; `None` if the run has just ended.
fn read(path: &Path) -> Option<StartedRun> {
    let (dir, name) = (path.parent()?, path.file_name()?.to_str()?);
    let file = open_beneath(dir, name, &MANIFEST).ok()?;
    let since = file.metadata().and_then(|m| m.modified()).ok()?;
    let is_locked = match file.try_lock_shared() {
        Ok(()) => false,
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
    };
    let MarkerFile { key, worker, error } =
        serde_json::from_slice(&read_open(&file, &MANIFEST).ok()?).ok()?;
    Some(StartedRun { key, worker, since, is_running: is_locked && error.is_none(), error })
}

impl RunMarker {
    /// Records the error that ended the run. The marker stays until the run is started again.
    pub fn fail(mut self, error: &str) {
        let (key, worker) = (self.key.clone(), self.worker.clone());
        let marker = MarkerFile { key, worker, error: Some(error.to_owned()) };
        let written = serde_json::to_vec(&marker)
            .is_ok_and(|text| write_atomic_nosync(&self.path, &text).is_ok());
        self.kept = written;
    }
}

impl Drop for RunMarker {
    fn drop(&mut self) {
        if !self.kept {
            // It is absent if another process has completed the directory.
            let _ = fs::remove_file(&self.path);
        }
    }
}
