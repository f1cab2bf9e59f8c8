//! Every file below `tests/` is part of a test target. The compiler ignores files that no `mod`
//! names.

use std::fs;
use std::path::{Path, PathBuf};

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries {
        let path = entry.expect("a directory that can be read").path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

/// Files that may declare the module at `path`.
fn parents(path: &Path) -> [PathBuf; 3] {
    let dir = path.parent().expect("it lies in a directory");
    [dir.join("main.rs"), dir.join("mod.rs"), dir.with_extension("rs")]
}

fn is_named(path: &Path) -> bool {
    let stem = path.file_stem().expect("a file has a name").to_string_lossy();
    let line = format!("mod {stem};");
    let mut texts = parents(path).into_iter().filter_map(|parent| fs::read_to_string(parent).ok());
    texts.any(|text| text.lines().any(|l| l.trim_start_matches("pub(crate) ") == line))
}

#[test]
fn every_file_of_the_tests_is_compiled() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seen = 0;
    for group in ["crates", "examples"] {
        for package in fs::read_dir(root.join(group)).expect("the workspace") {
            let tests = package.expect("a package").path().join("tests");
            let mut found = Vec::new();
            files(&tests, &mut found);
            // Cargo finds these files, and the roots of directories, automatically.
            found.retain(|f| {
                f.parent() != Some(&tests) && !f.ends_with("main.rs") && !f.ends_with("mod.rs")
            });
            seen += found.len();
            for file in found {
                assert!(is_named(&file), "{} is in no test: add its `mod`", file.display());
            }
        }
    }
    assert!(seen > 100, "{seen} files");
}

/// With `harness = false` the compiler drops functions with `#[test]` without a warning.
#[test]
fn own_harnesses_list_their_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut checked = 0;
    for package in root.read_dir().expect("a folder") {
        let package = package.expect("an entry").path();
        let manifest = fs::read_to_string(package.join("Cargo.toml")).unwrap_or_default();
        for target in manifest.split("[[test]]").skip(1).filter(|t| t.contains("harness = false")) {
            let name = target.split('"').nth(1).expect("a name in quotes");
            let mut all = Vec::new();
            files(&package.join("tests").join(name), &mut all);
            for path in all {
                let text = fs::read_to_string(&path).expect("code is text");
                let attribute = concat!("#[", "test]");
                assert!(!text.contains(attribute), "{}: list it in `main`", path.display());
                checked += 1;
            }
        }
    }
    assert!(checked > 20, "{checked} files");
}
