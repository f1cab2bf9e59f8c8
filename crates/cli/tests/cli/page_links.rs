//! Links between files of the repository, as its readers follow them without the site.

use std::fs;
use std::path::{Path, PathBuf};

/// Targets of the links of a page, without headings and addresses; code is no link.
fn targets(page: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in page.lines() {
        if line.starts_with("```") {
            inside = !inside;
        }
        let parts = line.split("](").skip(1).filter(|_| !inside);
        for target in parts.filter_map(|rest| rest.split(')').next()) {
            let path = target.split('#').next().unwrap_or_default();
            if !path.is_empty() && !path.contains(':') {
                found.push(path.to_owned());
            }
        }
    }
    found
}

/// Pages of the repository.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            // Texts in `crates/papers/pages` become parts of pages in another folder.
            let skipped = path.ends_with("papers/pages")
                || ["target", "corpus", "runs", "node_modules"].contains(&name.as_str())
                || name.starts_with('.');
            if !skipped {
                pages(&path, found);
            }
        } else if path.extension().is_some_and(|kind| kind == "md") {
            found.push(path);
        }
    }
}

#[test]
fn every_link_of_a_page_leads_to_a_file() {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("a folder");
    let mut files = Vec::new();
    pages(&root, &mut files);
    assert!(files.len() > 60, "{} pages", files.len());
    let mut dead = Vec::new();
    for file in files {
        let folder = file.parent().unwrap_or(&root);
        for target in targets(&fs::read_to_string(&file).expect("text")) {
            if !folder.join(&target).exists() {
                dead.push(format!("{}: {target}", file.display()));
            }
        }
    }
    assert!(dead.is_empty(), "these links are dead:\n{}", dead.join("\n"));
}

#[test]
fn links_are_found_in_text() {
    let page = "[a](b.md#c) and [d](../e.rs), [f](https://g)\n```\n[x](y)\n```\n[z](#w)\n";
    assert_eq!(targets(page), ["b.md", "../e.rs"]);
}
