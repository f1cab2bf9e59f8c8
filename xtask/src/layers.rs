//! Layers: crates and the files of a crate import one way. Each crate is in a wing, and
//! `docs/explanation/architecture.md` lists them by wing.

mod files;
mod modules;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Every crate, lowest first.
const ORDER: [&str; 38] = [
    "lowtide-units",
    "lowtide-input-files",
    "lowtide-schema",
    "lowtide-output",
    "lowtide-switch-config",
    "lowtide-rows",
    "lowtide-wire",
    "lowtide-stats",
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
    "lowtide-sizing",
    "lowtide-papers",
    "lowtide-deployment",
    "lowtide-packet-ring",
    "lowtide-live",
    "lowtide-bottleneck",
    "lowtide-kernel",
    "lowtide-testbed",
    "lowtide",
    "lowtide-python",
    "own-parts",
    "lowtide-trial",
    "lowtide-test-needs",
    "lowtide-interop",
    "xtask",
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

/// The page with the table of crates.
const PAGE: &str = "docs/explanation/architecture.md";

/// The wings in the order of the page, and those from which each may import.
const WINGS: [(&str, &[&str]); 5] = [
    ("core", &["core"]),
    ("simulator", &["core", "simulator"]),
    ("study", &["core", "simulator", "study", "real"]),
    ("real", &["core", "simulator", "study", "real"]),
    ("testing", &["core", "simulator", "study", "real", "testing"]),
];

/// A crate of the workspace.
struct Package {
    name: String,
    /// Folder from the root, without `crates/`: its name on the page.
    folder: String,
    /// As its manifest says; empty if it says none.
    wing: String,
    /// Without development dependencies.
    dependencies: Vec<String>,
}

/// All crates, in the order of [`ORDER`].
fn packages() -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(crate::root())
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let package = |package: &Value| {
        let manifest = text(&package["manifest_path"]);
        let folder = Path::new(&manifest).parent().expect("a folder");
        let folder = folder.strip_prefix(crate::root()).expect("a folder of the repository");
        let folder = folder.strip_prefix("crates").unwrap_or(folder).display().to_string();
        let all = package["dependencies"].as_array().expect("a list");
        let dependencies = all.iter().filter(|d| d["kind"].is_null()).map(|d| text(&d["name"]));
        Package {
            name: text(&package["name"]),
            folder,
            wing: text(&package["metadata"]["lowtide"]["wing"]),
            dependencies: dependencies.collect(),
        }
    };
    let mut all: Vec<Package> =
        metadata["packages"].as_array().expect("a list").iter().map(package).collect();
    all.sort_by_key(|p| rank(&p.name));
    all
}

fn rank(name: &str) -> Option<usize> {
    ORDER.iter().position(|known| *known == name)
}

#[test]
fn crates_import_one_way() {
    let all = packages();
    let has =
        |p: &Package| p.name == "lowtide-host" && p.dependencies.contains(&"lowtide-tcp".into());
    assert!(all.iter().any(has), "the dependencies are read");
    for Package { name, dependencies, wing, .. } in &all {
        let place = rank(name);
        assert!(place.is_some(), "{name} has no place in ORDER");
        for to in dependencies {
            let Some(other) = all.iter().find(|p| p.name == *to) else { continue };
            assert!(rank(to) < place, "{name} must not import {to}, which is not below it");
            assert!(!FORBIDDEN.contains(&(name, to)), "{name} must never know {to}");
            let allowed = WINGS.iter().find(|(known, _)| known == wing).map_or(&[][..], |w| w.1);
            assert!(
                allowed.contains(&other.wing.as_str()),
                "{name} is in the wing `{wing}` and must not import {to}, which is in `{}`",
                other.wing
            );
        }
    }
}

#[test]
fn only_record_links_parquet_and_only_python_arrow() {
    for Package { name, dependencies, .. } in packages() {
        for to in dependencies {
            if to == "parquet" {
                assert_eq!(name, "lowtide-record", "{to}");
            }
            if to.starts_with("arrow") {
                assert_eq!(name, "lowtide-python", "{to}");
            }
        }
    }
}

/// The rows of the table of crates: wing and crate. A row with one cell in bold begins a wing.
fn rows_of(page: &str) -> Vec<(String, String)> {
    let table = page.lines().skip_while(|line| !line.starts_with("| crate |")).skip(2);
    let mut wing = String::new();
    let mut rows = Vec::new();
    for line in table.take_while(|line| line.starts_with('|')) {
        let first = line.split('|').nth(1).unwrap_or_default().trim();
        match first.strip_prefix("**").and_then(|rest| rest.split("**").next()) {
            Some(name) => name.clone_into(&mut wing),
            None => rows.push((wing.clone(), first.trim_matches('`').to_owned())),
        }
    }
    rows
}

#[test]
fn the_page_lists_every_crate_by_its_wing_lowest_first() {
    let page = fs::read_to_string(crate::root().join(PAGE)).expect("the page");
    let all = packages();
    let of_wing = |wing: &'static str| {
        all.iter().filter(move |p| p.wing == wing).map(move |p| (wing.to_owned(), p.folder.clone()))
    };
    for Package { name, wing, .. } in &all {
        let known = WINGS.map(|(wing, _)| wing);
        assert!(known.contains(&wing.as_str()), "{name}: its wing is `{wing}`, not of {known:?}");
    }
    let expected: Vec<_> = WINGS.iter().flat_map(|(wing, _)| of_wing(wing)).collect();
    assert_eq!(rows_of(&page), expected, "{PAGE}");
}

#[test]
fn rows_are_read_by_wing() {
    let page = "| crate | holds |\n|---|---|\n| **core** | |\n| `units` | times |\n| **real** | |\n\
                | `live` | devices |\n\n| `no` | row |\n";
    let rows = rows_of(page);
    let row = |wing: &str, name: &str| (wing.to_owned(), name.to_owned());
    assert_eq!(rows, [row("core", "units"), row("real", "live")]);
}
