//! Writes the committed pages that are generated from the code: the scorecard, the pages of the
//! papers, `docs/reference/kernels.md`, and parts of `tables.md` and `input-files.md`. Pages of
//! names that `lowtide explain` prints are made with the site (`packaging/site_reference.py`).
//!
//! The tests that compare these pages with the code also write them if `LOWTIDE_WRITE_DOCS` is set.

use std::path::Path;
use std::process::{Command, ExitCode};

/// Tests that write pages, as cargo names them.
const WRITERS: [&[&str]; 4] = [
    &["-p", "lowtide-input-files", "--lib", "kind"],
    &["-p", "lowtide-record", "--lib", "dictionary"],
    &["-p", "lowtide-kernel", "--test", "support"],
    &["-p", "lowtide-papers", "--test", "papers", "scorecard"],
];

/// Writes all pages.
pub(crate) fn write(root: &Path) -> ExitCode {
    for writer in WRITERS {
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(root).args(["test", "--quiet"]).args(writer);
        match command.env("LOWTIDE_WRITE_DOCS", "1").status() {
            Ok(status) if status.success() => {}
            Ok(_) => return ExitCode::FAILURE,
            Err(error) => {
                eprintln!("cannot run cargo: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
