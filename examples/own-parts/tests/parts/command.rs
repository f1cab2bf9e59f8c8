//! Runs the command of this crate.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns the output of the command with these arguments, whether it fails or not.
pub(crate) fn output(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_own-parts")).args(args).output().expect("it runs")
}

/// Runs the command, which must succeed.
pub(crate) fn lowtide(args: &[&str]) -> Output {
    let output = output(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Returns what the command prints; it must succeed.
pub(crate) fn stdout(args: &[&str]) -> String {
    String::from_utf8_lossy(&lowtide(args).stdout).into_owned()
}

/// Returns the path of a result directory that does not exist.
pub(crate) fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    dir
}
