//! Owner of the testbed, and its names.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{PersistentError, TestbedPaths};

/// The process that has a testbed up.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct TestbedState {
    /// Its process ID.
    pub(super) pid: u32,
    /// Its start time, in clock ticks since boot: process IDs are reused.
    pub(super) started: u64,
    /// Boot ID of the machine.
    pub(super) boot: String,
    /// Scenario of the testbed.
    pub(super) scenario: String,
    /// All names, with the namespace of each, present or future.
    pub(super) names: Vec<NetnsName>,
}

/// A name and its namespace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct NetnsName {
    pub(super) name: String,
    /// Inode of the namespace.
    pub(super) inode: u64,
}

impl TestbedState {
    /// State of this process.
    pub(super) fn of_this_process(scenario: &str, names: Vec<NetnsName>) -> Self {
        let pid = std::process::id();
        let started = start_ticks(pid).unwrap_or_default();
        Self { pid, started, boot: boot_id(), scenario: scenario.to_owned(), names }
    }

    /// True if the process that wrote this is still running.
    pub(super) fn is_alive(&self) -> bool {
        self.boot == boot_id() && start_ticks(self.pid) == Some(self.started)
    }

    /// True if it was written in this boot: only then are the inodes valid.
    pub(super) fn is_of_this_boot(&self) -> bool {
        self.boot == boot_id()
    }

    fn path(paths: &TestbedPaths) -> PathBuf {
        paths.state_dir.join("testbed.json")
    }

    /// Reads the last state, if any.
    pub(super) fn read(paths: &TestbedPaths) -> Result<Option<Self>, PersistentError> {
        let path = Self::path(paths);
        let text = match fs::read_to_string(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(PersistentError::system(format!("read {}", path.display())))?,
        };
        let state = serde_json::from_str(&text).map_err(|e| PersistentError::InvalidState {
            path: path.display().to_string(),
            why: e.to_string(),
        })?;
        Ok(Some(state))
    }

    /// Writes it atomically.
    pub(super) fn write(&self, paths: &TestbedPaths) -> Result<(), PersistentError> {
        let path = Self::path(paths);
        let part = path.with_extension("part");
        let text = serde_json::to_string_pretty(self).map_err(std::io::Error::other);
        let written = text.and_then(|text| {
            let mut file = File::create(&part)?;
            file.write_all(text.as_bytes())?;
            // It must be on disk before the names that it lists.
            file.sync_all()?;
            fs::rename(&part, &path)
        });
        written.map_err(PersistentError::system(format!("write {}", path.display())))
    }

    /// Removes the state: no testbed is left.
    pub(super) fn remove(paths: &TestbedPaths) -> Result<(), PersistentError> {
        let path = Self::path(paths);
        match fs::remove_file(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
            removed => {
                removed.map_err(PersistentError::system(format!("remove {}", path.display())))
            }
        }
    }
}

/// Takes the testbed lock; `None` if another process holds it. It is released when the file is
/// closed, however the process ends.
pub(super) fn lock(paths: &TestbedPaths) -> Result<Option<File>, PersistentError> {
    let path = paths.state_dir.join("lock");
    let what = || PersistentError::system(format!("lock {}", path.display()));
    fs::create_dir_all(&paths.state_dir)
        .map_err(PersistentError::system(format!("make {}", paths.state_dir.display())))?;
    let open = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = open.map_err(what())?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(what()(error)),
    }
}

/// Boot ID of the machine.
fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

/// Start time of a process; `None` if there is none.
fn start_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may contain anything. After it come the state and, as 20th field, the start time.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_round_trips_and_detects_dead_owners() {
        let folder = tempfile::tempdir().unwrap();
        let paths = TestbedPaths::below(folder.path());
        assert_eq!(TestbedState::read(&paths).unwrap(), None);
        let state = TestbedState::of_this_process(
            "x",
            vec![NetnsName { name: "lowtide-a".to_owned(), inode: 7 }],
        );
        state.write(&paths).unwrap();
        let read = TestbedState::read(&paths).unwrap().unwrap();
        assert!(read == state && read.is_alive() && read.is_of_this_boot());
        assert!(!TestbedState { started: state.started + 1, ..state.clone() }.is_alive());
        assert!(!TestbedState { boot: "another".to_owned(), ..state }.is_alive());
        fs::write(TestbedState::path(&paths), "{").unwrap();
        assert!(
            TestbedState::read(&paths)
                .unwrap_err()
                .to_string()
                .contains("not a state file of a testbed")
        );
        TestbedState::remove(&paths).unwrap();
        TestbedState::remove(&paths).unwrap();
    }

    #[test]
    fn one_has_the_lock_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let paths = TestbedPaths::below(folder.path());
        let held = lock(&paths).unwrap();
        assert!(held.is_some() && lock(&paths).unwrap().is_none());
        drop(held);
        assert!(lock(&paths).unwrap().is_some());
    }
}
