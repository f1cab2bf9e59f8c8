//! Messages between the host and the machine's first process: files in one shared folder.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::UmlError;

/// A command to run.
#[derive(Serialize, Deserialize, PartialEq, Eq, Debug)]
pub(crate) struct Job {
    /// Arguments of lowtide.
    pub(crate) args: Vec<String>,
    /// Working directory.
    pub(crate) folder: PathBuf,
    /// Its environment.
    pub(crate) environment: BTreeMap<String, String>,
    /// Writable folders of the host.
    pub(crate) writable: Vec<PathBuf>,
    /// Module files to load, in this order.
    pub(crate) modules: Vec<PathBuf>,
}

/// Result of a job.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum JobOutcome {
    /// The command exited with this status.
    Exited(i32),
    /// A signal terminated the command.
    Signalled(i32),
    /// The command was not started.
    Failed(String),
}

/// File names in a job's folder.
pub(crate) const JOB: &str = "job";
pub(crate) const OUTCOME: &str = "answer";
pub(crate) const BOOTED: &str = "booted";
pub(crate) const STDOUT: &str = "stdout";
pub(crate) const STDERR: &str = "stderr";
pub(crate) const CONSOLE: &str = "console";
pub(crate) const LOCK: &str = "lock";

/// Message by which the host interrupts the command.
pub(crate) const INTERRUPT: &str = "interrupt";

/// Writes `value` atomically: a reader finds all of it or none.
pub(crate) fn write_json(
    folder: &Path,
    name: &str,
    value: &impl Serialize,
) -> Result<(), UmlError> {
    let (path, unfinished) = (folder.join(name), folder.join(format!("{name}.new")));
    let write = || -> io::Result<()> {
        fs::write(&unfinished, serde_json::to_vec(value)?)?;
        fs::rename(&unfinished, &path)
    };
    write().map_err(|e| UmlError::system(format!("write {}", path.display()), e))
}

/// Reads a file of [`write_json`]; `None` if it does not exist yet.
pub(crate) fn read_json<T: for<'a> Deserialize<'a>>(
    folder: &Path,
    name: &str,
) -> Result<Option<T>, UmlError> {
    let path = folder.join(name);
    let failed = |e: io::Error| UmlError::system(format!("read {}", path.display()), e);
    match fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|e| failed(e.into())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(failed(e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_files_round_trip() {
        let folder = tempfile::tempdir().unwrap();
        let job = Job {
            args: vec!["live".to_owned(), "a \"b\"\n".to_owned()],
            folder: "/x y".into(),
            environment: BTreeMap::from([("A".to_owned(), "1=2".to_owned())]),
            writable: vec!["/w".into()],
            modules: Vec::new(),
        };
        assert_eq!(read_json::<Job>(folder.path(), JOB).unwrap(), None);
        write_json(folder.path(), JOB, &job).unwrap();
        assert_eq!(read_json::<Job>(folder.path(), JOB).unwrap(), Some(job));
        for answer in
            [JobOutcome::Exited(3), JobOutcome::Signalled(9), JobOutcome::Failed("x".to_owned())]
        {
            write_json(folder.path(), OUTCOME, &answer).unwrap();
            assert_eq!(read_json(folder.path(), OUTCOME).unwrap(), Some(answer));
        }
        fs::write(folder.path().join(OUTCOME), "{").unwrap();
        assert!(read_json::<JobOutcome>(folder.path(), OUTCOME).is_err());
    }
}
