//! Opens and reads one file.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

use crate::kind::{FileKind, size_text};
use crate::refusal::refuse;

/// Opens the regular file at `path`, which has at most the bytes of its kind.
///
/// # Errors
/// The file cannot be opened, is not a regular file, or is too large. The text follows "cannot
/// read `path`: ".
pub fn open(path: &Path, kind: &FileKind) -> io::Result<File> {
    // Opening some devices has an effect, so they are not opened at all.
    check(&fs::metadata(path)?, kind)?;
    finish(options(0).open(path)?, kind)
}

/// As [`open`], but the last component may not be a symbolic link.
pub(crate) fn open_no_follow(path: &Path, kind: &FileKind) -> io::Result<File> {
    check(&fs::symlink_metadata(path)?, kind)?;
    finish(options(NO_FOLLOW).open(path)?, kind)
}

/// Opens the directory at `path`, to sync or lock it.
///
/// # Errors
/// It is no directory, or cannot be opened.
pub fn open_directory(path: &Path) -> io::Result<File> {
    options(DIRECTORY).open(path)
}

/// The path may have got another file since it was checked; the open file cannot.
fn finish(file: File, kind: &FileKind) -> io::Result<File> {
    check(&file.metadata()?, kind)?;
    Ok(file)
}

#[cfg(unix)]
const NO_FOLLOW: i32 = libc::O_NOFOLLOW;
#[cfg(not(unix))]
const NO_FOLLOW: i32 = 0;
#[cfg(unix)]
const DIRECTORY: i32 = libc::O_DIRECTORY;
#[cfg(not(unix))]
const DIRECTORY: i32 = 0;

/// Options that open a pipe without waiting for a writer, and a terminal without becoming its
/// process. They have no effect on regular files.
#[cfg(unix)]
fn options(more: i32) -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = File::options();
    options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | more);
    options
}

#[cfg(not(unix))]
fn options(_: i32) -> OpenOptions {
    let mut options = File::options();
    options.read(true);
    options
}

fn check(found: &Metadata, kind: &FileKind) -> io::Result<()> {
    if !found.is_file() {
        let found = type_name(found);
        return Err(refuse(format!("it is {found}; name a regular file, which alone is read")));
    }
    if found.len() > kind.max_bytes {
        return Err(too_large(&size_text(found.len()), kind));
    }
    Ok(())
}

fn too_large(found: &str, FileKind { name, max_bytes, remedy }: &FileKind) -> io::Error {
    let most = size_text(*max_bytes);
    refuse(format!("it has {found}, and {name} has at most {most}; {remedy}"))
}

fn type_name(found: &Metadata) -> &'static str {
    let of = found.file_type();
    if of.is_dir() {
        return "a directory";
    }
    if of.is_symlink() {
        return "a symbolic link";
    }
    special_name(of)
}

#[cfg(unix)]
fn special_name(of: fs::FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt as _;
    match () {
        () if of.is_fifo() => "a pipe",
        () if of.is_socket() => "a socket",
        () if of.is_char_device() || of.is_block_device() => "a device",
        () => "a special file",
    }
}

#[cfg(not(unix))]
fn special_name(_: fs::FileType) -> &'static str {
    "a special file"
}

/// Reads the file at `path` as a whole.
///
/// # Errors
/// As [`open`], or the file grows beyond its limit.
pub fn read(path: &Path, kind: &FileKind) -> io::Result<Vec<u8>> {
    read_open(&open(path, kind)?, kind)
}

/// Reads an open file to its end.
///
/// # Errors
/// The file cannot be read, or it grows beyond its limit.
pub fn read_open(file: &File, kind: &FileKind) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Files of the kernel have no size before they are read.
    file.take(kind.max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > kind.max_bytes {
        return Err(too_large("no end", kind));
    }
    Ok(bytes)
}

/// As [`read`], for a text in UTF-8.
///
/// # Errors
/// As [`read`], or the file is not text.
pub fn read_text(path: &Path, kind: &FileKind) -> io::Result<String> {
    String::from_utf8(read(path, kind)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;
    use crate::is_refusal;

    const SMALL: FileKind = FileKind { name: "a note", max_bytes: 10, remedy: "shorten it" };

    fn reason(path: &Path) -> String {
        let error = read_text(path, &SMALL).expect_err("it is refused");
        assert!(is_refusal(&error), "{error}");
        error.to_string()
    }

    #[test]
    fn special_files_are_refused_by_type_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(reason(&pipe), "it is a pipe; name a regular file, which alone is read");
        let socket = dir.path().join("socket");
        let _listening = UnixListener::bind(&socket).unwrap();
        assert_eq!(reason(&socket), "it is a socket; name a regular file, which alone is read");
        assert_eq!(
            reason(dir.path()),
            "it is a directory; name a regular file, which alone is read"
        );
        for device in ["/dev/zero", "/dev/tty", "/dev/urandom"] {
            assert_eq!(
                reason(Path::new(device)),
                "it is a device; name a regular file, which alone is read"
            );
        }
    }

    /// A pipe that takes the place of a checked file is not waited for.
    #[test]
    fn the_type_is_that_of_the_open_file() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let opened = finish(options(0).open(&pipe).unwrap(), &SMALL);
        assert_eq!(
            opened.unwrap_err().to_string(),
            "it is a pipe; name a regular file, which alone is read"
        );
    }

    #[test]
    fn the_limit_holds_for_files_that_grow_or_have_no_size() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(&path, "0123456789").unwrap();
        assert_eq!(read_text(&path, &SMALL).unwrap(), "0123456789");
        let open = open(&path, &SMALL).unwrap();
        fs::write(&path, "0123456789+").unwrap();
        assert!(read_open(&open, &SMALL).unwrap_err().to_string().starts_with("it has no end"));
        assert_eq!(reason(&path), "it has 11 B, and a note has at most 10 B; shorten it");
        // The kernel states no size for it.
        assert!(reason(Path::new("/proc/self/maps")).starts_with("it has no end"));
        fs::write(&path, [0xff]).unwrap();
        let error = read_text(&path, &SMALL).unwrap_err();
        assert_eq!(error.to_string(), "it is not UTF-8 text");
    }
}
