//! Size of a build of the command: its packages, and the bytes of the stripped program.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Number of packages of the command with default features on this system, build dependencies
/// included.
pub(crate) fn packages(root: &Path) -> Result<u64, String> {
    let arguments = ["tree", "--locked", "-p", "lowtide", "-e", "normal,build", "--prefix", "none"];
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(root)
        .output()
        .map_err(|e| format!("cannot run cargo: {e}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    Ok(count(&String::from_utf8_lossy(&output.stdout)))
}

/// Distinct packages of `cargo tree`, which repeats them with `(*)`.
fn count(tree: &str) -> u64 {
    let package = |line: &str| Some(line.split_once(' ')?.0.to_owned() + line.split(' ').nth(1)?);
    tree.lines().filter_map(package).collect::<BTreeSet<_>>().len() as u64
}

/// Bytes of the stripped command of a profile; none if it was not built, or `strip` is missing.
pub(crate) fn stripped_bytes(root: &Path, profile: &str) -> Result<Option<u64>, String> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let folder = target.join(profile);
    let (program, out) = (folder.join("lowtide"), folder.join("lowtide.stripped"));
    if !program.exists() {
        return Ok(None);
    }
    let Ok(done) = Command::new("strip").arg("-o").arg(&out).arg(&program).output() else {
        println!("         `strip` is missing, so {} is not measured", program.display());
        return Ok(None);
    };
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).trim().to_owned());
    }
    let failed = |e: std::io::Error| format!("{}: {e}", out.display());
    let bytes = fs::metadata(&out).map_err(failed)?.len();
    fs::remove_file(&out).map_err(failed)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_count_once() {
        let tree = "lowtide v0.1.0 (/x)\nclap v4.6.0\nsyn v2.0.1 (proc-macro)\n\nclap v4.6.0 (*)\n\
                    syn v3.0.0\nlowtide v0.1.0 (/x) (*)\n";
        assert_eq!(count(tree), 4);
    }
}
