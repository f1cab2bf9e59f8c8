//! One run of a scenario: a scheme, a point of the sweep, a seed.

use std::sync::Arc;

use lowtide_host::Setup;

use crate::emit;
use crate::error::ScenarioErrors;
use crate::estimate::CostCause;
use crate::run_config::RunConfig;

/// One run. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// What is compared; the name of the profile when nothing is.
    pub scheme: String,
    /// Each swept key with its value, in the order of the sweep.
    pub point: Vec<(String, String)>,
    /// The run's seed.
    pub seed: u64,
    /// Hash of everything that decides the run, 16 hexadecimal digits: equal hashes, equal runs.
    pub hash: String,
    pub(crate) run_config: Arc<RunConfig>,
}

impl RunSpec {
    /// The run, ready to be given to a backend.
    ///
    /// # Errors
    /// None for a run that [`crate::Scenario::expand`] made; the type leaves room for backends whose
    /// parts may be missing on a machine.
    pub fn setup(&self) -> Result<Setup, ScenarioErrors> {
        Ok(self.run_config.setup(self.seed))
    }

    /// The key of the scenario that decides how much is needed for `cause`, or the table that has it.
    pub fn key_for_cost(&self, cause: CostCause) -> String {
        let key = match cause {
            CostCause::Samples => "probes.interval",
            CostCause::Trace => "probes.trace",
            CostCause::Hosts => "hosts",
            CostCause::InFlight => "transport.send-buffer",
            CostCause::Runs => "run.seeds",
            CostCause::Connections(group) => {
                let group = self.run_config.model.traffic.get(usize::from(group));
                return group
                    .map_or_else(|| "traffic".to_owned(), |g| format!("traffic.{}", g.name));
            }
        };
        key.to_owned()
    }

    /// The names of its queues, those of hosts' own ports included, by number of the port.
    pub fn queues(&self) -> Vec<String> {
        self.run_config.network().port_names()
    }

    /// Ends of the ranges of flow sizes that summary and report show, in bytes, ascending; each end is
    /// included.
    pub fn size_classes(&self) -> Vec<u64> {
        self.run_config.model.probes.size_classes.iter().map(|b| b.as_u64()).collect()
    }

    /// The scenario with every default written out, which gives this run and no other.
    pub fn resolved_toml(&self) -> String {
        emit::resolved(&self.run_config, self.seed)
    }
}
