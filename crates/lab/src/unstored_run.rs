//! The memory of a run whose tables are not stored: refused before it starts, ended if it takes
//! more than the limit.

use lowtide_host::Setup;
use lowtide_record::RunKey;
use lowtide_scenario::{Estimate, RunSpec};
use lowtide_units::Bytes;

use crate::budget::{ResourceLimits, admit_memory, overrun};
use crate::error::LabError;

/// A run that stores nothing: repeated for inspection, or measured.
#[derive(Clone, Copy)]
pub(crate) struct UnstoredRun<'a> {
    pub(crate) key: &'a RunKey,
    pub(crate) spec: &'a RunSpec,
    /// Setup of the run, without the samples of `spec`.
    pub(crate) setup: &'a Setup,
}

impl UnstoredRun<'_> {
    /// Rejects runs that do not fit into memory together.
    ///
    /// # Errors
    /// [`LabError::TooLarge`].
    pub(crate) fn admit(runs: &[Self], limits: &ResourceLimits<'_>) -> Result<(), LabError> {
        let costs = || runs.iter().map(|run| (run, Estimate::of(run.setup)));
        let Some((run, cost)) = costs().max_by_key(|(_, cost)| cost.memory) else { return Ok(()) };
        let all = costs().map(|(_, cost)| cost.memory.as_u64()).fold(0, u64::saturating_add);
        let needs = if runs.len() == 1 { "the run needs" } else { "runs side by side need" };
        let cost = Estimate { memory: Bytes::new(all), ..cost };
        Ok(admit_memory(needs, &cost, run.spec.key_for_cost(cost.memory_cause), limits)?)
    }

    /// Returns the error of a run during which the process exceeds the limit.
    pub(crate) fn check(&self, limits: &ResourceLimits<'_>) -> Result<(), LabError> {
        let Some((resident, limit)) = overrun(limits) else { return Ok(()) };
        let cause = self.spec.key_for_cost(Estimate::of(self.setup).memory_cause);
        let key = Box::new(self.key.clone());
        Err(LabError::Memory { key, cause, resident, limit, stored: false })
    }
}
