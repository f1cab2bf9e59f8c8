//! Inputs and outputs of a workload.

use std::collections::BTreeMap;
use std::sync::Arc;

use lowtide_schema::Values;
use lowtide_sim::{Rng, Seed};
use lowtide_units::{Instant, Rate};

use crate::cdf::Cdf;
use crate::error::WorkloadError;
use crate::text_file::UserFile;
use crate::{CollectiveSpec, Flow, QueryClientSpec, QuerySchedule};

/// Arguments of one traffic group, as the scenario gives them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct WorkloadArgs {
    /// Index of the traffic group, copied into flows and query clients.
    pub group: u16,
    /// Name of the group. Random numbers depend on it, so adding a group changes no other.
    pub name: String,
    /// Hosts that open connections. Empty only if they may come from a file
    /// ([`FromFile`](crate::workload::HostSelection::FromFile)).
    pub sources: Vec<u32>,
    /// Hosts at the other end; empty as `sources`.
    pub destinations: Vec<u32>,
    /// Values of the parameters that the workload declares.
    pub values: Values,
    /// Distributions, by parameter: each that `values` names.
    pub distributions: BTreeMap<&'static str, Arc<Cdf>>,
    /// Contents of files, by parameter: each that `values` names, without those of distributions.
    pub files: BTreeMap<&'static str, Arc<UserFile>>,
}

/// The run and its network, as a workload sees them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkloadContext {
    /// The run's seed.
    pub seed: u64,
    /// End of counted arrivals; nothing else starts at or after it.
    pub end: Instant,
    /// End of the load of open-loop workloads. If it is after `end`, they also generate arrivals
    /// that are not counted: up to here, and beyond the number that a key asks for.
    pub load_end: Instant,
    /// Every host of the network, by number.
    pub hosts: Arc<[HostInfo]>,
}

/// One host, as a workload sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostInfo {
    /// Name in the scenario, such as `senders.0`.
    pub name: String,
    /// Line rate; loads are fractions of it.
    pub rate: Rate,
    /// Rack number; hosts of one rack share their first switch.
    pub rack: u32,
}

/// Output of a workload.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Traffic {
    /// Transfers; drawn ones are in the order of their start.
    pub flows: Vec<Flow>,
    /// Clients that query servers.
    pub query_clients: Vec<QueryClientSpec>,
    /// Collectives, whose connections are among `flows`.
    pub collectives: Vec<CollectiveSpec>,
    /// Transfers that only keep the load up and are not counted, in the order of their start.
    pub load: Vec<Flow>,
    /// Time up to which transfers of the load are generated, if a limit of the group ended them.
    pub load_until: Option<Instant>,
}

impl Traffic {
    /// Records that the load is generated only up to `until`.
    pub(crate) fn limit_load(&mut self, until: Option<Instant>) {
        self.load_until = [self.load_until, until].into_iter().flatten().min();
    }

    /// Returns the time up to which the whole load is generated, if a limit of the group ended it.
    pub fn load_ends(&self) -> Option<Instant> {
        let queries = self.query_clients.iter().filter_map(|client| match &client.schedule {
            QuerySchedule::OpenLoop(arrivals) => arrivals.until,
            QuerySchedule::ClosedLoop { .. } => None,
        });
        queries.chain(self.load_until).min()
    }

    /// Returns the number of counted connections opened if all traffic completes.
    pub fn connections(&self) -> u64 {
        self.query_clients
            .iter()
            .map(QueryClientSpec::connections)
            .fold(self.flows.len() as u64, u64::saturating_add)
    }
}

impl WorkloadArgs {
    /// Returns the distribution of the parameter `name`; `None` if it is unset or `off`.
    pub fn find_distribution(&self, name: &str) -> Option<&Cdf> {
        self.distributions.get(name).map(AsRef::as_ref)
    }

    /// Returns the distribution of the parameter `name`.
    ///
    /// # Errors
    /// It has none.
    pub fn distribution(&self, name: &'static str) -> Result<&Cdf, WorkloadError> {
        self.find_distribution(name).ok_or_else(|| {
            let message = format!("[traffic.{}] has no `{name}`", self.name);
            WorkloadError::at(name, message, "write a value, the name of a distribution, or a file")
        })
    }

    /// Returns the contents of the file of the parameter `name`; `None` if it is unset or `off`.
    pub fn find_file(&self, name: &str) -> Option<&UserFile> {
        self.files.get(name).map(AsRef::as_ref)
    }

    /// Returns the random generator for one purpose of the group's `id`-th member. It depends on
    /// the run's seed, the group's name, `id` and `purpose` only.
    pub fn rng(&self, ctx: &WorkloadContext, id: u64, purpose: &str) -> Rng {
        Seed::derive(ctx.seed, "traffic", id, &format!("{}/{purpose}", self.name)).rng()
    }
}

impl WorkloadContext {
    /// Returns the line rate of a host, or 1 Gbit/s for an unknown host.
    pub fn rate(&self, host: u32) -> Rate {
        self.hosts.get(host as usize).map_or(Rate::from_gbps(1), |h| h.rate)
    }

    /// Returns the rack of a host; `None` for an unknown host.
    pub fn rack(&self, host: u32) -> Option<u32> {
        self.hosts.get(host as usize).map(|h| h.rack)
    }
}
