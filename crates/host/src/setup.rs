//! One run, fully resolved: what [`crate::run`] is given.

use lowtide_net::Blueprint;
use lowtide_sim::Seed;
use lowtide_tcp::Config;
use lowtide_traffic::{Flow, QueryClientSpec};
use lowtide_units::{Duration, Instant};

use crate::clock::ClockSpec;
use crate::nic::NicSpec;

/// When a run ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndCondition {
    /// At the latest.
    pub at: Duration,
    /// Already when every flow with a size has been delivered and the last query of every asker is
    /// complete. What has failed is not waited for.
    pub when_done: bool,
}

/// What the seed moves. All zero gives a run that does not depend on the seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Disturbance {
    /// Each flow, and each asker with all its queries, starts up to this much later, uniformly.
    pub start_jitter: Duration,
    /// Each packet waits up to this much longer before a host handles it, uniformly; order is kept.
    pub host_jitter: Duration,
    /// ISNs and ephemeral ports depend on the seed.
    pub ports: bool,
    /// The order of events at the same picosecond depends on the seed.
    pub ties: bool,
    /// Which of several equal ways a flow takes (ECMP), and where spraying begins, depends on the seed.
    pub salts: bool,
}

impl Setup {
    /// When the flow of that number begins, jitter included; `None` for one that there is not.
    pub fn flow_start(&self, number: u32) -> Option<Instant> {
        let flow = self.flows.get(number as usize)?;
        let mut rng = Seed::derive(self.seed, "flow", number.into(), "start jitter").rng();
        Some(flow.start + rng.duration_below(self.disturbance.start_jitter))
    }
}

/// What is sampled while the run goes on. It never changes the run or its digest.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProbePlan {
    /// Time between samples; `None` samples nothing.
    pub interval: Option<Duration>,
    /// Indices of the traffic groups whose senders are sampled.
    pub groups: Vec<u16>,
    /// Most flows sampled per group, the first ones.
    pub flows_per_group: u32,
    /// Sample the length of the switch queues too.
    pub queues: bool,
    /// Set each queueing delay that a sampled flow computes beside the true one.
    pub delays: bool,
    /// Flows of which everything is recorded ([`crate::Trace`]).
    pub trace: Vec<u32>,
}

/// One host.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HostSetup {
    /// Index into [`Setup::host_groups`].
    pub group: u16,
    /// How its TCP behaves, as a sender and as a receiver.
    pub config: Config,
    /// Its clock, from which its stamps come.
    pub clock: ClockSpec,
    /// What stands between its TCP and its line.
    pub nic: NicSpec,
    /// The class of the packets that it sends ([`lowtide_net::Packet::class`]), but of those whose traffic
    /// group has one ([`Setup::traffic_classes`]).
    pub class: u8,
}

/// One run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setup {
    /// The run's seed.
    pub seed: u64,
    /// When it ends.
    pub end: EndCondition,
    /// Statistics of queues and goodput start here.
    pub warmup: Duration,
    /// Nodes and links; host `i` of the blueprint is `hosts[i]`.
    pub network: Blueprint,
    /// The hosts.
    pub hosts: Vec<HostSetup>,
    /// Names of the host groups.
    pub host_groups: Vec<String>,
    /// The flows.
    pub flows: Vec<Flow>,
    /// The clients that ask servers. Their connections have the flow numbers after the last of `flows`, asker
    /// by asker: one per server where they stay open, else one per query and server that it goes to.
    pub query_clients: Vec<QueryClientSpec>,
    /// Names of the traffic groups.
    pub traffic_groups: Vec<String>,
    /// By traffic group: the class of all packets of its connections, in both directions, where it is not
    /// that of the host that sends them. Groups beyond the end of the list have none.
    pub traffic_classes: Vec<Option<u8>>,
    /// Names of the classes at switches, in the order of their lists; empty where there are none.
    pub packet_classes: Vec<String>,
    /// What the seed moves.
    pub disturbance: Disturbance,
    /// What is sampled.
    pub probes: ProbePlan,
}
