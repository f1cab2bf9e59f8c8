//! Only the crates that `docs/explanation/architecture.md` lists with a reason may contain unsafe
//! code.

use std::collections::BTreeSet;
use std::fs::read_to_string;
use std::path::Path;

use crate::workspace::{metadata, rust_files};

/// Whether a manifest takes the workspace's lints. Cargo then allows no exception in it, and code
/// cannot lift `forbid`.
fn has_workspace_lints(manifest: &str) -> bool {
    let section = manifest.split_once("\n[lints]\n").map_or("", |(_, section)| section);
    section.lines().take_while(|l| !l.starts_with('[')).any(|l| l == "workspace = true")
}

#[test]
fn the_list_of_crates_with_unsafe_code_is_complete() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let workspace = read_to_string(root.join("Cargo.toml")).expect("a manifest");
    assert!(workspace.contains("\nunsafe_code = \"forbid\"\n"));

    let page = read_to_string(root.join("docs/explanation/architecture.md")).expect("a page");
    let (_, section) = page.split_once("\n## Unsafe code\n").expect("a section on unsafe code");
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let listed: BTreeSet<String> =
        rows.filter_map(|row| row.split('`').nth(1)).map(|n| format!("lowtide-{n}")).collect();

    let mut allowed = BTreeSet::new();
    for package in metadata(&["--no-deps"])["packages"].as_array().expect("packages") {
        let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
        if has_workspace_lints(&read_to_string(manifest).expect("a manifest")) {
            continue;
        }
        let name = package["name"].as_str().expect("a name");
        let mut files = Vec::new();
        rust_files(&manifest.with_file_name("src"), &mut files);
        let has_blocks = |path| read_to_string(path).expect("code is text").contains("unsafe {");
        assert!(
            files.iter().any(has_blocks),
            "{name} needs no separate lints: use the workspace's"
        );
        allowed.insert(name.to_owned());
    }
    assert_eq!(allowed, listed, "crates that may contain unsafe code, and those documented");
}
