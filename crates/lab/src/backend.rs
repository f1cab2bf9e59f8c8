//! Backends of runs: the simulator, or one that moves real packets.
//!
//! Contract: every backend produces the same tables; values that it cannot know are null. The
//! manifest states the backend and its host, so that results of different backends are never mixed.

use lowtide_host::{Outcome, Setup};
use lowtide_record::{Backend as Entry, RunTables, TimingReport};
use lowtide_scenario::RunPlan;
use lowtide_units::Instant;

use crate::error::LabError;
use crate::ideal::with_ideals;
use crate::offered_load::with_offered_load;

/// A backend that runs setups on real packets.
pub trait Backend: Sync {
    /// Returns the manifest's entry on this backend.
    fn entry(&self) -> Entry;

    /// Checks, before any run begins, whether this run is possible here.
    ///
    /// # Errors
    /// The obstacle, and how to remove it.
    fn check(&self, setup: &Setup) -> Result<(), UnsupportedSetup>;

    /// Makes a run in real time. Calls `watch` with the time of the run at intervals and stops when
    /// it says so; a stopped run leaves nothing.
    ///
    /// # Errors
    /// The reason why the run failed.
    fn run(
        &self,
        setup: &Setup,
        watch: &mut dyn FnMut(Instant) -> bool,
    ) -> Result<Option<CompletedRun>, String>;
}

/// The reason why a backend rejects a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnsupportedSetup {
    /// The obstacle.
    pub message: String,
    /// Advice on how to remove it.
    pub help: Option<String>,
}

/// Result of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct CompletedRun {
    /// All its tables.
    pub tables: RunTables,
    /// Timing accuracy of real packets.
    pub measured: Option<TimingReport>,
    /// Threads used by a simulation.
    pub threads: Option<u32>,
}

impl CompletedRun {
    pub(crate) fn simulated(setup: &Setup, outcome: Outcome, threads: usize) -> Self {
        let tables = with_offered_load(with_ideals(RunTables::new(setup, outcome), setup), setup);
        Self { tables, measured: None, threads: Some(threads as u32) }
    }

    /// Creates the result of `setup` on real packets.
    pub fn measured(setup: &Setup, tables: RunTables, measured: TimingReport) -> Self {
        Self { tables: with_ideals(tables, setup), measured: Some(measured), threads: None }
    }
}

/// Checks that `backend` can make every run of `plan`; the seeds of a case are equivalent.
pub(crate) fn check(plan: &RunPlan, backend: Option<&dyn Backend>) -> Result<(), LabError> {
    let Some(backend) = backend else { return Ok(()) };
    let mut before = None;
    for run in &plan.runs {
        let case = (&run.scheme, &run.point);
        if before.replace(case) == Some(case) {
            continue;
        }
        let UnsupportedSetup { message, help } = match backend.check(&run.setup()?) {
            Ok(()) => continue,
            Err(refusal) => refusal,
        };
        return Err(LabError::InvalidRequest { message, help });
    }
    Ok(())
}
