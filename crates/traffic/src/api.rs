//! Inputs and outputs of a workload.

use std::sync::Arc;

use lowtide_sim::{Rng, Seed};
use lowtide_units::{Bytes, Duration, Fraction, Instant, Rate};

use crate::cdf::Cdf;
use crate::error::{MAX_CONNECTIONS, MAX_QUERIES, WorkloadError};
use crate::param::{UserFile, WorkloadParam, WorkloadParamValue};
use crate::{Flow, QueryClientSpec};

/// Arguments of one traffic group, as the scenario gives them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct WorkloadArgs {
    /// Index of the traffic group, copied into flows and query clients.
    pub group: u16,
    /// Name of the group. Random numbers depend on it, so adding a group changes no other.
    pub name: String,
    /// Hosts that open connections. Empty only if [`HostSelection::FromFile`] names them.
    pub sources: Vec<u32>,
    /// Hosts at the other end. Empty only if [`HostSelection::FromFile`] names them.
    pub destinations: Vec<u32>,
    /// A value for each parameter that the workload declares.
    pub values: Vec<(&'static str, WorkloadParamValue)>,
}

/// The run and its network, as a workload sees them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkloadContext {
    /// The run's seed.
    pub seed: u64,
    /// Latest end of the run; nothing starts at or after it.
    pub end: Instant,
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
}

/// Source of a workload's hosts.
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
    /// Name in scenarios.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Source of its hosts.
    pub host_selection: HostSelection,
    /// Its parameters.
    pub params: &'static [WorkloadParam],
    /// Makes the traffic; [`WorkloadEntry::generate`] calls it.
    pub(crate) traffic: fn(&WorkloadArgs, &WorkloadContext) -> Result<Traffic, WorkloadError>,
}

impl WorkloadEntry {
    /// Generates the traffic: a pure function of its arguments.
    ///
    /// # Errors
    /// Returns an error if the parameters contradict each other: no destination, an invalid file,
    /// more than [`MAX_CONNECTIONS`] connections or [`MAX_QUERIES`] queries.
    pub fn generate(
        &self,
        args: &WorkloadArgs,
        ctx: &WorkloadContext,
    ) -> Result<Traffic, WorkloadError> {
        let traffic = (self.traffic)(args, ctx)?;
        traffic.check_limits(args)?;
        Ok(traffic)
    }
}

impl Traffic {
    /// Returns the number of connections opened if all traffic completes.
    pub fn connections(&self) -> u64 {
        self.query_clients
            .iter()
            .map(QueryClientSpec::connections)
            .fold(self.flows.len() as u64, u64::saturating_add)
    }

    /// Checks the limits of a group.
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
    /// Returns the number set for `name`, or zero if it is not a number or is off.
    pub fn count(&self, name: &str) -> u64 {
        self.count_or_off(name).unwrap_or(0)
    }
    /// Returns the number set for `name`, or `None` if it is off.
    pub fn count_or_off(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(WorkloadParamValue::Count(n)) => Some(*n),
            _ => None,
        }
    }
    /// Returns the size set for `name`, or `None` if it is unlimited or off.
    pub fn size(&self, name: &str) -> Option<Bytes> {
        match self.get(name) {
            Some(WorkloadParamValue::Size(size)) => *size,
            _ => None,
        }
    }
    /// Returns the time set for `name`, or zero if it is not a time or is off.
    pub fn time(&self, name: &str) -> Duration {
        self.time_or_off(name).unwrap_or(Duration::ZERO)
    }
    /// Returns the time set for `name`, or `None` if it is off.
    pub fn time_or_off(&self, name: &str) -> Option<Duration> {
        match self.get(name) {
            Some(WorkloadParamValue::Time(time)) => Some(*time),
            _ => None,
        }
    }
    /// Returns the rate set for `name`, or `None` if it is off.
    pub fn rate(&self, name: &str) -> Option<Rate> {
        match self.get(name) {
            Some(WorkloadParamValue::Rate(rate)) => Some(*rate),
            _ => None,
        }
    }
    /// Returns the choice set for `name`.
    pub fn choice(&self, name: &str) -> Option<&'static str> {
        match self.get(name) {
            Some(WorkloadParamValue::Choice(choice)) => Some(choice),
            _ => None,
        }
    }
    /// Returns the fraction set for `name`, or `None` if it is off.
    pub fn parts(&self, name: &str) -> Option<Fraction> {
        match self.get(name) {
            Some(WorkloadParamValue::Parts(parts)) => Some(*parts),
            _ => None,
        }
    }
    /// Returns the distribution set for `name`, or `None` if it is off.
    pub fn distribution(&self, name: &str) -> Option<&Arc<Cdf>> {
        match self.get(name) {
            Some(WorkloadParamValue::Distribution(cdf)) => Some(cdf),
            _ => None,
        }
    }
    /// Returns the distribution set for `name`, or an error if there is none.
    pub(crate) fn require_cdf(&self, name: &'static str) -> Result<&Cdf, WorkloadError> {
        self.distribution(name).map(AsRef::as_ref).ok_or_else(|| {
            let message = format!("[traffic.{}] has no `{name}`", self.name);
            WorkloadError::at(name, message, "write a value, the name of a distribution, or a file")
        })
    }
    /// Returns the file set for `name`, or `None` if it is off.
    pub fn file(&self, name: &str) -> Option<&Arc<UserFile>> {
        match self.get(name) {
            Some(WorkloadParamValue::File(file)) => Some(file),
            _ => None,
        }
    }
    /// Returns whether `name` has a value.
    pub fn is_set(&self, name: &str) -> bool {
        !matches!(self.get(name), None | Some(WorkloadParamValue::Off))
    }
    fn get(&self, name: &str) -> Option<&WorkloadParamValue> {
        self.values.iter().find(|(n, _)| *n == name).map(|(_, v)| v)
    }

    /// Returns the random generator for one purpose of the group's `id`-th member.
    pub(crate) fn rng(&self, ctx: &WorkloadContext, id: u64, purpose: &str) -> Rng {
        Seed::derive(ctx.seed, "traffic", id, &format!("{}/{purpose}", self.name)).rng()
    }
}

impl WorkloadContext {
    /// Returns the line rate of a host, or 1 Gbit/s for an unknown host.
    pub(crate) fn rate(&self, host: u32) -> Rate {
        self.hosts.get(host as usize).map_or(Rate::from_gbps(1), |h| h.rate)
    }
    /// Returns the rack of a host.
    pub(crate) fn rack(&self, host: u32) -> Option<u32> {
        self.hosts.get(host as usize).map(|h| h.rack)
    }
}
