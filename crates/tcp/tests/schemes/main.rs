//! `docs/reference/schemes/`: pages generated from the registries, the schemes, the profiles, and
//! the module docs of every registered file. A test checks that they are current.

mod module;
mod pages;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/schemes")
}

/// Every file below `dir`, by its path from `root`.
fn files(root: &Path, dir: &Path, out: &mut BTreeMap<String, String>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            files(root, &path, out);
        } else {
            let name = path.strip_prefix(root).expect("below the root").display().to_string();
            out.insert(name, fs::read_to_string(&path).expect("text"));
        }
    }
}

#[test]
fn the_pages_are_current() {
    let (root, pages) = (folder(), pages::all());
    let mut there = BTreeMap::new();
    files(&root, &root, &mut there);
    if std::env::var_os("LOWTIDE_WRITE_DOCS").is_some() {
        for name in there.keys().filter(|name| !pages.contains_key(*name)) {
            fs::remove_file(root.join(name)).expect("an old page");
        }
        for (name, text) in &pages {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a page");
        }
        return;
    }
    let names = |map: &BTreeMap<String, String>| map.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&there), names(&pages), "write them anew: cargo xtask docs");
    for (name, text) in &pages {
        assert_eq!(&there[name], text, "{name} is stale: cargo xtask docs");
    }
}

#[test]
fn links_resolve() {
    if std::env::var_os("LOWTIDE_WRITE_DOCS").is_some() {
        // The pages are being written.
        return;
    }
    for (name, text) in &pages::all() {
        let here = folder().join(name).parent().expect("a folder").to_owned();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            assert!(here.join(link).is_file(), "{name}: {link}");
        }
    }
}
