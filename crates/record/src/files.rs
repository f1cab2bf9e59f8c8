//! Files that are there whole or not at all: written under a temporary name, then renamed.

use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::error::RecordError;

/// A file of a run directory, as the manifest lists it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileEntry {
    /// Path inside the directory, with `/`.
    pub path: String,
    /// Size.
    pub bytes: u64,
    /// BLAKE3 hash of the content, hexadecimal.
    pub blake3: String,
}

/// How the names of files that are being written end.
const GROWING: &str = "tmp";

/// A name under which `path` is written before it is renamed. Nobody else has it: several processes, on
/// several machines, may write to one directory.
pub(crate) fn temporary(path: &Path) -> PathBuf {
    static PROCESS: LazyLock<u64> = LazyLock::new(process);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    name.push(format!(".{:016x}-{count}.{GROWING}", *PROCESS));
    path.with_file_name(name)
}

/// A number that no other process has.
#[expect(
    clippy::disallowed_types,
    reason = "its keys differ from process to process, and only names of files that are gone depend on them"
)]
fn process() -> u64 {
    std::hash::RandomState::new().build_hasher().finish()
}

/// Whether a file or directory of this name is being written, or was left by a process that died.
pub(crate) fn is_temporary(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == GROWING)
}

/// A file that grows beside its place under a name of its own. One that is not [put](Self::put) there goes:
/// whoever gives up leaves nothing behind.
pub(crate) struct Growing(PathBuf);

impl Growing {
    /// Begins the file that belongs at `place`.
    pub(crate) fn create(place: &Path) -> Result<(Self, File), RecordError> {
        let path = temporary(place);
        let file = File::create(&path).map_err(RecordError::io("create", &path))?;
        Ok((Self(path), file))
    }

    /// Puts the file, whole now, at `place`.
    pub(crate) fn put(self, place: &Path) -> Result<(), RecordError> {
        rename(&self.0, place)
    }
}

impl Drop for Growing {
    fn drop(&mut self) {
        // Once renamed, the name is nobody's.
        let _ = fs::remove_file(&self.0);
    }
}

/// Writes `path` whole or not at all, making its directory when needed.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), RecordError> {
    write_growing(path, content)?.put(path)
}

/// The same unless `path` is there already; whether it was written.
pub(crate) fn write_new(path: &Path, content: &[u8]) -> Result<bool, RecordError> {
    let growing = write_growing(path, content)?;
    match fs::hard_link(&growing.0, path) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(false),
        // A file system without links: the last of several that come at once stays.
        Err(_) if path.exists() => Ok(false),
        Err(_) => growing.put(path).map(|()| true),
    }
}

fn write_growing(path: &Path, content: &[u8]) -> Result<Growing, RecordError> {
    if let Some(parent) = path.parent() {
        make_directory(parent)?;
    }
    let (growing, mut file) = Growing::create(path)?;
    file.write_all(content).map_err(RecordError::io("write", &growing.0))?;
    Ok(growing)
}

pub(crate) fn make_directory(path: &Path) -> Result<(), RecordError> {
    fs::create_dir_all(path).map_err(RecordError::io("create", path))
}

pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), RecordError> {
    fs::rename(from, to).map_err(RecordError::io("rename to", to))
}

/// Removes a file; one that is not there is fine.
pub(crate) fn remove(path: &Path) -> Result<(), RecordError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(RecordError::io("remove", path)(e)),
        _ => Ok(()),
    }
}

/// Removes a directory with all that is in it; one that is not there is fine. It is there whole or not at
/// all: who reads it meanwhile finds nothing rather than a part of it.
pub(crate) fn remove_directory(path: &Path) -> Result<(), RecordError> {
    let going = temporary(path);
    let removed = fs::rename(path, &going).and_then(|()| fs::remove_dir_all(&going));
    match removed {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(RecordError::io("remove", path)(e)),
        _ => Ok(()),
    }
}

/// Size and hash of the file `relative` in `root`.
pub(crate) fn entry(root: &Path, relative: &str) -> Result<FileEntry, RecordError> {
    let path = root.join(relative);
    let mut file = File::open(&path).map_err(RecordError::io("open", &path))?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = 0;
    loop {
        let n = file.read(&mut buffer).map_err(RecordError::io("read", &path))?;
        if n == 0 {
            break;
        }
        hasher.update(&buffer[..n]);
        bytes += n as u64;
    }
    let blake3 = hasher.finalize().to_hex().to_string();
    Ok(FileEntry { path: relative.to_owned(), bytes, blake3 })
}
