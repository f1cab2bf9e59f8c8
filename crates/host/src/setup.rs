//! One fully resolved run: the input of [`crate::run`].

use lowtide_net::Blueprint;
use lowtide_rows::DeploymentClass;
use lowtide_sim::Seed;
use lowtide_tcp::Config;
use lowtide_traffic::{CollectiveSpec, Flow, QueryClientSpec, QuerySchedule};
use lowtide_units::{Duration, Instant};

use crate::clocks::clock::ClockSpec;
use crate::datapath::nic::NicSpec;

/// The end condition of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndCondition {
    /// Latest end.
    pub at: Duration,
    /// End as soon as all sized flows are delivered and all queries of all clients are complete.
    /// With [`Counting::open_loop`] only the counted ones are awaited. Failed ones never are.
    pub when_done: bool,
}

/// The flows and queries that statistics count: by arrival, never by completion. The default counts
/// every flow, and the queries after the warm-up.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counting {
    /// By traffic group: only flows that arrive after the warm-up are counted. The flows of other
    /// groups, and of those beyond the end of the list, have stated starts and are all counted.
    pub by_arrival: Vec<bool>,
    /// The load goes on beyond the counted arrivals.
    pub open_loop: Option<OpenLoop>,
}

/// A load that goes on beyond the counted arrivals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenLoop {
    /// End of counted arrivals, before any start jitter of flows.
    pub counted_until: Duration,
    /// Number of the first flow that only keeps the load up.
    pub load_from: u32,
}

/// Random variation by the seed. All zero makes the run independent of the seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Disturbance {
    /// Start jitter of each flow, and of each query client with all its queries: uniform up to
    /// this.
    pub start_jitter: Duration,
    /// Additional delay of each packet before a host handles it, uniform up to this; order is kept.
    pub host_jitter: Duration,
    /// ISNs and ephemeral ports depend on the seed.
    pub ports: bool,
    /// The order of events at the same picosecond depends on the seed.
    pub ties: bool,
    /// Path choice (ECMP) and the start of spraying depend on the seed.
    pub salts: bool,
}

impl Setup {
    /// Returns the name of a traffic group; `group 3` if it has none.
    pub fn group_name(&self, group: u16) -> String {
        let name = self.traffic_groups.get(group as usize).cloned();
        name.unwrap_or_else(|| format!("group {group}"))
    }

    /// Returns the name of a host; `host 7` if it has none.
    pub fn host_name(&self, host: u32) -> String {
        let name = self.network.hosts.get(host as usize).cloned();
        name.unwrap_or_else(|| format!("host {host}"))
    }

    /// Returns the class of a host in the deployment; `None` without a deployment.
    pub fn deployment_class(&self, host: u32) -> Option<DeploymentClass> {
        self.hosts.get(host as usize)?.deployment
    }

    /// Returns the seed of the random numbers of a congestion control: that of the client or the
    /// server of connection `ordinal` of a group. It depends on the run's seed and on these names
    /// only, so another group, and the order of the groups, change none.
    pub(crate) fn control_seed(&self, group: u16, ordinal: u32, is_client: bool) -> u64 {
        let name = self.traffic_groups.get(usize::from(group)).map_or("", String::as_str);
        let purpose = if is_client { "client control" } else { "server control" };
        Seed::derive(self.seed, name, ordinal.into(), purpose).value()
    }

    /// Returns true if a traffic group opens its connections early.
    pub fn opens_early(&self, group: u16) -> bool {
        self.early_groups.get(usize::from(group)) == Some(&true)
    }

    /// Returns the time at which connection `ordinal` of a group opens, if its transfer or first
    /// query begins at `start`.
    pub fn opening(&self, group: u16, ordinal: u32, start: Instant) -> Instant {
        if !self.opens_early(group) {
            return start;
        }
        start.min(Instant::ZERO + EARLY_SPACING * u64::from(ordinal))
    }

    /// Returns true if flow `number` only keeps the load up.
    pub fn is_load(&self, number: u32) -> bool {
        self.counting.open_loop.is_some_and(|open| number >= open.load_from)
    }

    /// Returns whether statistics count the flow `number` of `group`, which arrives at `start`.
    pub fn counts_flow(&self, group: u16, number: u32, start: Instant) -> bool {
        let by_arrival = self.counting.by_arrival.get(usize::from(group)) == Some(&true);
        let in_time = !by_arrival || start.since_start() >= self.warmup;
        in_time && !self.is_load(number)
    }

    /// Returns whether statistics count query `number` of a client, which begins at `start`.
    pub fn counts_query(&self, schedule: &QuerySchedule, number: u32, start: Instant) -> bool {
        self.counts_from(start) && (number as usize) < schedule.countable()
    }

    /// Returns whether statistics count queries and iterations that begin at `start`.
    pub(crate) fn counts_from(&self, start: Instant) -> bool {
        let start = start.since_start();
        let late = self.counting.open_loop.is_some_and(|open| start >= open.counted_until);
        start >= self.warmup && !late
    }

    /// Returns the start of the flow with that number, jitter included; `None` if there is no such
    /// flow.
    pub fn flow_start(&self, number: u32) -> Option<Instant> {
        let flow = self.flows.get(number as usize)?;
        let mut rng = Seed::derive(self.seed, "flow", number.into(), "start jitter").rng();
        Some(flow.start + rng.duration_below(self.disturbance.start_jitter))
    }
}

/// Time between the openings of two connections of a group that opens them early: one after
/// another, as the controller of flowgrind does. Chosen: longer than a round trip in a data centre.
pub const EARLY_SPACING: Duration = Duration::from_ms(1);

/// The sampling plan. It never changes the run or its digest.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProbePlan {
    /// Time between samples; `None` samples nothing.
    pub interval: Option<Duration>,
    /// Indices of the traffic groups whose senders are sampled.
    pub groups: Vec<u16>,
    /// Maximum sampled flows per group, the first ones.
    pub flows_per_group: u32,
    /// Also sample the length of the switch queues.
    pub queues: bool,
    /// Compare each queueing delay computed by a sampled flow with the true one.
    pub delays: bool,
    /// Flows that are traced ([`crate::Trace`]).
    pub trace: Vec<u32>,
}

/// One host.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HostSetup {
    /// Index into [`Setup::host_groups`].
    pub group: u16,
    /// Its TCP configuration, as a sender and as a receiver.
    pub config: Config,
    /// The clock for its stamps.
    pub clock: ClockSpec,
    /// The stages between its TCP and its line.
    pub nic: NicSpec,
    /// The class of its packets ([`lowtide_net::Packet::class`]), unless their traffic group has
    /// one ([`Setup::traffic_classes`]).
    pub class: u8,
    /// Its class in the deployment; it affects only the table of flows.
    pub deployment: Option<DeploymentClass>,
}

/// One run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setup {
    /// The run's seed.
    pub seed: u64,
    /// The end condition.
    pub end: EndCondition,
    /// Start of the statistics of queues and goodput.
    pub warmup: Duration,
    /// The flows and queries that statistics count.
    pub counting: Counting,
    /// Nodes and links; host `i` of the blueprint is `hosts[i]`.
    pub network: Blueprint,
    /// The hosts.
    pub hosts: Vec<HostSetup>,
    /// Names of the host groups.
    pub host_groups: Vec<String>,
    /// The flows; those that only keep the load up are last.
    pub flows: Vec<Flow>,
    /// The query clients. Their connections are numbered after the last of `flows`, client by
    /// client: one per server if persistent, otherwise one per query and server.
    pub query_clients: Vec<QueryClientSpec>,
    /// The collectives, whose connections are among `flows`.
    pub collectives: Vec<CollectiveSpec>,
    /// Names of the traffic groups.
    pub traffic_groups: Vec<String>,
    /// By traffic group: the class of all packets of its connections, in both directions, instead
    /// of that of the sending host. Groups beyond the end of the list have none.
    pub traffic_classes: Vec<Option<u8>>,
    /// By traffic group: its connections are open before its transfers and queries begin
    /// ([`Setup::opening`]). Groups beyond the end of the list open them as they begin.
    pub early_groups: Vec<bool>,
    /// Names of the classes at switches, in the order of their lists; empty without classes.
    pub packet_classes: Vec<String>,
    /// Random variation by the seed.
    pub disturbance: Disturbance,
    /// The sampling plan.
    pub probes: ProbePlan,
}
