//! Computes the digest of the sources that make and store runs: this crate, the workspace's crates
//! that it depends on, and the versions of all other dependencies in `Cargo.lock`.
//!
//! The compiler, its options and the platform are not covered: results do not depend on them.
//! Outside of the workspace, in a package from a registry, only the version is covered.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use toml::Table;

/// Start of the names of the workspace's crates; the rest is the name of the folder.
const OURS: &str = "lowtide-";

/// A dependency without effect on the rows of a run.
const WITHOUT_EFFECT: &str = "lowtide-charts";

fn main() {
    let mut hasher = blake3::Hasher::new();
    hasher.update(env!("CARGO_PKG_VERSION").as_bytes());
    println!("cargo::rerun-if-changed=build.rs");
    let lock = Path::new("../../Cargo.lock");
    if lock.exists() && Path::new("../record/Cargo.toml").exists() {
        for name in crates() {
            let folder = Path::new("..").join(name.trim_start_matches(OURS));
            for file in files(&folder.join("src")) {
                println!("cargo::rerun-if-changed={}", file.display());
                hasher.update(file.display().to_string().replace('\\', "/").as_bytes());
                hasher.update(&without_carriage_returns(&file));
            }
        }
        println!("cargo::rerun-if-changed={}", lock.display());
        for package in locked(lock) {
            hasher.update(package.as_bytes());
        }
    }
    let digest = hasher.finalize().to_hex();
    println!("cargo::rustc-env=LOWTIDE_SOURCES={}", &digest.as_str()[..16]);
}

fn table(path: &Path) -> Table {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.parse().unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Returns the names of the workspace's crates that this crate needs, and its own.
fn crates() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut next = vec![env!("CARGO_PKG_NAME").to_owned()];
    while let Some(name) = next.pop() {
        if name == WITHOUT_EFFECT || !found.insert(name.clone()) {
            continue;
        }
        let manifest = Path::new("..").join(name.trim_start_matches(OURS)).join("Cargo.toml");
        println!("cargo::rerun-if-changed={}", manifest.display());
        let manifest = table(&manifest);
        let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
        let names = dependencies.into_iter().flat_map(Table::keys);
        next.extend(names.filter(|name| name.starts_with(OURS)).cloned());
    }
    found
}

/// Returns the files below `folder`, in the order of their names.
fn files(folder: &Path) -> Vec<PathBuf> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
    paths.sort();
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    paths.into_iter().flat_map(below).collect()
}

/// Reads a file; git may have changed its line ends.
fn without_carriage_returns(path: &Path) -> Vec<u8> {
    let mut content = fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    content.retain(|byte| *byte != b'\r');
    content
}

/// Returns name, version and checksum of the packages that this crate needs, by `Cargo.lock`.
fn locked(lock: &Path) -> BTreeSet<String> {
    let lock = table(lock);
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let text = |table: &Table, key: &str| {
        table.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_owned()
    };
    let mut by_name: BTreeMap<String, Vec<&Table>> = BTreeMap::new();
    for package in packages.into_iter().flatten().filter_map(toml::Value::as_table) {
        by_name.entry(text(package, "name")).or_default().push(package);
    }
    let mut found = BTreeSet::new();
    let mut next = vec![env!("CARGO_PKG_NAME").to_owned()];
    while let Some(wanted) = next.pop() {
        // The version is stated only if there are several.
        let (name, version) = wanted.split_once(' ').unwrap_or((&wanted, ""));
        for package in by_name.get(name).into_iter().flatten() {
            let found_version = text(package, "version");
            let line = format!("{name} {found_version} {}\n", text(package, "checksum"));
            if !found_version.starts_with(version) || !found.insert(line) {
                continue;
            }
            let needs = package.get("dependencies").and_then(toml::Value::as_array);
            next.extend(needs.into_iter().flatten().filter_map(|d| d.as_str()).map(str::to_owned));
        }
    }
    found
}
