//! What the host tells the first process of the machine, and how that answers: files in one folder that both see.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::UmlError;

/// What is to be done.
#[derive(Serialize, Deserialize, PartialEq, Eq, Debug)]
pub(crate) struct Job {
    /// Arguments of lowtide.
    pub(crate) args: Vec<String>,
    /// The folder in which it starts.
    pub(crate) folder: PathBuf,
    /// Its environment.
    pub(crate) environment: BTreeMap<String, String>,
    /// Folders of the host in which it may write.
    pub(crate) writable: Vec<PathBuf>,
    /// Files of modules to load, in this order.
    pub(crate) modules: Vec<PathBuf>,
}

/// How it went.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// The command ended with this status.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// It was not started.
    Failed(String),
}

/// Names of the files in the folder of a job.
pub(crate) const JOB: &str = "job";
pub(crate) const OUTCOME: &str = "answer";
pub(crate) const BOOTED: &str = "booted";
pub(crate) const STDOUT: &str = "stdout";
pub(crate) const STDERR: &str = "stderr";
pub(crate) const CONSOLE: &str = "console";
pub(crate) const LOCK: &str = "lock";

/// The word by which the host asks to interrupt the command.
pub(crate) const INTERRUPT: &str = "interrupt";

/// Writes `value` so that whoever reads the file finds all of it or none.
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

/// Reads what [`put`] wrote; `None` where there is nothing yet.
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
        for answer in [Answer::Exited(3), Answer::Signalled(9), Answer::Failed("x".to_owned())] {
            write_json(folder.path(), OUTCOME, &answer).unwrap();
            assert_eq!(read_json(folder.path(), OUTCOME).unwrap(), Some(answer));
        }
        fs::write(folder.path().join(OUTCOME), "{").unwrap();
        assert!(read_json::<Answer>(folder.path(), OUTCOME).is_err());
    }
}
