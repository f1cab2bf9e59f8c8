//! Layers: a crate depends only on crates above it in the table of
//! `docs/explanation/architecture.md`.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Lowest first, as in the table of `docs/explanation/architecture.md`.
const ORDER: [&str; 36] = [
    "lowtide-units",
    "lowtide-input-files",
    "lowtide-schema",
    "lowtide-output",
    "lowtide-switch-config",
    "lowtide-rows",
    "lowtide-wire",
    "lowtide-charts",
    "lowtide-typeset",
    "lowtide-analysis",
    "lowtide-congestion",
    "lowtide-tcp",
    "lowtide-conformance",
    "lowtide-sockets",
    "lowtide-packetdrill",
    "lowtide-sim",
    "lowtide-net",
    "lowtide-traffic",
    "lowtide-host",
    "lowtide-scenario",
    "lowtide-record",
    "lowtide-lab",
    "lowtide-papers",
    "lowtide-deployment",
    "lowtide-packet-ring",
    "lowtide-live",
    "lowtide-bottleneck",
    "lowtide-kernel",
    "lowtide-uml",
    "lowtide-testbed",
    "lowtide",
    "lowtide-python",
    "own-parts",
    "lowtide-trial",
    "lowtide-test-needs",
    "lowtide-interop",
];

/// Dependencies that the order allows but the design forbids.
const FORBIDDEN: [(&str, &str); 9] = [
    ("lowtide-sim", "lowtide-tcp"),
    ("lowtide-sim", "lowtide-wire"),
    ("lowtide-net", "lowtide-tcp"),
    ("lowtide-traffic", "lowtide-tcp"),
    ("lowtide-traffic", "lowtide-net"),
    ("lowtide-record", "lowtide-tcp"),
    ("lowtide-live", "lowtide-lab"),
    ("lowtide-bottleneck", "lowtide-lab"),
    ("lowtide-bottleneck", "lowtide-tcp"),
];

/// Output of `cargo metadata` with further arguments.
pub(crate) fn metadata(args: &[&str]) -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline"])
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON")
}

/// Pairs of package and dependency, without development dependencies.
fn edges() -> Vec<(String, String)> {
    let metadata = metadata(&["--no-deps"]);
    let mut edges = Vec::new();
    for package in metadata["packages"].as_array().expect("packages") {
        let name = package["name"].as_str().expect("a name").to_string();
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            if dependency["kind"].is_null() {
                edges
                    .push((name.clone(), dependency["name"].as_str().expect("a name").to_string()));
            }
        }
    }
    edges
}

#[test]
fn imports_go_one_way() {
    let rank = |name: &str| ORDER.iter().position(|n| *n == name);
    let edges = edges();
    assert!(edges.iter().any(|(a, b)| a == "lowtide-host" && b == "lowtide-tcp"), "{edges:?}");
    for (from, to) in &edges {
        if let (Some(a), Some(b)) = (rank(from), rank(to)) {
            assert!(b < a, "{from} must not import {to}");
        }
        assert!(!FORBIDDEN.contains(&(from.as_str(), to.as_str())), "{from} must never know {to}");
    }
}

#[test]
fn only_record_links_parquet_and_only_python_arrow() {
    for (from, to) in edges() {
        if to == "parquet" {
            assert_eq!(from, "lowtide-record", "{to}");
        }
        if to.starts_with("arrow") {
            assert_eq!(from, "lowtide-python", "{to}");
        }
    }
}

#[test]
fn every_crate_has_its_place() {
    let metadata = metadata(&["--no-deps"]);
    for package in metadata["packages"].as_array().expect("packages") {
        let name = package["name"].as_str().expect("a name");
        assert!(
            name == "xtask" || ORDER.contains(&name),
            "{name} is not in docs/explanation/architecture.md"
        );
    }
}

/// Collects the Rust files below `folder`.
pub(crate) fn rust_files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            rust_files(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

/// With `harness = false` the compiler drops functions with `#[test]` without a warning.
#[test]
fn own_harnesses_list_their_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut checked = 0;
    for package in root.read_dir().expect("a folder") {
        let package = package.expect("an entry").path();
        let manifest = std::fs::read_to_string(package.join("Cargo.toml")).unwrap_or_default();
        for target in manifest.split("[[test]]").skip(1).filter(|t| t.contains("harness = false")) {
            let name = target.split('"').nth(1).expect("a name in quotes");
            let mut all = Vec::new();
            rust_files(&package.join("tests").join(name), &mut all);
            for path in all {
                let text = std::fs::read_to_string(&path).expect("code is text");
                let attribute = concat!("#[", "test]");
                assert!(!text.contains(attribute), "{}: list it in `main`", path.display());
                checked += 1;
            }
        }
    }
    assert!(checked > 20, "{checked} files");
}
