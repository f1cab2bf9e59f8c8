//! What a workload is given and what it makes.

use std::sync::Arc;

use lowtide_sim::{Rng, Seed};
use lowtide_units::{Bytes, Duration, Fraction, Instant, Rate};

use crate::cdf::Cdf;
use crate::error::{MAX_CONNECTIONS, MAX_QUERIES, WorkloadError};
use crate::param::{UserFile, WorkloadParam, WorkloadParamValue};
use crate::{Flow, QueryClientSpec};

/// What the scenario says of one group of traffic.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct WorkloadArgs {
    /// Index of the traffic group, copied into flows and askers.
    pub group: u16,
    /// Its name: random numbers hang on it, so that groups beside it do not move them.
    pub name: String,
    /// The hosts that open connections; empty only where the workload's [`HostSelection`] are listed.
    pub sources: Vec<u32>,
    /// The hosts at the other end; empty only where the workload's [`HostSelection`] are listed.
    pub destinations: Vec<u32>,
    /// A value for each parameter that the workload declares.
    pub values: Vec<(&'static str, WorkloadParamValue)>,
}

/// What a workload may know of the run and its network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkloadContext {
    /// The run's seed.
    pub seed: u64,
    /// When the run ends at the latest: nothing starts from then on.
    pub end: Instant,
    /// Every host of the network, by number.
    pub hosts: Arc<[HostInfo]>,
}

/// What a workload may know of a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostInfo {
    /// As people write it, `senders.0`.
    pub name: String,
    /// Of its line; loads are shares of it.
    pub rate: Rate,
    /// Hosts of one number hang on the same first switch.
    pub rack: u32,
}

/// What a workload makes.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Traffic {
    /// Transfers; those that were drawn stand in the order in which they start.
    pub flows: Vec<Flow>,
    /// Clients that ask servers.
    pub query_clients: Vec<QueryClientSpec>,
}

/// Who names the hosts of a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostSelection {
    /// The scenario: `from` and `to` must be given.
    FromTo,
    /// A file: `from` and `to` may be given and then limit which hosts it may name.
    FromFile,
}

/// One registered workload.
#[derive(Debug)]
pub struct WorkloadEntry {
    /// Name as people write it.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Who names its hosts.
    pub host_selection: HostSelection,
    /// Its parameters.
    pub params: &'static [WorkloadParam],
    /// Makes the traffic; [`WorkloadEntry::generate`] calls it.
    pub(crate) traffic: fn(&WorkloadArgs, &WorkloadContext) -> Result<Traffic, WorkloadError>,
}

impl WorkloadEntry {
    /// Makes the traffic: a pure function, the same for the same arguments.
    ///
    /// # Errors
    /// What the parameters mean together cannot be: nobody to send to, a file with a mistake, more than
    /// [`MAX_CONNECTIONS`] connections or [`MAX_QUERIES`] queries.
    pub fn generate(
        &self,
        args: &WorkloadArgs,
        site: &WorkloadContext,
    ) -> Result<Traffic, WorkloadError> {
        let traffic = (self.traffic)(args, site)?;
        traffic.check_limits(args)?;
        Ok(traffic)
    }
}

impl Traffic {
    /// How many connections it opens if all of it is done.
    pub fn connections(&self) -> u64 {
        self.query_clients
            .iter()
            .map(QueryClientSpec::connections)
            .fold(self.flows.len() as u64, u64::saturating_add)
    }

    /// Refuses more than a group may make.
    pub(crate) fn check_limits(&self, args: &WorkloadArgs) -> Result<(), WorkloadError> {
        if self.connections() > MAX_CONNECTIONS {
            return Err(WorkloadError::above_limit(&args.name, "connections", MAX_CONNECTIONS));
        }
        let queries =
            self.query_clients.iter().map(QueryClientSpec::queries).fold(0, u64::saturating_add);
        if queries > MAX_QUERIES {
            return Err(WorkloadError::above_limit(&args.name, "queries", MAX_QUERIES));
        }
        Ok(())
    }
}

impl WorkloadArgs {
    /// The number set for `name`; zero when it is none or off.
    pub fn count(&self, name: &str) -> u64 {
        self.count_or_off(name).unwrap_or(0)
    }
    /// The number set for `name`; `None` when it is off.
    pub fn count_or_off(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(WorkloadParamValue::Count(n)) => Some(*n),
            _ => None,
        }
    }
    /// The size set for `name`; `None` is unlimited or off.
    pub fn size(&self, name: &str) -> Option<Bytes> {
        match self.get(name) {
            Some(WorkloadParamValue::Size(size)) => *size,
            _ => None,
        }
    }
    /// The time set for `name`; zero when it is none or off.
    pub fn time(&self, name: &str) -> Duration {
        self.time_or_off(name).unwrap_or(Duration::ZERO)
    }
    /// The time set for `name`; `None` when it is off.
    pub fn time_or_off(&self, name: &str) -> Option<Duration> {
        match self.get(name) {
            Some(WorkloadParamValue::Time(time)) => Some(*time),
            _ => None,
        }
    }
    /// The rate set for `name`; `None` when it is off.
    pub fn rate(&self, name: &str) -> Option<Rate> {
        match self.get(name) {
            Some(WorkloadParamValue::Rate(rate)) => Some(*rate),
            _ => None,
        }
    }
    /// The name chosen for `name`.
    pub fn choice(&self, name: &str) -> Option<&'static str> {
        match self.get(name) {
            Some(WorkloadParamValue::Choice(choice)) => Some(choice),
            _ => None,
        }
    }
    /// The share set for `name`; `None` when it is off.
    pub fn parts(&self, name: &str) -> Option<Fraction> {
        match self.get(name) {
            Some(WorkloadParamValue::Parts(parts)) => Some(*parts),
            _ => None,
        }
    }
    /// The distribution set for `name`; `None` when it is off.
    pub fn distribution(&self, name: &str) -> Option<&Arc<Cdf>> {
        match self.get(name) {
            Some(WorkloadParamValue::Distribution(cdf)) => Some(cdf),
            _ => None,
        }
    }
    /// The distribution set for `name`, which must be.
    pub(crate) fn require_cdf(&self, name: &'static str) -> Result<&Cdf, WorkloadError> {
        self.distribution(name).map(AsRef::as_ref).ok_or_else(|| {
            let message = format!("[traffic.{}] has no `{name}`", self.name);
            WorkloadError::at(name, message, "write a value, the name of a distribution, or a file")
        })
    }
    /// The file set for `name`; `None` when it is off.
    pub fn file(&self, name: &str) -> Option<&Arc<UserFile>> {
        match self.get(name) {
            Some(WorkloadParamValue::File(file)) => Some(file),
            _ => None,
        }
    }
    /// Whether anything is set for `name`.
    pub fn is_set(&self, name: &str) -> bool {
        !matches!(self.get(name), None | Some(WorkloadParamValue::Off))
    }
    fn get(&self, name: &str) -> Option<&WorkloadParamValue> {
        self.values.iter().find(|(n, _)| *n == name).map(|(_, v)| v)
    }

    /// The generator for one purpose of the `id`-th member of this group, in a run of that seed.
    pub(crate) fn rng(&self, site: &WorkloadContext, id: u64, purpose: &str) -> Rng {
        Seed::derive(site.seed, "traffic", id, &format!("{}/{purpose}", self.name)).rng()
    }
}

impl WorkloadContext {
    /// The line rate of a host; one Gbit/s for a host that is not there.
    pub(crate) fn rate(&self, host: u32) -> Rate {
        self.hosts.get(host as usize).map_or(Rate::from_gbps(1), |h| h.rate)
    }
    /// The rack of a host.
    pub(crate) fn rack(&self, host: u32) -> Option<u32> {
        self.hosts.get(host as usize).map(|h| h.rack)
    }
}
