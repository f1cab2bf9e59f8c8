//! Who makes the runs of a plan: the simulator, or something that moves real packets.
//!
//! Contract: whoever makes a run leaves the same tables. What it cannot know is null in them. Where and how it
//! was made is in the manifest, so that results of one backend are never taken for those of another.

use lowtide_host::{Outcome, Setup};
use lowtide_record::{Backend as Entry, RunTables, TimingReport};
use lowtide_scenario::RunPlan;
use lowtide_units::Instant;

use crate::error::LabError;
use crate::ideal::with_ideals;

/// Runs a setup on real packets.
pub trait Backend: Sync {
    /// What the manifest says of it.
    fn entry(&self) -> Entry;

    /// Whether this run can be made here at all, asked before any run begins.
    ///
    /// # Errors
    /// What is in the way, and what to do about it.
    fn check(&self, setup: &Setup) -> Result<(), UnsupportedSetup>;

    /// Makes a run, in real time. `watch` is told of the time of the run now and then, and says when to stop;
    /// what was stopped leaves nothing.
    ///
    /// # Errors
    /// What went wrong.
    fn run(
        &self,
        setup: &Setup,
        watch: &mut dyn FnMut(Instant) -> bool,
    ) -> Result<Option<CompletedRun>, String>;
}

/// Why a backend does not take a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnsupportedSetup {
    /// What is in the way.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

/// What was made of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct CompletedRun {
    /// All its rows.
    pub tables: RunTables,
    /// How it went, on real packets.
    pub measured: Option<TimingReport>,
    /// Threads that it took, where it was simulated.
    pub threads: Option<u32>,
}

impl CompletedRun {
    pub(crate) fn simulated(setup: &Setup, outcome: &Outcome, threads: usize) -> Self {
        let tables = with_ideals(RunTables::new(setup, outcome), setup);
        Self { tables, measured: None, threads: Some(threads as u32) }
    }

    /// What real packets made of `setup`.
    pub fn measured(setup: &Setup, tables: RunTables, measured: TimingReport) -> Self {
        Self { tables: with_ideals(tables, setup), measured: Some(measured), threads: None }
    }
}

/// Whether every run of `plan` can be made by `backend`; seeds of one case are alike.
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
