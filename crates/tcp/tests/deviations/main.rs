//! `docs/reference/deviations.md`: every source file that states a deviation is on it, none twice;
//! and the module docs of which the site makes the page of each registered file.

use std::fs;
use std::path::{Path, PathBuf};

use lowtide_tcp::{ack, cc, feedback};

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/deviations.md");
    fs::read_to_string(path).expect("docs/reference/deviations.md")
}

/// Files under `dir` that mention a deviation.
fn deviating(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            deviating(&path, out);
        } else if fs::read_to_string(&path).expect("text").contains("Deviation") {
            out.push(path);
        }
    }
}

#[test]
fn every_file_that_deviates_is_named_on_the_page() {
    let text = page();
    for folder in ["src", "../congestion/src"] {
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let mut files = Vec::new();
        deviating(&src, &mut files);
        assert!(files.len() > 5, "{files:?}");
        for file in files {
            let name = file.strip_prefix(&src).unwrap().to_str().unwrap();
            assert!(text.contains(&format!("`{name}`")), "{name} deviates and is not on the page");
        }
    }
}

/// The cells of every row of the tables, with the heading above them.
fn rows_of_tables(text: &str) -> Vec<(String, Vec<String>)> {
    let mut heading = String::new();
    let mut rows = Vec::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            title.clone_into(&mut heading);
        } else if let Some(row) = line.strip_prefix('|').filter(|row| !row.starts_with("---")) {
            let cells = row.trim_end_matches('|').split(" | ").map(|c| c.trim().to_owned());
            rows.push((heading.clone(), cells.collect()));
        }
    }
    rows
}

#[test]
fn no_deviation_is_listed_twice() {
    let text = page();
    let rows = rows_of_tables(&text);
    assert!(rows.len() > 60, "{} rows", rows.len());
    let mut seen = std::collections::BTreeSet::new();
    let mut twice = Vec::new();
    for (heading, cells) in &rows {
        let [place, what, rest @ ..] = &cells[..] else { panic!("a row of one cell: {cells:?}") };
        // A row that was edited in one of two places differs in `what` alone.
        for key in [vec![what.clone()], rest.to_vec()] {
            if key.iter().any(|cell| cell.len() > 12)
                && !seen.insert((heading.clone(), place.clone(), key))
            {
                twice.push(format!("{place}: {what}"));
            }
        }
    }
    assert_eq!(twice, Vec::<String>::new());
}

#[test]
fn every_registered_file_has_the_sections_of_its_page() {
    let names = |folder: &'static str, names: Vec<&'static str>| {
        names.into_iter().map(move |name| format!("{folder}/{}.rs", name.replace('-', "_")))
    };
    let files = names("cc", cc::REGISTRY.names())
        .chain(names("ack", ack::REGISTRY.names()))
        .chain(names("feedback", feedback::REGISTRY.names()));
    for file in files {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../congestion/src").join(&file);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
        for section in ["Algorithm", "Spec", "Deviations", "Kernel twin"] {
            assert!(text.contains(&format!("\n//! ## {section}\n")), "{file} lacks `{section}`");
        }
    }
}
