//! Atomic file writes: under a temporary name, then renamed.

use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

use lowtide_input_files::{TABLE, open_beneath};
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

/// Extension of files that are being written.
const TEMP_EXTENSION: &str = "tmp";

/// A unique temporary name for `path` until it is renamed, as several processes on several machines
/// may write to one directory.
pub fn temp_path(path: &Path) -> PathBuf {
    static PROCESS: LazyLock<u64> = LazyLock::new(process_tag);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    name.push(format!(".{:016x}-{count}.{TEMP_EXTENSION}", *PROCESS));
    path.with_file_name(name)
}

/// A number unique to this process.
#[expect(
    clippy::disallowed_types,
    reason = "its keys differ from process to process, and only names of temporary files depend on them"
)]
fn process_tag() -> u64 {
    std::hash::RandomState::new().build_hasher().finish()
}

/// Whether a file or directory of this name is being written, or was left by a process that died.
pub(crate) fn is_temporary(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == TEMP_EXTENSION)
}

/// A file that is written under a temporary name and hashed as it is written. Dropped before
/// [`persist`](Self::persist), it is removed.
pub(crate) struct AtomicFile {
    path: PathBuf,
    file: File,
    hasher: blake3::Hasher,
    bytes: u64,
    first_error: FirstWriteError,
}

/// The first write error of the system, of which encoders keep only the text.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstWriteError(Arc<OnceLock<i32>>);

impl FirstWriteError {
    /// The error, if there was one.
    pub(crate) fn error(&self) -> Option<std::io::Error> {
        self.0.get().map(|code| std::io::Error::from_raw_os_error(*code))
    }
}

/// Size and hash of a file's content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FileDigest {
    pub(crate) bytes: u64,
    pub(crate) blake3: String,
}

impl FileDigest {
    fn of(hasher: &blake3::Hasher, bytes: u64) -> Self {
        Self { bytes, blake3: hasher.finalize().to_hex().to_string() }
    }

    /// Converts to the entry of the file at `path`.
    pub(crate) fn into_entry(self, path: impl Into<String>) -> FileEntry {
        FileEntry { path: path.into(), bytes: self.bytes, blake3: self.blake3 }
    }
}

impl AtomicFile {
    /// Creates the temporary file for `place`.
    pub(crate) fn create(place: &Path) -> Result<Self, RecordError> {
        let path = temp_path(place);
        let file = File::create(&path).map_err(RecordError::io("create", &path))?;
        let failed = FirstWriteError::default();
        Ok(Self { path, file, hasher: blake3::Hasher::new(), bytes: 0, first_error: failed })
    }

    /// Tells why writing failed, after the file has been moved into an encoder.
    pub(crate) fn first_error(&self) -> FirstWriteError {
        self.first_error.clone()
    }

    /// Syncs the file, then renames it to `place`. The rename itself is durable after
    /// [`sync_directory`].
    pub(crate) fn persist(self, place: &Path) -> Result<FileDigest, RecordError> {
        journal::note(journal::FsOp::SyncFile, place);
        self.file.sync_all().map_err(RecordError::io("write", place))?;
        rename(&self.path, place)?;
        Ok(FileDigest::of(&self.hasher, self.bytes))
    }
}

impl Write for AtomicFile {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        let n = self.file.write(buffer).inspect_err(|e| {
            // The caller retries an interrupted call.
            if let Some(code) = e.raw_os_error().filter(|_| e.kind() != ErrorKind::Interrupted) {
                let _ = self.first_error.0.set(code);
            }
        })?;
        self.hasher.update(&buffer[..n]);
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        // After the rename the temporary name no longer exists.
        let _ = fs::remove_file(&self.path);
    }
}

/// Writes `path` atomically and durably, creating its directory if needed.
pub fn write_atomic(path: &Path, content: &[u8]) -> Result<(), RecordError> {
    write_atomic_nosync(path, content)?;
    sync_parent(path)
}

/// As [`write_atomic`], with the content that `fill` writes. If it fails, there is no file.
pub fn write_atomic_with<E: From<RecordError>>(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let mut growing = write_temp(path, &[])?;
    fill(&mut growing)?;
    growing.persist(path)?;
    Ok(sync_parent(path)?)
}

/// As [`write_atomic`], but the rename is not durable before [`sync_directory`].
pub(crate) fn write_atomic_nosync(path: &Path, content: &[u8]) -> Result<FileDigest, RecordError> {
    write_temp(path, content)?.persist(path)
}

/// As [`write_atomic`], unless `path` exists; returns whether it was written.
pub(crate) fn write_new(path: &Path, content: &[u8]) -> Result<bool, RecordError> {
    let growing = write_temp(path, content)?;
    growing.file.sync_all().map_err(RecordError::io("write", path))?;
    match fs::hard_link(&growing.path, path) {
        Ok(()) => sync_parent(path).map(|()| true),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(false),
        // On a file system without hard links the last of concurrent writers wins.
        Err(_) if path.exists() => Ok(false),
        Err(_) => growing.persist(path).and_then(|_| sync_parent(path)).map(|()| true),
    }
}

fn write_temp(path: &Path, content: &[u8]) -> Result<AtomicFile, RecordError> {
    if let Some(parent) = path.parent() {
        make_directory(parent)?;
    }
    let mut growing = AtomicFile::create(path)?;
    growing.write_all(content).map_err(RecordError::io("write", path))?;
    Ok(growing)
}

fn sync_parent(path: &Path) -> Result<(), RecordError> {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => sync_directory(Path::new(".")),
        Some(parent) => sync_directory(parent),
        None => Ok(()),
    }
}

/// Makes the renames within `path` durable. Only Unix can sync directories.
pub(crate) fn sync_directory(path: &Path) -> Result<(), RecordError> {
    journal::note(journal::FsOp::SyncDirectory, path);
    if cfg!(unix) {
        let synced = lowtide_input_files::open_directory(path).and_then(|d| d.sync_all());
        match synced {
            // Some network file systems cannot sync a directory, and need not.
            Err(e) if !matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
                return Err(RecordError::io("write", path)(e));
            }
            _ => {}
        }
    }
    Ok(())
}

pub(crate) fn make_directory(path: &Path) -> Result<(), RecordError> {
    fs::create_dir_all(path).map_err(RecordError::io("create", path))
}

pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), RecordError> {
    journal::note(journal::FsOp::Rename, to);
    fs::rename(from, to).map_err(RecordError::io("rename to", to))
}

/// Renames a finished directory into place, durably. `to` may be an empty directory.
pub fn place_directory(from: &Path, to: &Path) -> Result<(), RecordError> {
    rename(from, to)?;
    sync_parent(to)
}

/// Removes a file, if it exists.
pub(crate) fn remove(path: &Path) -> Result<(), RecordError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(RecordError::io("remove", path)(e)),
        _ => Ok(()),
    }
}

/// Removes a directory and its content, if it exists. The removal is atomic: concurrent readers
/// never see a part of it.
pub fn remove_directory(path: &Path) -> Result<(), RecordError> {
    let going = temp_path(path);
    let removed = fs::rename(path, &going).and_then(|()| fs::remove_dir_all(&going));
    match removed {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(RecordError::io("remove", path)(e)),
        _ => Ok(()),
    }
}

/// Size and hash of an open file, read to its end.
pub(crate) fn hash_file(file: &mut impl Read) -> std::io::Result<FileDigest> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 17];
    let mut bytes = 0;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(FileDigest::of(&hasher, bytes)),
            Ok(n) => {
                hasher.update(&buffer[..n]);
                bytes += n as u64;
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// Size and hash of the file `relative` in `root`.
pub(crate) fn file_entry(root: &Path, relative: &str) -> Result<FileEntry, RecordError> {
    let path = root.join(relative);
    let opened = open_beneath(root, relative, &TABLE);
    let mut file = opened.map_err(RecordError::io("open", &path))?;
    Ok(hash_file(&mut file).map_err(RecordError::io("read", &path))?.into_entry(relative))
}

/// Journal of file system operations, for tests of their order.
pub(crate) mod journal {
    use std::path::Path;

    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) enum FsOp {
        SyncFile,
        SyncDirectory,
        Rename,
    }

    #[cfg(not(test))]
    pub(super) fn note(_: FsOp, _: &Path) {}

    #[cfg(test)]
    pub(super) fn note(step: FsOp, path: &Path) {
        STEPS.with_borrow_mut(|all| all.push((step, path.to_path_buf())));
    }

    #[cfg(test)]
    std::thread_local! {
        pub(crate) static STEPS: std::cell::RefCell<Vec<(FsOp, std::path::PathBuf)>> =
            const { std::cell::RefCell::new(Vec::new()) };
    }
}
