//! Results of another version or program: one sentence, status 2, nothing changed.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::process::{lowtide, stderr};

/// Completes a small run and returns its directory.
fn finished(temp: &Path) -> String {
    let dir = temp.join("out").display().to_string();
    let run = lowtide(&["-q", "run", "first-light", "-o", &dir]);
    assert!(run.status.success(), "{}", stderr(&run));
    dir
}

/// Checks that each command prints one sentence with all `parts`, ends with status 2 and keeps the
/// manifest.
fn refused(manifest: &Path, commands: &[&[&str]], parts: &[&str]) {
    let before = fs::read(manifest).expect("a manifest");
    for command in commands {
        let refused = lowtide(command);
        let said = stderr(&refused);
        assert_eq!(refused.status.code(), Some(2), "{command:?}: {said}");
        assert_eq!((said.lines().count(), refused.stdout.len()), (1, 0), "{command:?}: {said}");
        for part in parts {
            assert!(said.contains(part), "{command:?}: {said}");
        }
    }
    assert_eq!(fs::read(manifest).expect("a manifest"), before);
}

#[test]
fn every_command_refuses_results_of_another_version() {
    let temp = tempfile::tempdir().expect("a folder");
    let dir = finished(temp.path());
    let path = temp.path().join("out/manifest.json");
    let text = fs::read_to_string(&path).expect("a manifest");
    let mut manifest: Value = serde_json::from_str(&text).expect("JSON");
    // Other versions need not have the same hash.
    manifest.as_object_mut().expect("an object").remove("blake3");
    manifest["schema"] = json!("lowtide.manifest/1");
    fs::write(&path, manifest.to_string()).expect("written");
    let commands: &[&[&str]] = &[
        &["check", &dir],
        &["table", &dir, "runs"],
        &["compare", &dir, &dir],
        &["diff", &dir, &dir],
        &["report", &dir],
        &["merge", "nowhere", &dir],
        &["bundle", &dir],
        &["-q", "run", "first-light", "-o", &dir],
        &["explain", "--flow", "0", &dir],
    ];
    refused(&path, commands, &["`lowtide.manifest/1`", "read it with", "`--afresh`"]);
    let again = lowtide(&["-q", "run", "first-light", "--afresh", "-o", &dir]);
    assert!(again.status.success(), "the remedy: {}", stderr(&again));
}

#[test]
fn runs_do_not_go_into_results_of_another_scenario() {
    let temp = tempfile::tempdir().expect("a folder");
    let dir = finished(temp.path());
    let other = ["-q", "run", "first-light", "-s", "switch.mark.k=7 pkt", "-o", &dir];
    let parts = ["holds results of first-light", "another directory with -o"];
    refused(&temp.path().join("out/manifest.json"), &[&other], &parts);
}
