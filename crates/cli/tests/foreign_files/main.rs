//! Files that somebody else wrote, changed at random: scenarios with the files that they name, run
//! directories and archives. No command panics, starts a process, or touches a file outside of its
//! directories. The system calls are the judge, as `strace` records them.
//!
//! `LOWTIDE_FOREIGN_FILES` is the number of changed inputs, `LOWTIDE_FOREIGN_SEED` the first seed.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]
#![allow(clippy::print_stdout, reason = "tests print what they measured")]

mod archives;
mod directories;
mod random;
mod scenarios;
mod system_calls;
mod traced;
mod worker;

use std::process::ExitCode;

use lowtide_test_needs::{Need, run_tests, tests};

/// Prints the system calls of a process and its threads.
const STRACE: Need = Need {
    name: "strace",
    probe: || {
        let output =
            std::process::Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).output();
        let output = output.map_err(|e| e.to_string())?;
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        if output.status.success() { Ok(()) } else { Err(why) }
    },
    enforceable: true,
};

fn main() -> ExitCode {
    if let Some(task) = worker::Task::of_this_process() {
        return task.run();
    }
    run_tests([
        tests!(&[];
            system_calls::processes_and_outside_files_are_reported,
            system_calls::reads_of_system_files_and_own_files_are_not,
            archives::an_unchanged_archive_is_the_archive,
            directories::a_rewritten_manifest_is_valid,
            directories::manifests_that_lead_out_are_refused_by_every_reader,
            directories::links_in_run_directories_are_refused_by_every_reader,
            directories::pipes_in_place_of_directories_are_refused_by_every_reader,
        ),
        tests!(&[STRACE]; traced::changed_files_do_no_harm),
    ])
}
