//! Configuration common to all seeds of a scheme at a point, and the setup for each seed.

use lowtide_host::{Counting, EndCondition, HostSetup, OpenLoop, ProbePlan, Setup};
use lowtide_net::Blueprint;
use lowtide_traffic::CollectiveSpec;
use lowtide_traffic::workload::Traffic;
use lowtide_units::Instant;

use crate::deployment;
use crate::flows;
use crate::model::{RunEnd, ScenarioModel};
use crate::network;
use crate::transport_config::HostConfigs;

/// Configuration common to all seeds of a scheme at a point.
#[derive(Debug)]
pub(crate) struct RunConfig {
    pub(crate) model: ScenarioModel,
    pub(crate) configs: HostConfigs,
    /// The label of the scheme.
    pub(crate) scheme: String,
}

impl RunConfig {
    pub(crate) fn network(&self) -> Blueprint {
        // `check` has reported its errors.
        network::blueprint(&self.model).unwrap_or_default()
    }

    pub(crate) fn setup(&self, seed: u64) -> Setup {
        let model = &self.model;
        let network = self.network();
        let classes = deployment::classes(model, &network, seed);
        let hosts = (0..model.host_count()).filter_map(|host| {
            let (group, hosts) = model.group_of(host)?;
            let deployment = classes.as_ref().map(|of| of[host as usize]);
            let config = self.configs.of_host(group, deployment).clone();
            let (clock, nic, class) = (hosts.clock, hosts.nic, hosts.class);
            Some(HostSetup { group, config, clock, nic, class, deployment })
        });
        let ctx = network::workload_context(model, &network, seed);
        let made: Vec<Traffic> =
            model.traffic.iter().map(|g| g.traffic(&ctx).unwrap_or_default()).collect();
        let sizes = flows::groups(model, &made);
        let traced = model.probes.trace.iter().filter_map(|(t, _)| flows::resolve(t, &sizes).ok());
        let load_ends = made.iter().filter_map(Traffic::load_ends).map(Instant::since_start).min();
        let (mut flows, mut query_clients, mut load) = (Vec::new(), Vec::new(), Vec::new());
        let mut collectives: Vec<CollectiveSpec> = Vec::new();
        for traffic in made {
            let first = flows.len() as u32;
            let shifted = traffic.collectives.into_iter().map(|c| c.with_first_flow(first));
            collectives.extend(shifted);
            flows.extend(traffic.flows);
            query_clients.extend(traffic.query_clients);
            load.extend(traffic.load);
        }
        let open_loop = (model.run.end == RunEnd::CountedDone).then_some(OpenLoop {
            counted_until: model.run.duration,
            load_from: flows.len() as u32,
        });
        flows.extend(load);
        Setup {
            seed,
            end: EndCondition {
                // Beyond this time the load is not known.
                at: load_ends.map_or(model.run.limit(), |ends| ends.min(model.run.limit())),
                when_done: model.run.end != RunEnd::Duration,
            },
            warmup: model.run.warmup,
            counting: Counting {
                by_arrival: model.traffic.iter().map(|g| g.workload.arrivals.are_drawn()).collect(),
                open_loop,
            },
            network,
            hosts: hosts.collect(),
            host_groups: model.hosts.iter().map(|g| g.name.clone()).collect(),
            flows,
            query_clients,
            collectives,
            traffic_groups: model.traffic.iter().map(|g| g.name.clone()).collect(),
            traffic_classes: model.traffic.iter().map(|g| g.class).collect(),
            early_groups: model.traffic.iter().map(|g| g.early).collect(),
            packet_classes: model.switch.classes.iter().map(|c| c.name.clone()).collect(),
            disturbance: model.disturbance,
            probes: ProbePlan {
                interval: model.probes.interval,
                groups: model.probes.groups.clone(),
                flows_per_group: model.probes.flows_per_group,
                queues: model.probes.queues,
                delays: model.probes.delays,
                trace: traced.flatten().collect(),
            },
        }
    }
}
