//! One run of a scenario: a scheme, a point of the sweep, a seed.

use std::sync::Arc;

use lowtide_host::Setup;

use crate::emit;
use crate::error::ScenarioErrors;
use crate::estimate::CostCause;
use crate::run_config::RunConfig;

/// One run; cheap to clone.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// Compared scheme; the scheme or profile of `[transport]` without a comparison.
    pub scheme: String,
    /// Each swept key with its value, in the order of the sweep.
    pub point: Vec<(String, String)>,
    /// The run's seed.
    pub seed: u64,
    /// Hash of everything that determines the run, 16 hexadecimal digits: equal hashes, equal runs.
    pub hash: String,
    /// Hash of the settings that can affect the outcome, and of the seed, 16 hexadecimal digits:
    /// runs with equal ones have equal tables, except for their keys.
    pub outcome: String,
    pub(crate) run_config: Arc<RunConfig>,
}

impl RunSpec {
    /// Returns the setup of the run for a backend.
    ///
    /// # Errors
    /// Never fails for a run that [`crate::Scenario::expand`] made; the type allows for backends
    /// that are incomplete on a machine.
    pub fn setup(&self) -> Result<Setup, ScenarioErrors> {
        Ok(self.run_config.setup(self.seed))
    }

    /// Returns whether a host group has this congestion control.
    pub fn has_control(&self, name: &str) -> bool {
        self.run_config.configs.groups.iter().any(|config| config.cc == name)
    }

    /// Returns the scenario key, or else the table, that determines the cost `cause`.
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

    /// Returns the names of its queues, including hosts' ports, by port number.
    pub fn queues(&self) -> Vec<String> {
        self.run_config.network().port_names()
    }

    /// Returns the upper ends of the ranges of flow sizes in summary and report, in bytes,
    /// ascending and inclusive.
    pub fn size_classes(&self) -> Vec<u64> {
        self.run_config.model.probes.size_classes.iter().map(|b| b.as_u64()).collect()
    }

    /// Returns the scenario with every default written out, which gives exactly this run.
    pub fn resolved_toml(&self) -> String {
        emit::resolved(&self.run_config, self.seed)
    }
}
