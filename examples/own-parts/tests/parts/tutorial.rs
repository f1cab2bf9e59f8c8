//! The third part of the tutorial: its commands run with the control of `examples/own-crate`, which
//! is in this crate too. `cargo xtask suite own-crate` builds the crate of the page itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::transcript::{blocks, run, transcript};

const NAME: &str = "docs/tutorial/3-own-scheme.md";
const PAGE: &str = include_str!("../../../../docs/tutorial/3-own-scheme.md");
const CARGO_RUN: &str = "cargo run --locked --quiet -- ";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// Writes the files that the page shows into `folder`.
fn write_files(folder: &Path) {
    for block in blocks(PAGE) {
        let Some(name) = block.file else { continue };
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let written = fs::write(path, block.text);
        written.unwrap_or_else(|error| panic!("{NAME}:{}: {error}", block.line));
    }
}

#[test]
fn its_commands_print_what_the_page_shows() {
    let folder = crate::command::folder("tutorial");
    fs::create_dir_all(&folder).expect("a folder");
    write_files(&folder);
    let program = format!("{} ", env!("CARGO_BIN_EXE_own-parts"));
    let mut runs = 0;
    for step in transcript(PAGE) {
        // Commands of cargo prepare the crate of the page.
        if step.command.starts_with(CARGO_RUN) || step.command.starts_with("cat ") {
            let command = step.command.replace(CARGO_RUN, &program);
            run(NAME, &step, &command, &folder, &|_| {});
            runs += 1;
        }
    }
    assert_eq!(runs, 5, "commands of the page");
}

/// Builds the crate of the page in an empty folder, from a clone of this repository, and runs all
/// commands of the page.
#[test]
#[ignore = "it builds lowtide again: `cargo xtask suite own-crate`"]
fn the_crate_of_the_page_builds_from_an_empty_folder() {
    let place = tempfile::tempdir().expect("a folder");
    let (clone, folder) = (place.path().join("lowtide"), place.path().join("own-crate"));
    let mut git = Command::new("git");
    git.args(["clone", "--quiet"]).arg(root()).arg(&clone);
    assert!(git.status().expect("git").success());
    write_files(&folder);
    let address = format!("url.file://{}.insteadOf", clone.display());
    for step in transcript(PAGE) {
        run(NAME, &step, &step.command, &folder, &|shell| {
            // git reads the clone in place of the address on the page.
            shell
                .env("GIT_CONFIG_COUNT", "1")
                .env("GIT_CONFIG_KEY_0", &address)
                .env("GIT_CONFIG_VALUE_0", env!("CARGO_PKG_REPOSITORY"))
                .env("CARGO_NET_GIT_FETCH_WITH_CLI", "true")
                .env("CARGO_TARGET_DIR", folder.join("target"))
                .env_remove("RUSTUP_TOOLCHAIN");
        });
    }
    // The versions of all other crates are those of this repository.
    let lock = |folder: &Path| -> Vec<String> {
        let text = fs::read_to_string(folder.join("Cargo.lock")).expect("a lock file");
        let sums = text.lines().filter(|line| line.starts_with("checksum = "));
        sums.map(str::to_owned).collect()
    };
    let (own, ours) = (lock(&folder), lock(&root()));
    assert!(own.len() > 100, "{} crates", own.len());
    assert!(own.iter().all(|package| ours.contains(package)), "another version: {own:?}");
}
