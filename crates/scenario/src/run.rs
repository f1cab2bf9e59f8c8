//! One run of a scenario: a scheme, a point of the sweep, a seed.

use std::sync::Arc;

use lowtide_host::{End, HostSetup, ProbePlan, Setup};
use lowtide_tcp::Config;

use crate::emit;
use crate::error::ScenarioErrors;
use crate::model::{Model, TrafficGroup};
use crate::network;

/// What all seeds of a scheme at a point share.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) model: Model,
    /// One per host group.
    pub(crate) configs: Vec<Config>,
    /// The label of the scheme.
    pub(crate) scheme: String,
}

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
    pub(crate) case: Arc<Case>,
}

impl RunSpec {
    /// The run, ready to be given to a backend.
    ///
    /// # Errors
    /// None for a run that [`crate::Scenario::expand`] made; the type leaves room for backends whose
    /// parts may be missing on a machine.
    pub fn setup(&self) -> Result<Setup, ScenarioErrors> {
        Ok(self.case.setup(self.seed))
    }

    /// The scenario with every default written out, which gives this run and no other.
    pub fn resolved_toml(&self) -> String {
        emit::resolved(&self.case, self.seed)
    }
}

impl Case {
    pub(crate) fn setup(&self, seed: u64) -> Setup {
        let model = &self.model;
        let hosts = (0..model.host_count()).filter_map(|host| {
            let (group, _) = model.group_of(host)?;
            Some(HostSetup { group, config: self.configs[usize::from(group)].clone() })
        });
        Setup {
            seed,
            end: End { at: model.run.duration, when_done: model.run.end_done },
            warmup: model.run.warmup,
            network: network::blueprint(model),
            hosts: hosts.collect(),
            host_groups: model.hosts.iter().map(|g| g.name.clone()).collect(),
            flows: model.traffic.iter().flat_map(TrafficGroup::flows).collect(),
            traffic_groups: model.traffic.iter().map(|g| g.name.clone()).collect(),
            disturbance: model.disturbance,
            probes: ProbePlan {
                interval: model.probes.interval,
                groups: model.probes.groups.clone(),
                flows_per_group: model.probes.flows_per_group,
                queues: model.probes.queues,
            },
        }
    }
}
