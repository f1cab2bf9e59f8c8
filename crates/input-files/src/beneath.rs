//! Files of a folder that somebody else wrote: their paths stay inside it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::kind::FileKind;
use crate::open::open_no_follow;
use crate::refusal::refuse;

/// Longest path inside a folder, bytes.
const MAX_PATH: usize = 1024;
/// Longest component, bytes: that of common file systems.
const MAX_COMPONENT: usize = 255;

/// Checks a path that a manifest or an archive states: relative, with plain components.
///
/// # Errors
/// The path is absolute, has `.`, `..`, an empty component, a control character or a backslash, or
/// is too long.
pub fn check_path(path: &str) -> io::Result<()> {
    let refused = |reason: &str| Err(path_refusal(path, reason));
    if path.starts_with('/') {
        return refused("is absolute");
    }
    // A backslash separates components on other systems.
    if path.contains(|c: char| c.is_control() || c == '\\') {
        return refused("has a control character or a backslash");
    }
    if path.len() > MAX_PATH || path.split('/').any(|part| part.len() > MAX_COMPONENT) {
        return refused("is too long");
    }
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return refused("leaves its folder, or is not in its plain form");
    }
    Ok(())
}

/// Checks a name that becomes that of a file: a path of one component.
///
/// # Errors
/// As [`check_path`], or the name has several components.
pub fn check_name(name: &str) -> io::Result<()> {
    if name.contains('/') {
        return Err(path_refusal(name, "has a slash, and names one file"));
    }
    check_path(name)
}

fn path_refusal(path: &str, reason: &str) -> io::Error {
    let shown: String = path.chars().take(100).collect();
    refuse(format!("its path {shown:?} {reason}; ask its authors for another copy"))
}

/// Returns the place of `relative` in `root` after [`check_path`]. No directory on the way may be
/// a symbolic link.
///
/// # Errors
/// As [`check_path`], or a directory is a link.
pub fn place_beneath(root: &Path, relative: &str) -> io::Result<PathBuf> {
    check_path(relative)?;
    let mut place = root.to_path_buf();
    let mut parts = relative.split('/').peekable();
    while let Some(part) = parts.next() {
        place.push(part);
        if parts.peek().is_some() {
            check_link(&place)?;
        }
    }
    Ok(place)
}

/// Opens the regular file `relative` in `root`, which is no symbolic link and reached by none.
///
/// # Errors
/// As [`place_beneath`] and [`crate::open`].
pub fn open_beneath(root: &Path, relative: &str, kind: &FileKind) -> io::Result<File> {
    open_no_follow(&place_beneath(root, relative)?, kind)
}

/// Checks that no entry of the folder `root` is a symbolic link; a missing folder has none.
///
/// # Errors
/// An entry is a link, or the folder cannot be read.
pub fn check_links(root: &Path) -> io::Result<()> {
    match fs::read_dir(root) {
        Ok(mut entries) => entries.try_for_each(|entry| check_link(&entry?.path())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
    }
}

fn check_link(place: &Path) -> io::Result<()> {
    match fs::symlink_metadata(place) {
        Ok(found) if found.is_symlink() => {
            let name = place.file_name().unwrap_or_default().to_string_lossy();
            Err(refuse(format!("its entry {name:?} is a symbolic link; put a copy in its place")))
        }
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::kind::SETTINGS;

    #[test]
    fn only_plain_relative_paths_are_accepted() {
        for good in ["a", "figures/a b.svg", "…/ä", "..a/.b", &"x".repeat(255)] {
            assert!(check_path(good).is_ok(), "{good}");
        }
        let long = format!("{}x", "abc/".repeat(256));
        let wide = "x".repeat(256);
        for bad in [
            "",
            "/",
            "/etc/passwd",
            "../a",
            "a/..",
            "a/../../b",
            ".",
            "./a",
            "a//b",
            "a/",
            "a\nb",
            "a\\..\\b",
            "\u{1b}[31m",
            "a\0b",
            &long,
            &wide,
        ] {
            let error = check_path(bad).unwrap_err();
            assert!(crate::is_refusal(&error) && !error.to_string().contains('\u{1b}'), "{error}");
        }
        assert!(check_name("own flows").is_ok() && check_name("..").is_err());
        assert!(check_name("a/b").unwrap_err().to_string().contains("has a slash"));
    }

    #[test]
    fn links_do_not_lead_out_of_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let (root, outside) = (dir.path().join("root"), dir.path().join("outside"));
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "s").unwrap();
        fs::write(root.join("sub/a"), "a").unwrap();
        assert!(open_beneath(&root, "sub/a", &SETTINGS).is_ok());
        assert!(check_links(&root).is_ok());
        symlink(&outside, root.join("way")).unwrap();
        symlink(outside.join("secret"), root.join("sub/file")).unwrap();
        for path in ["way/secret", "sub/file"] {
            let error = open_beneath(&root, path, &SETTINGS).unwrap_err();
            assert!(error.to_string().contains("a symbolic link"), "{error}");
        }
        assert!(place_beneath(&root, "way/new").is_err());
        assert!(place_beneath(&root, "new/way").is_ok());
        let error = check_links(&root).unwrap_err();
        assert_eq!(
            error.to_string(),
            "its entry \"way\" is a symbolic link; put a copy in its place"
        );
        // The folder itself may be reached by a link: its user names it.
        symlink(&root, dir.path().join("other")).unwrap();
        assert!(open_beneath(&dir.path().join("other"), "sub/a", &SETTINGS).is_ok());
    }
}
