//! One crate opens the files that people, scenarios and archives name: `lowtide-input-files`. All
//! other product code that opens a file is listed here with the files that it opens.

use std::fs::read_to_string;
use std::path::Path;

use crate::workspace::rust_files;

/// Calls that open a file for reading.
const CALLS: [&str; 5] =
    ["fs::read(", "fs::read_to_string(", "File::open(", "File::options(", "OpenOptions::new("];

/// Crates and files that open others, by the start of their path in `crates`.
const OTHERS: [(&str, &str); 8] = [
    ("cli/src/cmd/kernel.rs", "what the kernel tells about ECN"),
    ("cli/src/machine.rs", "what the kernel tells about memory and control groups"),
    ("input-files/", "all others"),
    ("kernel/", "control groups, BPF file systems and what the kernel tells"),
    ("lab/src/bench/", "what the kernel tells about the process"),
    ("live/", "devices, network namespaces and what the kernel tells"),
    ("test-needs/", "devices; no product code"),
    ("testbed/", "its own state and what the kernel tells"),
];

/// The part of a file before its tests, without comments.
fn product_lines(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//"))
}

#[test]
fn one_crate_opens_the_files_of_others() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut unused: Vec<&str> = OTHERS.iter().map(|(start, _)| *start).collect();
    let mut found = Vec::new();
    for package in crates.read_dir().expect("a folder") {
        let package = package.expect("an entry").path();
        let mut files = Vec::new();
        rust_files(&package.join("src"), &mut files);
        for path in files {
            let text = read_to_string(&path).expect("code is text");
            let name = path.strip_prefix(&crates).expect("a crate").display().to_string();
            let opens = product_lines(&text).any(|line| CALLS.iter().any(|c| line.contains(c)));
            if !opens || path.to_string_lossy().ends_with("/tests.rs") {
                continue;
            }
            match OTHERS.iter().find(|(start, _)| name.starts_with(start)) {
                Some((start, _)) => unused.retain(|s| s != start),
                None => found.push(name),
            }
        }
    }
    assert!(found.is_empty(), "open files with `lowtide_input_files`: {found:?}");
    assert!(unused.is_empty(), "no longer opens files: {unused:?}");
}
