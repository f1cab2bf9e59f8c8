//! Typed contents of a scenario: one point of a sweep, before a scheme is chosen.
//!
//! Contract: types only. A model was read without an error (`tables/`), so each key is valid.
//! `check/` checks keys in combination.

use lowtide_host::profile::HostProfile;
use lowtide_host::{ClockSpec, Disturbance, NicSpec};
use std::num::NonZeroU32;
use std::sync::Arc;

use lowtide_net::profiles::SwitchProfile;
use lowtide_net::topology::TopologyEntry;
use lowtide_net::{BufferSpec, MarkSpec, Routing, Service};
use lowtide_rows::ScenarioQuestion;
use lowtide_schema::Values;
use lowtide_traffic::workload::{
    self, Traffic, UserFile, WorkloadArgs, WorkloadContext, WorkloadError,
};
use lowtide_units::{Bytes, Duration, Fraction, Rate};
use serde::{Deserialize, Serialize};

use crate::range::HostRange;
use crate::settings::SwitchSetting;
use crate::toml_tree::SourceSpan;

/// A name and its location.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SpannedName {
    pub(crate) name: String,
    pub(crate) at: SourceSpan,
}

/// Transport settings of one table.
#[derive(Clone, Debug)]
pub(crate) struct TransportTable {
    pub(crate) profile: Option<SpannedName>,
    pub(crate) scheme: Option<SpannedName>,
    pub(crate) host_profile: Option<&'static HostProfile>,
    pub(crate) settings: Vec<SwitchSetting>,
}

lowtide_units::named_enum! {
    /// The end of a run: `end` of `[run]`.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) enum RunEnd ALL {
        /// Every flow with a size and every query is complete.
        Done = "done",
        /// Every counted flow and query is complete; until then the load goes on.
        CountedDone = "counted-done",
        /// The duration is over.
        Duration = "duration",
    }
}

/// The table `[run]`.
#[derive(Clone, Debug)]
pub(crate) struct RunTable {
    pub(crate) duration: Duration,
    pub(crate) duration_at: SourceSpan,
    pub(crate) warmup: Duration,
    pub(crate) warmup_at: SourceSpan,
    pub(crate) seeds: u64,
    pub(crate) first_seed: u64,
    pub(crate) end: RunEnd,
    pub(crate) end_at: SourceSpan,
    /// Latest end of [`RunEnd::CountedDone`], if stated.
    pub(crate) end_limit: Option<Duration>,
    pub(crate) end_limit_at: SourceSpan,
    pub(crate) allow_mismatch: bool,
}

/// Default of `end-limit`, in durations.
pub(crate) const END_LIMIT_DURATIONS: u64 = 4;

impl RunTable {
    /// Returns the latest end of the run.
    pub(crate) fn limit(&self) -> Duration {
        match self.end {
            RunEnd::CountedDone => self.end_limit.unwrap_or_else(|| {
                Duration::from_ps(self.duration.as_ps().saturating_mul(END_LIMIT_DURATIONS))
            }),
            RunEnd::Done | RunEnd::Duration => self.duration,
        }
    }
}

/// The table `[topology]`.
#[derive(Clone, Debug)]
pub(crate) struct Topology {
    pub(crate) entry: &'static TopologyEntry,
    pub(crate) at: SourceSpan,
    /// The values of all parameters.
    pub(crate) values: Values,
    /// Locations of the parameters.
    pub(crate) places: Vec<(&'static str, SourceSpan)>,
    /// The number of hosts, if it is fixed. Unknown after an error.
    pub(crate) host_count: Option<u64>,
    /// Listed switches and links; empty if the topology has none.
    pub(crate) graph: GraphTable,
    pub(crate) mtu: Bytes,
}

impl Topology {
    /// Location of a parameter, or else of the kind.
    pub(crate) fn span_of(&self, name: &str) -> SourceSpan {
        self.places.iter().find(|(n, _)| *n == name).map_or(self.at, |(_, at)| *at)
    }
}

/// Listed switches and links.
#[derive(Clone, Debug, Default)]
pub(crate) struct GraphTable {
    pub(crate) switches: Vec<SpannedName>,
    pub(crate) links: Vec<ParallelLinks>,
}

/// Parallel links of a list.
#[derive(Clone, Debug)]
pub(crate) struct ParallelLinks {
    pub(crate) ends: [SpannedName; 2],
    pub(crate) rate: Rate,
    pub(crate) delay: Duration,
    pub(crate) count: u32,
}

/// One table `[failure.NAME]`.
#[derive(Clone, Debug)]
pub(crate) struct LinkFailure {
    pub(crate) name: String,
    pub(crate) link: SpannedName,
    /// Index among parallel links.
    pub(crate) nth: u32,
    pub(crate) down: Duration,
    pub(crate) up: Option<Duration>,
    /// Location of its times.
    pub(crate) times_at: SourceSpan,
    pub(crate) detect: Duration,
    pub(crate) direction: String,
    /// The rate that is left; `None`: the link is down.
    pub(crate) rate: Option<Rate>,
    pub(crate) reweight: bool,
}

/// One table `mark`.
#[derive(Clone, Debug)]
pub(crate) struct MarkTable {
    pub(crate) spec: MarkSpec,
    /// Location of its kind, or else of the table.
    pub(crate) kind_at: SourceSpan,
    /// Locations of the other keys.
    pub(crate) keys: Vec<(&'static str, SourceSpan)>,
}

impl MarkTable {
    /// Location of a key, or else of the kind.
    pub(crate) fn span_of(&self, key: &str) -> SourceSpan {
        self.keys.iter().find(|(name, _)| *name == key).map_or(self.kind_at, |(_, at)| *at)
    }
}

/// Contents of `[switch]`, or of `[switch.at.NAME]`.
#[derive(Clone, Debug)]
pub(crate) struct SwitchPort {
    /// The switch, or its name without the number; empty for all switches.
    pub(crate) name: String,
    pub(crate) at: SourceSpan,
    pub(crate) buffer: BufferSpec,
    pub(crate) mark: MarkTable,
    pub(crate) count_in_service: bool,
    pub(crate) memory: Option<Bytes>,
    pub(crate) ports_per_memory: Option<NonZeroU32>,
    /// Profile that provides its defaults.
    pub(crate) profile: Option<&'static SwitchProfile>,
    pub(crate) buffer_at: SourceSpan,
}

/// One table `[switch.class.NAME]`.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub(crate) name: String,
    pub(crate) service: Service,
    /// `None` takes the buffer of the switch.
    pub(crate) buffer: Option<BufferSpec>,
    pub(crate) mark: Option<MarkTable>,
    pub(crate) buffer_at: SourceSpan,
}

/// The table `[switch]` and its subtables.
#[derive(Clone, Debug)]
pub(crate) struct Switch {
    pub(crate) all: SwitchPort,
    pub(crate) overrides: Vec<SwitchPort>,
    pub(crate) classes: Vec<Class>,
}

impl Switch {
    /// Returns the entry for a switch: that of its name before that of its name without the number.
    pub(crate) fn for_switch(&self, name: &str) -> &SwitchPort {
        let kind = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let entry = |of: &str| self.overrides.iter().find(|s| s.name == of);
        entry(name).or_else(|| entry(kind)).unwrap_or(&self.all)
    }

    /// Returns all entries, that of all switches first.
    pub(crate) fn each(&self) -> impl Iterator<Item = &SwitchPort> {
        std::iter::once(&self.all).chain(&self.overrides)
    }
}

/// One table `[pipe.NAME]`.
#[derive(Clone, Debug)]
pub(crate) struct PipeTable {
    pub(crate) name: String,
    pub(crate) on: Vec<SpannedName>,
    pub(crate) direction: String,
    pub(crate) rate: Option<Rate>,
    pub(crate) delay: Option<Duration>,
    pub(crate) buffer: Option<BufferSpec>,
    pub(crate) count_in_service: Option<bool>,
    pub(crate) loss: Fraction,
    pub(crate) mark: Option<MarkTable>,
    pub(crate) on_at: SourceSpan,
    pub(crate) buffer_at: SourceSpan,
}

/// One table `[hosts.NAME]`.
#[derive(Clone, Debug)]
pub(crate) struct HostGroup {
    pub(crate) name: String,
    pub(crate) at: SourceSpan,
    pub(crate) count_at: SourceSpan,
    /// Its hosts, as numbers in the whole network.
    pub(crate) range: HostRange,
    /// Index of its side in [`TopologyEntry::sides`]; 0 if there are none.
    pub(crate) side: usize,
    pub(crate) stack: TransportTable,
    pub(crate) clock: ClockSpec,
    pub(crate) nic: NicSpec,
    /// Index of its packets' class.
    pub(crate) class: u8,
}

lowtide_units::named_enum! {
    /// Sides of the moved hosts that move: `moves` of `[deployment]`.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum MovedSides ALL {
        /// Both.
        Both = "both",
        /// Only the senders.
        Senders = "senders",
        /// Only the receivers.
        Receivers = "receivers",
    }
}

lowtide_units::named_enum! {
    /// Units in which moved hosts are drawn: `draw` of `[deployment]`.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum HostDraw ALL {
        /// Single hosts.
        Random = "random",
        /// Whole racks.
        Rack = "rack",
    }
}

/// The table `[deployment]`.
#[derive(Clone, Debug)]
pub(crate) struct DeploymentTable {
    /// Its hosts as written.
    pub(crate) names: Vec<String>,
    /// Its hosts, in the order of `names`.
    pub(crate) hosts: Vec<u32>,
    /// The deployed scheme; without one the settings alone.
    pub(crate) to: Option<SpannedName>,
    /// Further settings of moved hosts.
    pub(crate) settings: Vec<SwitchSetting>,
    pub(crate) moves: MovedSides,
    pub(crate) share: Fraction,
    pub(crate) share_at: SourceSpan,
    pub(crate) draw: HostDraw,
    pub(crate) at: SourceSpan,
}

/// One table `[traffic.NAME]`.
#[derive(Clone, Debug)]
pub(crate) struct TrafficGroup {
    pub(crate) name: String,
    pub(crate) at: SourceSpan,
    /// Locations of its keys.
    pub(crate) places: Vec<(&'static str, SourceSpan)>,
    pub(crate) workload: &'static workload::WorkloadEntry,
    pub(crate) args: WorkloadArgs,
    /// Index of its packets' class; `None` takes the class of the sending host.
    pub(crate) class: Option<u8>,
    /// Its connections open before its transfers and queries begin.
    pub(crate) early: bool,
    /// Files that it is generated from.
    pub(crate) files: Vec<Arc<UserFile>>,
}

impl TrafficGroup {
    /// Location of a key, or else of the group.
    pub(crate) fn span_of(&self, key: &str) -> SourceSpan {
        self.places.iter().find(|(name, _)| *name == key).map_or(self.at, |(_, at)| *at)
    }
    /// Generates the traffic on each call: a sweep would hold a million flows per point otherwise.
    pub(crate) fn traffic(&self, ctx: &WorkloadContext) -> Result<Traffic, WorkloadError> {
        self.workload.generate(&self.args, ctx)
    }
}

/// The table `[probes]`.
#[derive(Clone, Debug)]
pub(crate) struct ProbesTable {
    pub(crate) interval: Option<Duration>,
    pub(crate) groups: Vec<u16>,
    pub(crate) flows_per_group: u32,
    pub(crate) queues: bool,
    pub(crate) delays: bool,
    /// References as written, unresolved.
    pub(crate) trace: Vec<(String, SourceSpan)>,
    /// Upper ends of the ranges of flow sizes, ascending.
    pub(crate) size_classes: Vec<Bytes>,
}

/// One table `[compare.bundles.NAME]`.
#[derive(Clone, Debug)]
pub(crate) struct Bundle {
    pub(crate) name: String,
    pub(crate) profile: Option<SpannedName>,
    pub(crate) base: Option<SpannedName>,
    pub(crate) settings: Vec<SwitchSetting>,
}

/// One point of the whole file.
#[derive(Clone, Debug)]
pub(crate) struct ScenarioModel {
    pub(crate) title: String,
    pub(crate) description: Option<String>,
    pub(crate) run: RunTable,
    pub(crate) topology: Topology,
    pub(crate) routing: Routing,
    pub(crate) failures: Vec<LinkFailure>,
    pub(crate) switch: Switch,
    pub(crate) pipes: Vec<PipeTable>,
    pub(crate) transport: TransportTable,
    pub(crate) hosts: Vec<HostGroup>,
    pub(crate) deployment: Option<DeploymentTable>,
    pub(crate) traffic: Vec<TrafficGroup>,
    pub(crate) disturbance: Disturbance,
    pub(crate) probes: ProbesTable,
    /// Names of the compared schemes; empty without a comparison.
    pub(crate) compare: Vec<SpannedName>,
    pub(crate) bundles: Vec<Bundle>,
    pub(crate) question: Option<ScenarioQuestion>,
}

impl ScenarioModel {
    /// Returns the bundle of that name.
    pub(crate) fn bundle(&self, name: &str) -> Option<&Bundle> {
        self.bundles.iter().find(|b| b.name == name)
    }

    /// Returns the number of hosts.
    pub(crate) fn host_count(&self) -> u32 {
        self.hosts.iter().map(|g| g.range.end()).max().unwrap_or(0)
    }

    /// Returns the group of a host.
    pub(crate) fn group_of(&self, host: u32) -> Option<(u16, &HostGroup)> {
        let index = self.hosts.iter().position(|g| g.range.contains(host))?;
        Some((index as u16, &self.hosts[index]))
    }
}
