//! Lines of product code, without tests, blank lines and comments; and the size of a build.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::limits::Limits;
use crate::{build_size, source};

/// Prints the lines of every crate, the packages of the default build and the bytes of built
/// commands; fails if one is above its limit.
pub(crate) fn run(root: &Path) -> Result<ExitCode, String> {
    let limits = Limits::read(root)?;
    let mut crates = Vec::new();
    for folder in children(&root.join("crates"))?.into_iter().chain([root.join("xtask")]) {
        let name = folder.strip_prefix(root).unwrap_or(&folder).display().to_string();
        crates.push((product_lines(&folder.join("src"))? as u64, name));
    }
    crates.sort_by(|a, b| b.cmp(a));
    let mut held = Vec::new();
    for (lines, name) in &crates {
        println!("{lines:>10}  {name}");
        held.push(limits.hold("lines-of-a-crate", &format!("lines of {name}"), *lines));
    }
    let all = crates.iter().map(|(lines, _)| lines).sum();
    println!("{all:>10}  all");
    held.push(limits.hold("lines", "lines of all crates", all));
    let packages = build_size::packages(root)?;
    println!("{packages:>10}  packages of the default build");
    held.push(limits.hold("crates-of-the-build", "packages of the default build", packages));
    for profile in ["release", "dist"] {
        let Some(bytes) = build_size::stripped_bytes(root, profile)? else { continue };
        println!("{bytes:>10}  bytes of the command, profile {profile}, stripped");
        let what = format!("bytes of the command, profile {profile}");
        held.push(limits.hold(&format!("binary-{profile}"), &what, bytes));
    }
    let above: Vec<String> = held.into_iter().filter_map(Result::err).collect();
    for line in &above {
        eprintln!("{line}");
    }
    Ok(if above.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Lines of product code below `src`.
fn product_lines(src: &Path) -> Result<usize, String> {
    let mut files = Vec::new();
    rust_files(src, &mut files)?;
    let mut lines = Vec::new();
    let mut tests = BTreeSet::new();
    for file in &files {
        let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
        let source = source::read(&text).map_err(|e| format!("{}: {e}", file.display()))?;
        let folder = module_folder(file);
        tests.extend(source.test_modules.iter().map(|module| folder.join(module)));
        lines.push((file, source.product.len()));
    }
    let is_test = |file: &Path| {
        file.ancestors()
            .any(|part| tests.contains(part) || tests.contains(&part.with_extension("")))
    };
    Ok(lines.iter().filter(|(file, _)| !is_test(file)).map(|(_, lines)| lines).sum())
}

/// The folder of the modules that `file` declares.
pub(crate) fn module_folder(file: &Path) -> PathBuf {
    let root = file
        .file_name()
        .is_some_and(|name| ["lib.rs", "main.rs", "mod.rs"].iter().any(|known| name == *known));
    if root { file.parent().unwrap_or(file).to_path_buf() } else { file.with_extension("") }
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    for path in children(folder)? {
        if path.is_dir() {
            rust_files(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// The entries of `folder`, sorted.
fn children(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(|e| format!("{}: {e}", folder.display()))?.path());
    }
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_test_modules_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let src = folder.path();
        let write = |name: &str, text: &str| fs::write(src.join(name), text).unwrap();
        fs::create_dir_all(src.join("part/tests")).unwrap();
        write("lib.rs", "mod part;\n#[cfg(test)]\nmod tests;\n");
        write("tests.rs", "fn a() {}\n");
        write("part.rs", "// About.\nfn b() {}\n\n#[cfg(test)]\nmod tests;\n");
        write("part/tests.rs", "mod deep;\n");
        write("part/tests/deep.rs", "fn c() {}\n");
        // `mod part;` and `fn b() {}`.
        assert_eq!(product_lines(src).unwrap(), 2);
    }
}
