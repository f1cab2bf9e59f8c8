//! `docs/reference/deviations.md`: the second half is generated from the switches and the profiles,
//! and a test checks it; every source file that states a deviation must be in the first half.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use lowtide_tcp::ValueKind;
use lowtide_tcp::profile::{self, Profile};
use lowtide_tcp::switches::{self, Setting, Side};

const MARK: &str = "<!-- What follows is made of the switches; a test keeps it so. -->\n";

fn page() -> (PathBuf, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/deviations.md");
    let text = fs::read_to_string(&path).expect("docs/reference/deviations.md");
    (path, text)
}

/// A cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn row(setting: &Setting, profiles: &[&Profile]) -> String {
    let name = setting.name();
    let mut meaning = setting.doc().to_owned();
    if let ValueKind::Name { refused, .. } = setting.kind() {
        for (value, why) in refused {
            let _ = write!(meaning, " Not here: `{value}`, {why}.");
        }
    }
    let mut sources = setting.source().to_owned();
    let mut values = Vec::new();
    for profile in profiles {
        values.push(setting.text(&profile.config().expect("a whole configuration")));
        if let Some(source) = profile.source(&name).filter(|s| *s != setting.source()) {
            let _ = write!(sources, "; {}: {source}", profile.name);
        }
    }
    format!("| `{name}` | {} | `{}` | {} |\n", cell(&meaning), values.join("` | `"), cell(&sources))
}

fn tables() -> String {
    let profiles = named(["rfc", "linux", "freebsd"]);
    let mut out = String::new();
    for (title, side, params) in [
        ("Sender", Side::Sender, false),
        ("Receiver", Side::Receiver, false),
        ("Connection", Side::Connection, false),
        ("Parameters of a control, decoder or policy: sender", Side::Sender, true),
        ("Parameters of a control, decoder or policy: receiver", Side::Receiver, true),
    ] {
        let rows: String = switches::all()
            .iter()
            .filter(|s| s.side() == side && matches!(s, Setting::Param { .. }) == params)
            .map(|s| row(s, &profiles))
            .collect();
        if rows.is_empty() {
            continue;
        }
        let head = "| choice | meaning | `rfc` | `linux` | `freebsd` | source |\n|---|---|---|---|---|---|";
        let _ = write!(out, "### {title}\n\n{head}\n{rows}\n");
    }
    let _ = write!(out, "### The DCTCP family\n\n{}", family());
    out
}

fn named<const N: usize>(names: [&str; N]) -> [&'static Profile; N] {
    names.map(|name| profile::REGISTRY.find(name).expect("a profile"))
}

/// Table of the differences between the DCTCP profiles.
fn family() -> String {
    let profiles = named(["sigcomm10", "rfc8257", "freebsd", "thesis-original", "thesis-modified"]);
    let configs = profiles.map(|p| p.config().expect("a whole configuration"));
    let mut out = "| choice |".to_owned();
    for profile in profiles {
        let _ = write!(out, " `{}` |", profile.name);
    }
    let _ = writeln!(out, "\n|---|---|---|---|---|---|");
    for setting in switches::all() {
        let values = configs.each_ref().map(|config| setting.text(config));
        if values.iter().any(|v| *v != values[0]) {
            let _ = writeln!(out, "| `{}` | `{}` |", setting.name(), values.join("` | `"));
        }
    }
    out
}

#[test]
fn the_page_lists_the_current_switches() {
    let (path, text) = page();
    let (head, tail) = text.split_once(MARK).unwrap();
    if std::env::var_os("LOWTIDE_WRITE_DOCS").is_some() {
        fs::write(&path, format!("{head}{MARK}{}", tables())).unwrap();
    } else {
        assert_eq!(tail, tables(), "write it anew: LOWTIDE_WRITE_DOCS=1 cargo test deviations");
    }
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
    let (_, text) = page();
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

/// The cells of every row of the handwritten tables, with the heading above them.
fn rows_by_hand(text: &str) -> Vec<(String, Vec<String>)> {
    let mut heading = String::new();
    let mut rows = Vec::new();
    for line in text.split(MARK).next().unwrap_or_default().lines() {
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
    let (_, text) = page();
    let rows = rows_by_hand(&text);
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
