//! Random connections: the fault test of `tcp` over a given range of seeds, optimised for speed.

use std::ops::Range;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::arguments::Arguments;

/// Number of parallel parts of the test.
const MAX_JOBS: u64 = 4;

/// Options of the chore.
#[derive(Debug)]
pub(crate) struct AdversaryTask {
    seeds: Range<u64>,
    jobs: u64,
    long: bool,
    trace: bool,
}

impl AdversaryTask {
    /// Reads the options.
    pub(crate) fn read(arguments: &[String]) -> Result<Self, String> {
        let options = ["--cases", "--seed", "-j", "--replay"];
        let a = Arguments::read(arguments, &options, &["--long"])?;
        if let Some(word) = a.word {
            return Err(format!("`{word}` is not known here"));
        }
        let (long, trace) = (a.has("--long"), a.has("--replay"));
        if trace {
            let seed = a.number("--replay", 0)?;
            return Ok(Self { seeds: seed..seed.saturating_add(1), jobs: 1, long, trace });
        }
        let (first, cases) = (a.number("--seed", 0)?, a.number("--cases", 100_000)?);
        let last = first.checked_add(cases).ok_or("the seeds pass 2^64")?;
        let jobs = a.number("-j", 2)?.clamp(1, MAX_JOBS);
        Ok(Self { seeds: first..last, jobs, long, trace })
    }

    /// Runs it; prints failing seeds with the command that repeats each.
    pub(crate) fn run(&self, root: &Path) -> ExitCode {
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(root);
        command.args([
            "test",
            "--quiet",
            "--release",
            "-p",
            "lowtide-tcp",
            "--test",
            "faults",
            "--",
        ]);
        command.arg(if self.long { "part" } else { "short" }).arg("--nocapture");
        command.arg(format!("--test-threads={}", self.jobs));
        command.env("LOWTIDE_FAULT_SEEDS", format!("{}..{}", self.seeds.start, self.seeds.end));
        if self.trace {
            command.env("LOWTIDE_FAULT_TRACE", "1");
        }
        match command.status() {
            Ok(status) if status.success() => ExitCode::SUCCESS,
            Ok(_) => ExitCode::FAILURE,
            Err(error) => {
                eprintln!("cannot run cargo: {error}");
                ExitCode::FAILURE
            }
        }
    }
}
