//! What a workload is given and what it makes.

use std::sync::Arc;

use lowtide_sim::{Rng, Seed};
use lowtide_units::{Bytes, Duration, Instant, Parts, Rate};

use crate::cdf::Cdf;
use crate::param::{Param, ParamValue, UserFile};
use crate::refusal::{MOST_CONNECTIONS, MOST_QUERIES, Refusal};
use crate::{Asker, Flow};

/// What the scenario says of one group of traffic.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Args {
    /// Index of the traffic group, copied into flows and askers.
    pub group: u16,
    /// Its name: random numbers hang on it, so that groups beside it do not move them.
    pub name: String,
    /// The hosts that open connections; empty only where the workload's [`Ends`] are listed.
    pub sources: Vec<u32>,
    /// The hosts at the other end; empty only where the workload's [`Ends`] are listed.
    pub destinations: Vec<u32>,
    /// A value for each parameter that the workload declares.
    pub values: Vec<(&'static str, ParamValue)>,
}

/// What a workload may know of the run and its network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// The run's seed.
    pub seed: u64,
    /// When the run ends at the latest: nothing starts from then on.
    pub end: Instant,
    /// Every host of the network, by number.
    pub hosts: Arc<[HostFacts]>,
}

/// What a workload may know of a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostFacts {
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
    pub askers: Vec<Asker>,
}

/// Who names the hosts of a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ends {
    /// The scenario: `from` and `to` must be given.
    FromTo,
    /// A file: `from` and `to` may be given and then limit which hosts it may name.
    Listed,
}

/// One registered workload.
#[derive(Debug)]
pub struct Entry {
    /// Name as people write it.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Who names its hosts.
    pub ends: Ends,
    /// Its parameters.
    pub params: &'static [Param],
    /// Makes the traffic; [`Entry::make`] calls it.
    pub(crate) traffic: fn(&Args, &Site) -> Result<Traffic, Refusal>,
}

impl Entry {
    /// Makes the traffic: a pure function, the same for the same arguments.
    ///
    /// # Errors
    /// What the parameters mean together cannot be: nobody to send to, a file with a mistake, more than
    /// [`MOST_CONNECTIONS`] connections or [`MOST_QUERIES`] queries.
    pub fn make(&self, args: &Args, site: &Site) -> Result<Traffic, Refusal> {
        let traffic = (self.traffic)(args, site)?;
        traffic.bounded(args)?;
        Ok(traffic)
    }
}

impl Traffic {
    /// How many connections it opens if all of it is done.
    pub fn connections(&self) -> u64 {
        self.askers
            .iter()
            .map(Asker::connections)
            .fold(self.flows.len() as u64, u64::saturating_add)
    }

    /// Refuses more than a group may make.
    pub(crate) fn bounded(&self, args: &Args) -> Result<(), Refusal> {
        if self.connections() > MOST_CONNECTIONS {
            return Err(Refusal::too_many(&args.name, "connections", MOST_CONNECTIONS));
        }
        let queries = self.askers.iter().map(Asker::queries).fold(0, u64::saturating_add);
        if queries > MOST_QUERIES {
            return Err(Refusal::too_many(&args.name, "queries", MOST_QUERIES));
        }
        Ok(())
    }
}

impl Args {
    /// The number set for `name`; zero when it is none or off.
    pub fn count(&self, name: &str) -> u64 {
        self.count_or_off(name).unwrap_or(0)
    }
    /// The number set for `name`; `None` when it is off.
    pub fn count_or_off(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(ParamValue::Count(n)) => Some(*n),
            _ => None,
        }
    }
    /// The size set for `name`; `None` is unlimited or off.
    pub fn size(&self, name: &str) -> Option<Bytes> {
        match self.get(name) {
            Some(ParamValue::Size(size)) => *size,
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
            Some(ParamValue::Time(time)) => Some(*time),
            _ => None,
        }
    }
    /// The rate set for `name`; `None` when it is off.
    pub fn rate(&self, name: &str) -> Option<Rate> {
        match self.get(name) {
            Some(ParamValue::Rate(rate)) => Some(*rate),
            _ => None,
        }
    }
    /// The name chosen for `name`.
    pub fn choice(&self, name: &str) -> Option<&'static str> {
        match self.get(name) {
            Some(ParamValue::Choice(choice)) => Some(choice),
            _ => None,
        }
    }
    /// The share set for `name`; `None` when it is off.
    pub fn parts(&self, name: &str) -> Option<Parts> {
        match self.get(name) {
            Some(ParamValue::Parts(parts)) => Some(*parts),
            _ => None,
        }
    }
    /// The distribution set for `name`; `None` when it is off.
    pub fn distribution(&self, name: &str) -> Option<&Arc<Cdf>> {
        match self.get(name) {
            Some(ParamValue::Distribution(cdf)) => Some(cdf),
            _ => None,
        }
    }
    /// The distribution set for `name`, which must be.
    pub(crate) fn drawn(&self, name: &'static str) -> Result<&Cdf, Refusal> {
        self.distribution(name).map(AsRef::as_ref).ok_or_else(|| {
            let message = format!("[traffic.{}] has no `{name}`", self.name);
            Refusal::at(name, message, "write a value, the name of a distribution, or a file")
        })
    }
    /// The file set for `name`; `None` when it is off.
    pub fn file(&self, name: &str) -> Option<&Arc<UserFile>> {
        match self.get(name) {
            Some(ParamValue::File(file)) => Some(file),
            _ => None,
        }
    }
    /// Whether anything is set for `name`.
    pub fn is_set(&self, name: &str) -> bool {
        !matches!(self.get(name), None | Some(ParamValue::Off))
    }
    fn get(&self, name: &str) -> Option<&ParamValue> {
        self.values.iter().find(|(n, _)| *n == name).map(|(_, v)| v)
    }

    /// The generator for one purpose of the `id`-th member of this group, in a run of that seed.
    pub(crate) fn rng(&self, site: &Site, id: u64, purpose: &str) -> Rng {
        Seed::derive(site.seed, "traffic", id, &format!("{}/{purpose}", self.name)).rng()
    }
}

impl Site {
    /// The line rate of a host; one Gbit/s for a host that is not there.
    pub(crate) fn rate(&self, host: u32) -> Rate {
        self.hosts.get(host as usize).map_or(Rate::from_gbps(1), |h| h.rate)
    }
    /// The rack of a host.
    pub(crate) fn rack(&self, host: u32) -> Option<u32> {
        self.hosts.get(host as usize).map(|h| h.rack)
    }
}
