//! What a scenario says, typed: one point of a sweep, before a scheme is chosen.
//!
//! Contract: types only. A model was read without a complaint (`tables/`); what one key says is right by
//! itself. What keys say together is checked in `check.rs`.

use lowtide_host::{ClockSpec, Disturbance, NicSpec};
use lowtide_net::{BufferSpec, Framing, MarkSpec, PortSpec};
use lowtide_traffic::workload::{self, Args, HostFacts, Refusal, Site, Traffic};
use lowtide_units::{Bytes, Duration, Instant, Parts, Rate};

use crate::range::HostRange;
use crate::settings::Setting;
use crate::tree::At;

/// A name and where it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) at: At,
}

/// What is said of a transport in one place.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    pub(crate) profile: Option<Named>,
    pub(crate) scheme: Option<Named>,
    pub(crate) settings: Vec<Setting>,
}

/// The table `[run]`.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) duration: Duration,
    pub(crate) warmup: Duration,
    pub(crate) warmup_at: At,
    pub(crate) seeds: u64,
    pub(crate) first_seed: u64,
    pub(crate) end_done: bool,
    pub(crate) end_at: At,
    pub(crate) allow_mismatch: bool,
}

/// How hosts are put together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TopologyKind {
    Star,
    Dumbbell,
}

/// The table `[topology]`.
#[derive(Clone, Debug)]
pub(crate) struct Topology {
    pub(crate) kind: TopologyKind,
    pub(crate) at: At,
    pub(crate) rate: Rate,
    pub(crate) delay: Duration,
    pub(crate) bottleneck_rate: Rate,
    pub(crate) bottleneck_delay: Duration,
    pub(crate) framing: Framing,
    pub(crate) mtu: Bytes,
}

/// The table `[switch]`.
#[derive(Clone, Debug)]
pub(crate) struct SwitchPort {
    pub(crate) port: PortSpec,
    pub(crate) buffer_at: At,
    pub(crate) k_at: At,
}

/// One table `[pipe.NAME]`.
#[derive(Clone, Debug)]
pub(crate) struct Pipe {
    pub(crate) name: String,
    pub(crate) on: Vec<String>,
    pub(crate) direction: String,
    pub(crate) rate: Option<Rate>,
    pub(crate) delay: Option<Duration>,
    pub(crate) buffer: Option<BufferSpec>,
    pub(crate) count_in_service: Option<bool>,
    pub(crate) loss: Parts,
    pub(crate) mark: Option<MarkSpec>,
    pub(crate) on_at: At,
    pub(crate) buffer_at: At,
    pub(crate) k_at: At,
}

/// One table `[hosts.NAME]`.
#[derive(Clone, Debug)]
pub(crate) struct HostGroup {
    pub(crate) name: String,
    pub(crate) at: At,
    /// Its hosts, as numbers of the whole network.
    pub(crate) range: HostRange,
    /// Right of the bottleneck of a dumbbell.
    pub(crate) right: bool,
    pub(crate) stack: Stack,
    pub(crate) clock: ClockSpec,
    pub(crate) nic: NicSpec,
}

/// One table `[traffic.NAME]`.
#[derive(Clone, Debug)]
pub(crate) struct TrafficGroup {
    pub(crate) name: String,
    pub(crate) to_at: At,
    pub(crate) start_at: At,
    pub(crate) workload: &'static workload::Entry,
    pub(crate) args: Args,
}

impl TrafficGroup {
    /// The traffic, made anew each time: a sweep would hold a million flows per point otherwise.
    pub(crate) fn traffic(&self, site: &Site) -> Result<Traffic, Refusal> {
        self.workload.make(&self.args, site)
    }
}

/// The table `[probes]`.
#[derive(Clone, Debug)]
pub(crate) struct Probes {
    pub(crate) interval: Option<Duration>,
    pub(crate) groups: Vec<u16>,
    pub(crate) flows_per_group: u32,
    pub(crate) queues: bool,
    pub(crate) delays: bool,
    /// References as written, not looked up.
    pub(crate) trace: Vec<(String, At)>,
}

/// One table `[compare.bundles.NAME]`.
#[derive(Clone, Debug)]
pub(crate) struct Bundle {
    pub(crate) name: String,
    pub(crate) profile: Option<Named>,
    pub(crate) base: Option<Named>,
    pub(crate) settings: Vec<Setting>,
}

/// One point of the whole file.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) title: String,
    pub(crate) description: Option<String>,
    pub(crate) run: Run,
    pub(crate) topology: Topology,
    pub(crate) switch: SwitchPort,
    pub(crate) pipes: Vec<Pipe>,
    pub(crate) transport: Stack,
    pub(crate) hosts: Vec<HostGroup>,
    pub(crate) traffic: Vec<TrafficGroup>,
    pub(crate) disturbance: Disturbance,
    pub(crate) probes: Probes,
    /// What is compared; empty when nothing is.
    pub(crate) compare: Vec<Named>,
    pub(crate) bundles: Vec<Bundle>,
}

impl Model {
    /// The switches as the compared schemes, with their places.
    pub(crate) fn bundle(&self, name: &str) -> Option<&Bundle> {
        self.bundles.iter().find(|b| b.name == name)
    }

    /// How many hosts there are.
    /// What workloads may know of a run with this seed.
    pub(crate) fn site(&self, seed: u64) -> Site {
        let dumbbell = self.topology.kind == TopologyKind::Dumbbell;
        let facts = |group: &HostGroup, i: u32| HostFacts {
            name: format!("{}.{i}", group.name),
            rate: self.topology.rate,
            rack: u32::from(dumbbell && group.right),
        };
        let mut groups: Vec<&HostGroup> = self.hosts.iter().collect();
        groups.sort_by_key(|g| g.range.first);
        let hosts = groups.iter().flat_map(|g| (0..g.range.count).map(|i| facts(g, i)));
        Site { seed, end: Instant::ZERO + self.run.duration, hosts: hosts.collect() }
    }
    pub(crate) fn host_count(&self) -> u32 {
        self.hosts.iter().map(|g| g.range.end()).max().unwrap_or(0)
    }

    /// The group of a host.
    pub(crate) fn group_of(&self, host: u32) -> Option<(u16, &HostGroup)> {
        let index = self.hosts.iter().position(|g| g.range.contains(host))?;
        Some((index as u16, &self.hosts[index]))
    }
}
