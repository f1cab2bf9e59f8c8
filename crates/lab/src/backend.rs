//! Backends that execute the runs of a plan: the simulator, or one that sends real packets.
//!
//! Contract: all backends write the same tables, with null for what they cannot know. The manifest
//! names the backend, so results of different backends are never confused.

use lowtide_host::{Outcome, Setup};
use lowtide_record::{Backend as Entry, RunTables, TimingReport};
use lowtide_scenario::RunPlan;
use lowtide_units::Instant;

use crate::error::LabError;
use crate::ideal::with_ideals;

/// Runs a setup on real packets.
pub trait Backend: Sync {
    /// Its entry in the manifest.
    fn entry(&self) -> Entry;

    /// Checks that this run can be made on this machine, before any run begins.
    ///
    /// # Errors
    /// The obstacle, and the remedy.
    fn check(&self, setup: &Setup) -> Result<(), UnsupportedSetup>;

    /// Makes a run, in real time. `watch` is called with the time of the run now and then, and
    /// decides when to stop; a stopped run leaves nothing.
    ///
    /// # Errors
    /// The cause of the failure.
    fn run(
        &self,
        setup: &Setup,
        watch: &mut dyn FnMut(Instant) -> bool,
    ) -> Result<Option<CompletedRun>, String>;
}

/// Reason why a backend rejects a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnsupportedSetup {
    /// The obstacle.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
}

/// Results of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct CompletedRun {
    /// All its rows.
    pub tables: RunTables,
    /// Timing accuracy, on real packets.
    pub measured: Option<TimingReport>,
    /// Threads that it used, if it was simulated.
    pub threads: Option<u32>,
}

impl CompletedRun {
    pub(crate) fn simulated(setup: &Setup, outcome: &Outcome, threads: usize) -> Self {
        let tables = with_ideals(RunTables::new(setup, outcome), setup);
        Self { tables, measured: None, threads: Some(threads as u32) }
    }

    /// Results of a run of `setup` on real packets.
    pub fn measured(setup: &Setup, tables: RunTables, measured: TimingReport) -> Self {
        Self { tables: with_ideals(tables, setup), measured: Some(measured), threads: None }
    }
}

/// Checks that `backend` can make every run of `plan`; the seeds of one case need one check.
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
