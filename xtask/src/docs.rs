//! Writes the pages generated from the code: `docs/reference/schemes/`, the tables of
//! `docs/reference/deviations.md`, the references in `docs/reference/scenario.md` and
//! `docs/reference/tables.md`, the scorecard and the pages of the papers.
//!
//! The tests that compare these pages with the code also write them if `LOWTIDE_WRITE_DOCS` is set.

use std::path::Path;
use std::process::{Command, ExitCode};

/// Tests that write pages, as cargo names them.
const WRITERS: [&[&str]; 5] = [
    &["-p", "lowtide-tcp", "--test", "deviations", "--test", "schemes"],
    &["-p", "lowtide-scenario", "--lib", "reference"],
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
