//! Runs many cases against many peers.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::cases::Case;
use crate::peers::{BuildError, Peer, PeerProgram, build};
use crate::run::{CaseOutcome, CaseResult, run};
use crate::testnet::build_folder;

/// A run of the suite.
#[derive(Clone, Debug)]
pub struct Suite {
    /// Program of this crate.
    pub program: PathBuf,
    /// Number of parallel cases.
    pub jobs: usize,
    /// Folder for captures.
    pub captures: Option<PathBuf>,
}

/// Gives every case of `cases` against `peer` the same outcome.
fn all_with_outcome(peer: Peer, cases: &[Case], outcome: &CaseOutcome) -> Vec<CaseResult> {
    cases.iter().map(|c| CaseResult::of(peer, c, outcome.clone(), 0)).collect()
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
}
