//! Replays every input of the fuzzers' corpora.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "tests print what they measured")]

use std::fs;
use std::path::{Path, PathBuf};

use lowtide_trial::TARGETS;

fn corpus(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target)
}

/// Replays the folder of one target; on a panic the test's output names the file.
fn replay(name: &str) {
    let target = TARGETS.iter().find(|t| t.name == name).expect("a target of that name");
    let mut files: Vec<PathBuf> = fs::read_dir(corpus(name))
        .expect("a corpus for each target")
        .map(|entry| entry.expect("a folder that can be read").path())
        .collect();
    files.sort();
    assert!(files.len() >= 20, "{} inputs are no corpus of `{name}`", files.len());
    for path in files {
        println!("{}", path.display());
        let data = fs::read(&path).expect("a file that can be read");
        (target.run)(&data);
        // Targets are deterministic; the first half of an input is an input as well.
        (target.run)(&data[..data.len() / 2]);
    }
}

#[test]
fn scenario() {
    replay("scenario");
}

#[test]
fn segments() {
    replay("segments");
}

#[test]
fn wire() {
    replay("wire");
}

#[test]
fn every_target_has_its_fuzzer() {
    for target in TARGETS {
        let path = corpus("..").join("fuzz_targets").join(target.name).with_extension("rs");
        let text = fs::read_to_string(&path).expect("a fuzz target of that name");
        assert!(text.contains(&format!("lowtide_trial::{}::run", target.name)));
    }
}
