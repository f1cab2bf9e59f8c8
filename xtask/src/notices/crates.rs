//! The third-party crates that the packages link, from `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::Component;

/// The crates that the packages are built from: the command and the Python module.
const ROOTS: [&str; 2] = ["lowtide", "lowtide-python"];
/// The system of all packages. Linux on other processors links the same crates.
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// Beginnings of the names of licence files, in lower case.
const LICENCE_FILES: [&str; 6] = ["licen", "unlicen", "copying", "copyright", "notice", "authors"];
/// Folders of a crate that no package contains.
const UNUSED_FOLDERS: [&str; 6] = [".github", "benches", "examples", "fuzz", "scripts", "tests"];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    authors: Vec<String>,
    manifest_path: PathBuf,
    /// Absent for the crates of this workspace.
    source: Option<String>,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    /// `dev` or `build`; absent for a normal dependency.
    kind: Option<String>,
}

/// Returns the linked crates by name and version. Of a procedural macro the crate itself is
/// included, since it writes code, but not what it is built from.
pub(super) fn linked(root: &Path) -> Result<Vec<Component>, String> {
    let metadata = metadata(root)?;
    let packages: BTreeMap<&str, &Package> =
        metadata.packages.iter().map(|p| (p.id.as_str(), p)).collect();
    let nodes: BTreeMap<&str, &Node> =
        metadata.resolve.nodes.iter().map(|n| (n.id.as_str(), n)).collect();
    let mut todo: Vec<&str> = metadata
        .packages
        .iter()
        .filter(|p| p.source.is_none() && ROOTS.contains(&p.name.as_str()))
        .map(|p| p.id.as_str())
        .collect();
    let mut seen = BTreeSet::new();
    let mut components = Vec::new();
    while let Some(id) = todo.pop() {
        let (Some(package), Some(node)) = (packages.get(id), nodes.get(id)) else { continue };
        if !seen.insert(id) {
            continue;
        }
        if package.source.is_some() {
            components.push(component(root, package)?);
        }
        if package.targets.iter().any(|t| t.kind.iter().any(|k| k == "proc-macro")) {
            continue;
        }
        let normal =
            |dependency: &&Dependency| dependency.dep_kinds.iter().any(|k| k.kind.is_none());
        todo.extend(node.deps.iter().filter(normal).map(|d| d.pkg.as_str()));
    }
    components.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(components)
}

fn metadata(root: &Path) -> Result<Metadata, String> {
    let arguments = ["metadata", "--format-version", "1", "--locked", "--filter-platform", TARGET];
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(root)
        .output()
        .map_err(|e| format!("cannot run cargo: {e}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|e| format!("the answer of cargo: {e}"))
}

fn component(root: &Path, package: &Package) -> Result<Component, String> {
    let Package { name, version, .. } = package;
    let licence = package
        .license
        .clone()
        .ok_or_else(|| format!("{name} {version} states no licence: name it in {}", file!()))?;
    let folder = package.manifest_path.parent().unwrap_or(root);
    let mut files = Vec::new();
    licence_files(folder, &mut files)?;
    files.sort();
    let mut texts = Vec::new();
    let mut has_own = false;
    for path in &files {
        let text = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let text = String::from_utf8_lossy(&text).into_owned();
        // A single word is a symbolic link to a file outside of the crate, packed as text.
        if text.split_whitespace().nth(1).is_some() {
            has_own |= path.parent() == Some(folder);
            texts.push(text);
        }
    }
    // A crate without a licence in its own folder may have one of a part.
    if !has_own {
        texts.push(standard_text(root, package, &licence)?);
    }
    Ok(Component { name: name.clone(), version: version.clone(), licence, texts })
}

fn licence_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("{}: {e}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().to_lowercase();
        if path.is_dir() {
            if !UNUSED_FOLDERS.contains(&name.as_str()) {
                licence_files(&path, files)?;
            }
        } else if LICENCE_FILES.iter().any(|start| name.starts_with(start))
            && !path.extension().is_some_and(|e| e == "rs" || e == "py" || e == "c" || e == "h")
        {
            files.push(path);
        }
    }
    Ok(())
}

/// The text of the licence of a crate that has none: ours, with the authors of the crate.
fn standard_text(root: &Path, package: &Package, licence: &str) -> Result<String, String> {
    let read = |name: &str| {
        fs::read_to_string(root.join(name)).map_err(|e| format!("cannot read {name}: {e}"))
    };
    let terms: Vec<&str> = licence.split([' ', '/', '(', ')']).collect();
    if terms.contains(&"AND") || terms.contains(&"WITH") {
        let Package { name, version, .. } = package;
        return Err(format!("{name} {version} ({licence}) has no licence file"));
    }
    if terms.contains(&"MIT") {
        let text = read("LICENSE-MIT")?;
        let authors = if package.authors.is_empty() {
            format!("The authors of {}", package.name)
        } else {
            package.authors.join(", ")
        };
        let lines = text.lines().map(|line| {
            if line.starts_with("Copyright (c)") {
                format!("Copyright (c) {authors}\n")
            } else {
                format!("{line}\n")
            }
        });
        return Ok(lines.collect());
    }
    if terms.contains(&"Apache-2.0") {
        return read("LICENSE-APACHE");
    }
    let Package { name, version, .. } = package;
    Err(format!("{name} {version} ({licence}) has no licence file"))
}
