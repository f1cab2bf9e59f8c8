//! `docs/reference/reproduction.md` and `docs/reference/papers/` match the files of claims.

use std::collections::BTreeSet;
use std::path::Path;

use lowtide_papers::{paper_pages, scorecard};

/// Compares a page below `docs/reference/` with its text, and writes it on request.
fn check(page: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(page);
    if std::env::var_os("LOWTIDE_WRITE_DOCS").is_some() {
        std::fs::write(&path, text).expect("it can be written");
    }
    let current = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(current, text, "{page} is stale: regenerate it");
}

#[test]
fn the_scorecard_matches_the_files_of_claims() {
    check("reproduction.md", &scorecard().expect("the files of claims are right"));
}

#[test]
fn the_scorecard_pages_of_the_papers_match_the_files_of_claims() {
    let pages = paper_pages().expect("the files of claims are right");
    for (file, text) in &pages {
        check(&format!("papers/{file}"), text);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/papers");
    let on_disk: BTreeSet<String> = std::fs::read_dir(folder)
        .expect("the folder of the pages")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    let known: BTreeSet<String> = pages.keys().map(|file| (*file).to_owned()).collect();
    assert_eq!(on_disk, known, "a page without a paper");
}
