//! The pages for users: commands that they show, and pages that the repository names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

mod blocks;
mod packet_path;
mod transcript;

use transcript::{Step, run, transcript};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// Runs the transcripts of pages, one after the other in one folder, and compares the output.
fn check(pages: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Path::new(env!("CARGO_BIN_EXE_lowtide")).parent().expect("its folder");
    let inherited = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{inherited}", program.display());
    for page in pages {
        let steps = transcript(&fs::read_to_string(root().join(page)).expect(page));
        assert!(!steps.is_empty(), "{page} has no `console` block");
        for step in &steps {
            // The README builds the command and runs it, and here it is built already.
            let command = step.command.replace("cargo run --release -- ", "lowtide ");
            run(page, step, &command, folder.path(), &|shell| {
                shell.env("PATH", &path);
            });
        }
    }
}

#[test]
fn the_readme_and_the_first_part_of_the_tutorial_show_real_output() {
    // Both begin with one command; a finished run is not repeated.
    check(&["README.md", "docs/tutorial/1-first-run.md"]);
}

#[test]
fn the_second_part_of_the_tutorial_shows_real_output() {
    check(&["docs/tutorial/2-own-scenario.md"]);
}

#[test]
fn the_fourth_part_of_the_tutorial_shows_real_output() {
    check(&["docs/tutorial/4-real-packets.md"]);
}

#[test]
fn the_page_of_absent_mechanisms_shows_real_output() {
    check(&["docs/explanation/not-simulated.md"]);
}

#[test]
fn a_transcript_has_commands_and_shown_lines() {
    let page =
        "$ outside\n```console\n$ lowtide list\na \n...\nb\n$ next\n```\nc\n```sh\n$ no\n```\n";
    let step = |command: &str, shown: &[&str]| Step {
        command: command.into(),
        shown: shown.iter().map(|line| (*line).to_owned()).collect(),
    };
    assert_eq!(transcript(page), [step("lowtide list", &["a", "b"]), step("next", &[])]);
}

/// Pages below `docs/` that `text` names.
fn named_pages(text: &str) -> BTreeSet<String> {
    let mut pages = BTreeSet::new();
    for (at, _) in text.match_indices("docs/") {
        let before = &text[..at];
        // Part of another path or of an address, unless the path leads to the workspace.
        let other = before.ends_with(|c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c));
        if other && !before.ends_with("../") {
            continue;
        }
        let name = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
        let end = text[at..].find(|c| !name(c)).map_or(text.len(), |length| at + length);
        pages.insert(text[at..end].trim_end_matches(['.', '/']).to_owned());
    }
    pages
}

/// Text files of the workspace that name pages.
fn text_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let kind = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            // Inputs of fuzzers are random text.
            if !["target", "corpus", ".git", "runs", "node_modules"].contains(&name.as_str()) {
                text_files(&path, files);
            }
        } else if ["rs", "md", "toml", "yml", "py"].contains(&kind.as_str()) || name == "run" {
            files.push(path);
        }
    }
}

#[test]
fn every_page_that_the_repository_names_exists() {
    let root = root();
    let mut files = Vec::new();
    text_files(&root, &mut files);
    assert!(files.len() > 500, "{} files", files.len());
    let mut missing = Vec::new();
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        for page in named_pages(&text) {
            if !root.join(&page).exists() {
                let file = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
                missing.push(format!("{file}: {page}"));
            }
        }
    }
    assert!(missing.is_empty(), "these pages do not exist:\n{}", missing.join("\n"));
}

#[test]
fn names_of_pages_are_found_in_text() {
    // Put together, because no page has these names.
    let text = "`DOCSa.md`, ../../DOCSb/c.md. See https://x.org/DOCSd and myDOCSe; DOCSf/.";
    let found: Vec<String> = named_pages(&text.replace("DOCS", "docs/")).into_iter().collect();
    assert_eq!(found, ["a.md", "b/c.md", "f"].map(|page| format!("docs/{page}")));
}
