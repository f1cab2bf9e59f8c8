//! Tracked files that do not belong into the repository: programs and large files.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use serde::Deserialize;

/// The exceptions, from the root of the repository.
const FILE: &str = "xtask/tracked-files.toml";
/// Most bytes of a file.
const LIMIT: u64 = 300_000;
/// Beginnings of programs and libraries: ELF, Mach-O of 32 and 64 bits in both byte orders and for
/// several processors, PE with the stub of linkers, WebAssembly, archives.
const PROGRAMS: [&[u8]; 9] = [
    b"\x7fELF",
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"\xce\xfa\xed\xfe",
    b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
    b"MZ\x90\0",
    b"\0asm",
    b"!<arch>\n",
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exceptions {
    file: Vec<Exception>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    path: String,
    why: String,
}

/// Prints the refused files; fails if there is one.
pub(crate) fn run(root: &Path) -> Result<ExitCode, String> {
    let text = fs::read_to_string(root.join(FILE)).map_err(|e| format!("{FILE}: {e}"))?;
    let list: Exceptions = toml::from_str(&text).map_err(|e| format!("{FILE}: {e}"))?;
    let refused = refused(root, &list.file)?;
    for line in &refused {
        eprintln!("{line}");
    }
    Ok(if refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One sentence for each refused file, and for each exception that none needs.
fn refused(root: &Path, exceptions: &[Exception]) -> Result<Vec<String>, String> {
    let output = Command::new("git")
        .args(["ls-files", "--stage", "-z"])
        .current_dir(root)
        .output()
        .map_err(|e| format!("cannot run git: {e}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    let mut out = Vec::new();
    let mut excused = Vec::new();
    let listing = String::from_utf8_lossy(&output.stdout);
    for entry in listing.split_terminator('\0') {
        let Some((facts, path)) = entry.split_once('\t') else { continue };
        let Some(why) = fault(root, path, facts.starts_with("100755"))? else { continue };
        match exceptions.iter().find(|e| e.path == path && !e.why.is_empty()) {
            Some(_) => excused.push(path.to_owned()),
            None => out.push(format!("{path} {why}; remove it, or give {FILE} the reason")),
        }
    }
    let unused = exceptions.iter().filter(|e| !excused.contains(&e.path));
    out.extend(
        unused.map(|e| format!("{FILE}: `{}` needs no exception, or has no reason", e.path)),
    );
    Ok(out)
}

/// The fault of a tracked file; none of a deleted one and of a link.
fn fault(root: &Path, path: &str, executable: bool) -> Result<Option<String>, String> {
    let place = root.join(path);
    let failed = |e: std::io::Error| format!("{path}: {e}");
    let bytes = match fs::symlink_metadata(&place) {
        Ok(found) if found.is_file() => found.len(),
        _ => return Ok(None),
    };
    let mut start = Vec::new();
    File::open(&place).map_err(failed)?.take(8).read_to_end(&mut start).map_err(failed)?;
    let program = PROGRAMS.iter().any(|head| start.starts_with(head));
    Ok(if program {
        Some("is a program".to_owned())
    } else if executable {
        Some("may be executed (mode 100755)".to_owned())
    } else {
        (bytes > LIMIT).then(|| format!("has {bytes} bytes, more than {LIMIT}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(root: &Path, arguments: &[&str]) {
        let done = Command::new("git").args(arguments).current_dir(root).output().unwrap();
        assert!(done.status.success(), "{arguments:?}");
    }

    fn exception(path: &str, why: &str) -> Exception {
        Exception { path: path.to_owned(), why: why.to_owned() }
    }

    #[test]
    fn programs_and_large_files_are_refused_unless_they_have_a_reason() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let write = |name: &str, bytes: &[u8]| fs::write(root.join(name), bytes).unwrap();
        write("page.md", b"text");
        write("exact", &vec![b'a'; LIMIT as usize]);
        write("large", &vec![b'a'; LIMIT as usize + 1]);
        write("run", b"#!/bin/sh\n");
        write("elf", &fs::read(std::env::current_exe().unwrap()).unwrap()[..64]);
        write("macho", b"\xcf\xfa\xed\xfe\x0c\0\0\x01");
        write("untracked", b"\x7fELF");
        git(root, &["init", "-q"]);
        git(root, &["add", "page.md", "exact", "large", "run", "elf", "macho"]);
        git(root, &["update-index", "--chmod=+x", "run"]);
        let names = |exceptions: &[Exception]| -> Vec<String> {
            let lines = refused(root, exceptions).unwrap();
            lines.iter().map(|l| l.split(' ').next().unwrap().to_owned()).collect()
        };
        assert_eq!(names(&[]), ["elf", "large", "macho", "run"]);
        let lines = refused(root, &[]).unwrap();
        assert!(lines[0].starts_with("elf is a program; remove it"), "{lines:?}");
        assert!(lines[1].contains("300001 bytes"), "{lines:?}");
        assert!(lines[3].contains("100755"), "{lines:?}");
        assert_eq!(
            names(&[exception("run", "CI"), exception("large", "")])[..3],
            ["elf", "large", "macho"]
        );
        let unused = refused(root, &[exception("page.md", "a page")]).unwrap();
        assert!(unused[4].contains("`page.md` needs no exception"), "{unused:?}");
    }
}
