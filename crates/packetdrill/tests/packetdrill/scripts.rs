//! Runs every script under `scripts/` as written and reports all failures, not only the first.
//!
//! `LOWTIDE_SCRIPTS=close/` selects scripts whose path contains it and shows their packets.

use std::fs;
use std::path::{Path, PathBuf};

use lowtide_packetdrill::run::{self, RunOptions};
use lowtide_packetdrill::script::Script;

fn collect(dir: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, out);
        } else if path.extension().is_some_and(|e| e == "pkt") {
            out.push(path);
        }
    }
}

pub(crate) fn all() -> Vec<PathBuf> {
    let mut out = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts"), &mut out);
    out
}

/// Path relative to the scripts folder.
pub(crate) fn name(path: &Path) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    path.strip_prefix(&root).expect("a script of ours").display().to_string()
}

#[test]
fn every_script_passes_and_is_deterministic() {
    let mut failures = Vec::new();
    let paths = all();
    assert!(paths.len() >= 150, "only {} scripts were found", paths.len());
    let only = std::env::var("LOWTIDE_SCRIPTS").unwrap_or_default();
    for path in paths {
        let name = name(&path);
        if !name.contains(&only) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let script = match Script::parse(&name, &text) {
            Ok(script) => script,
            Err(error) => {
                failures.push(error.to_string());
                continue;
            }
        };
        let outcomes = [(); 2].map(|()| run::run(&script, &RunOptions::default()));
        match &outcomes {
            [Ok(a), Ok(b)] => {
                assert_eq!((a.digest, a.ended), (b.digest, b.ended), "{name}");
                assert!(a.notes.is_empty(), "{name}: {:?}", a.notes);
                if !only.is_empty() {
                    println!("{name}\n    {}", a.packets.join("\n    "));
                }
                if let Some(failure) = &a.failure {
                    failures.push(failure.to_string());
                }
            }
            [Err(error), _] | [_, Err(error)] => failures.push(error.to_string()),
        }
    }
    assert!(failures.is_empty(), "{} failed\n\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn every_script_cites_its_source() {
    for path in all() {
        let text = fs::read_to_string(&path).unwrap();
        let header: String =
            text.lines().take_while(|line| line.starts_with("//")).collect::<Vec<_>>().join("\n");
        let cites = ["RFC ", "DCTCP", "DX", "HULL", "Swift", "Vegas"]
            .iter()
            .any(|text| header.contains(text));
        assert!(cites && header.contains('§'), "{} cites no section", path.display());
    }
}
