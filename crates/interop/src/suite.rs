//! Runs many cases against many peers.

use lowtide_output::streams;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lowtide_uml::{Kernel, Machine, MachineEvent, NETWORK_MODULES, UmlError};

use crate::cases::{Case, find};
use crate::peers::{BuildError, Peer, PeerProgram, build};
use crate::run::{CaseOutcome, CaseResult, run};
use crate::testnet::build_folder;

/// Memory of the User Mode Linux machine, MiB.
const UML_MEMORY_MIB: u32 = 512;
/// Time limit of one case inside it.
const UML_CASE: Duration = Duration::from_secs(200);
/// Parallel cases inside it: it has one CPU.
const UML_JOBS: usize = 2;
/// File in which the machine writes its results.
const UML_RESULTS: &str = "results.json";

/// A run of the suite.
#[derive(Clone, Debug)]
pub struct Suite {
    /// Program of this crate.
    pub program: PathBuf,
    /// Number of parallel cases.
    pub jobs: usize,
    /// Folder for captures.
    pub captures: Option<PathBuf>,
    /// User Mode Linux kernel to boot; default: the one that `SETUP` names.
    pub uml: Option<PathBuf>,
}

/// Gives every case of `cases` against `peer` the same outcome.
fn all_with_outcome(peer: Peer, cases: &[Case], outcome: &CaseOutcome) -> Vec<CaseResult> {
    cases.iter().map(|c| CaseResult::of(peer, c, outcome.clone(), 0)).collect()
}

/// Outcome of every case if the machine failed.
fn not_booted(error: &UmlError) -> CaseOutcome {
    match error {
        // There is no such kernel, or it cannot restore the CPU's registers.
        UmlError::NoKernel | UmlError::UnsupportedXsave => CaseOutcome::Skip(error.to_string()),
        other => CaseOutcome::Fail(other.to_string()),
    }
}

impl Suite {
    /// Runs `cases` against `peer`; calls `on_result` as each ends. Returns results in order of the
    /// cases.
    pub fn run(
        &self,
        peer: Peer,
        cases: &[Case],
        on_result: &(dyn Fn(&CaseResult) + Sync),
    ) -> Vec<CaseResult> {
        if cases.is_empty() {
            return Vec::new();
        }
        if peer == Peer::Uml {
            return self.boot(cases).unwrap_or_else(|error| {
                let results = all_with_outcome(peer, cases, &not_booted(&error));
                results.iter().for_each(on_result);
                results
            });
        }
        let outcome = match build(peer, &self.program, &build_folder(&self.program)) {
            Err(BuildError::Missing(what)) => CaseOutcome::Skip(what.why),
            Err(BuildError::Broken(why)) => {
                CaseOutcome::Fail(format!("the peer's program does not compile: {why}"))
            }
            Ok(program) => return self.run_parallel(peer, &program, cases, on_result),
        };
        let results = all_with_outcome(peer, cases, &outcome);
        results.iter().for_each(on_result);
        results
    }

    /// Runs the cases on several threads.
    pub fn run_parallel(
        &self,
        peer: Peer,
        program: &PeerProgram,
        cases: &[Case],
        on_result: &(dyn Fn(&CaseResult) + Sync),
    ) -> Vec<CaseResult> {
        let queue = Mutex::new(cases.iter().enumerate());
        let done = Mutex::new(Vec::with_capacity(cases.len()));
        let work = || {
            loop {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((number, case)) = next else { break };
                let result = run(peer, program, case, self.captures.as_deref());
                on_result(&result);
                done.lock().unwrap_or_else(PoisonError::into_inner).push((number, result));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.jobs.max(1) {
                // With fewer threads it takes longer.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|(number, _)| *number);
        done.into_iter().map(|(_, result)| result).collect()
    }

    /// Boots User Mode Linux and runs the cases inside it, against its kernel. Each result is
    /// printed from inside.
    fn boot(&self, cases: &[Case]) -> Result<Vec<CaseResult>, UmlError> {
        let system = |what: &str| {
            let what = what.to_owned();
            move |error: std::io::Error| UmlError::System { what, error }
        };
        let folder = tempfile::tempdir().map_err(system("make a folder"))?;
        let results = folder.path().join(UML_RESULTS);
        let mut args = vec!["inside".to_owned(), results.display().to_string()];
        args.push(self.captures.as_ref().map_or_else(String::new, |p| p.display().to_string()));
        args.extend(cases.iter().map(Case::to_string));
        let captures = self.captures.iter().cloned();
        let machine = Machine {
            kernel: self.uml.as_deref().map_or_else(Kernel::find, Kernel::at)?,
            memory_mib: UML_MEMORY_MIB,
            modules: NETWORK_MODULES.iter().map(|n| (*n).to_owned()).collect(),
            writable: captures.chain([folder.path().to_owned()]).collect(),
            limit: UML_CASE * u32::try_from(cases.len()).unwrap_or(u32::MAX),
            program: self.program.clone(),
            guest: vec!["guest".to_owned()],
        };
        let stop = AtomicBool::new(false);
        let ended = machine.run(&args, &stop, &mut |MachineEvent::Booted(after)| {
            streams::note(format_args!("User Mode Linux is up after {:.1} s", after.as_secs_f64()));
        })?;
        let text = std::fs::read(&results).map_err(|e| {
            let why = format!("the cases left no results (status {}): {e}", ended.status);
            UmlError::Guest(why)
        })?;
        serde_json::from_slice(&text).map_err(|e| UmlError::Guest(e.to_string()))
    }
}

/// Runs the cases inside User Mode Linux.
///
/// # Errors
/// The results cannot be written.
pub fn inside(results: &Path, captures: &str, names: &[String]) -> std::io::Result<()> {
    let program = std::env::current_exe()?;
    let captures = (!captures.is_empty()).then(|| PathBuf::from(captures));
    let suite = Suite { program, jobs: UML_JOBS, captures, uml: None };
    let cases: Vec<Case> = names.iter().filter_map(|name| find(name)).collect();
    let done = match build(Peer::Linux, &suite.program, Path::new("/run")) {
        Ok(program) => suite.run_parallel(Peer::Uml, &program, &cases, &crate::table::print_result),
        Err(error) => all_with_outcome(Peer::Uml, &cases, &CaseOutcome::Fail(format!("{error:?}"))),
    };
    std::fs::write(results, serde_json::to_vec(&done)?)
}
