//! The process under test: runs the command on changed files, one after the other.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use cpu_time::ProcessTime;

use crate::random::Rng;
use crate::{archives, directories, scenarios};

/// Set in the worker: its cases, as `KIND:FIRST..LAST`. Its working directory is that of the cases.
pub(crate) const CASES: &str = "LOWTIDE_FOREIGN_CASES";
/// Its findings, one line each.
pub(crate) const FINDINGS: &str = "findings";
/// Counts of exit statuses.
pub(crate) const STATUSES: &str = "statuses";
/// The case that is running.
pub(crate) const CURRENT: &str = "current";
/// A command that takes more CPU time is a finding.
const SLOW: Duration = Duration::from_secs(20);
/// A command that takes longer ends its worker.
const LONGEST_WAIT: Duration = Duration::from_mins(2);

/// The file that a case changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Scenario,
    Directory,
    Archive,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Scenario, Self::Directory, Self::Archive];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Scenario => "scenario",
            Self::Directory => "directory",
            Self::Archive => "archive",
        }
    }
}

/// The cases of a worker.
pub(crate) struct Task {
    kind: Kind,
    cases: Range<u64>,
    dir: PathBuf,
}

impl Task {
    /// The task, if this process is a worker.
    pub(crate) fn of_this_process() -> Option<Self> {
        let text = std::env::var(CASES).ok()?;
        let (kind, cases) = text.split_once(':')?;
        let kind = Kind::ALL.into_iter().find(|k| k.name() == kind)?;
        let (first, last) = cases.split_once("..")?;
        let cases = first.parse().ok()?..last.parse().ok()?;
        Some(Self { kind, cases, dir: std::env::current_dir().ok()? })
    }

    /// Runs all cases. Failures are in [`FINDINGS`].
    pub(crate) fn run(self) -> ExitCode {
        let bases = self.dir.join("base");
        let texts: Vec<String> = fs::read_dir(bases.join("scenarios"))
            .unwrap()
            .flatten()
            .map(|entry| fs::read_to_string(entry.path()).unwrap())
            .collect();
        let mut findings = String::new();
        let mut statuses: BTreeMap<u8, u64> = BTreeMap::new();
        for case in self.cases.clone() {
            fs::write(self.dir.join(CURRENT), case.to_string()).unwrap();
            let dir = self.dir.join("case");
            let _ = fs::remove_dir_all(&dir);
            fs::create_dir(&dir).unwrap();
            std::env::set_current_dir(&dir).unwrap();
            let mut rng = Rng::new(case);
            let commands = match self.kind {
                Kind::Scenario => scenarios::write(&dir, &texts, &mut rng),
                Kind::Directory => directories::write(&dir, &bases, &mut rng),
                Kind::Archive => archives::write(&dir, &bases.join("a.tar.gz"), &mut rng),
            };
            for words in commands {
                match run(&self.dir, &words) {
                    Ok(status) => *statuses.entry(status).or_default() += 1,
                    Err(found) => {
                        let _ = writeln!(findings, "case {case}: {words:?}: {found}");
                    }
                }
            }
        }
        std::env::set_current_dir(&self.dir).unwrap();
        fs::write(STATUSES, format!("{statuses:?}")).unwrap();
        fs::write(FINDINGS, findings).unwrap();
        ExitCode::SUCCESS
    }
}

/// Runs a command. Returns its exit status, or what is wrong.
#[expect(clippy::disallowed_methods, reason = "the watchdog runs beside the command under test")]
fn run(root: &Path, words: &[String]) -> Result<u8, String> {
    let args: Vec<OsString> = words.iter().chain(&["-q".to_owned()]).map(OsString::from).collect();
    let start = ProcessTime::now();
    let run = || lowtide::main_from(root.join("lowtide"), args);
    // A command that waits for a pipe or a terminal uses no time of the processor. The worker ends,
    // and the file CURRENT names the case.
    let (done, waits) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        if waits.recv_timeout(LONGEST_WAIT) == Err(RecvTimeoutError::Timeout) {
            std::process::abort();
        }
    });
    let status = catch_unwind(AssertUnwindSafe(run));
    drop(done);
    let took = start.elapsed();
    match status {
        Err(_) => Err("it panicked".to_owned()),
        Ok(status) if status > 3 => Err(format!("exit status {status}")),
        Ok(_) if took > SLOW => Err(format!("it took {} s", took.as_secs())),
        Ok(status) => Ok(status),
    }
}
