//! Facts of one run: per traffic group and per queue, computed from its tables alone.
//!
//! Contract: no statistic silently omits a flow that did not end ([`crate::CompletionTimes`]).

use std::collections::BTreeMap;

use lowtide_record::{RunKey, RunTables};
use lowtide_rows::{EndReason, FlowRow, FlowStatus, QueueRow, RunRow};
use serde::Serialize;

use crate::collectives::{self, CollectiveFacts};
use crate::goodput::DeliveredBytes;
use crate::queries::{self, QueryFacts};
use crate::queues::{self, BufferPoolFacts, QueueFacts};
use crate::samples::FlowSamples;
use crate::signals::SignalFacts;
use crate::srtt::Srtt;
use crate::times::{CompletionTimes, SizeClassFacts, blocked_on, by_size_class, in_warmup};
use crate::transport_facts::TransportFacts;
use crate::warmup::Transient;

/// The first timeout of a SYN (RFC 6298 §2.1), picoseconds.
const SYN_TIMEOUT_PS: u64 = 1_000_000_000_000;

/// Facts of one run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RunFacts {
    /// The run.
    #[serde(flatten)]
    pub key: RunKey,
    /// Digest of its events.
    pub digest: String,
    /// Reason of its end: `time`, `done` or `idle`.
    pub reason: String,
    /// Time of its end in virtual time, milliseconds.
    pub ended_ms: f64,
    /// Stated end of the warm-up, milliseconds.
    pub warmup_ms: f64,
    /// The open loop; null if no load goes on beyond the counted arrivals.
    pub open_loop: Option<OpenLoopFacts>,
    /// Traffic groups, in the order of their first flows.
    pub groups: Vec<GroupFacts>,
    /// Queries of traffic groups with query clients, after the warm-up.
    pub queries: Vec<QueryFacts>,
    /// Iterations of traffic groups that are collectives, after the warm-up.
    pub collectives: Vec<CollectiveFacts>,
    /// The queues at switches.
    pub queues: Vec<QueueFacts>,
    /// Buffer pools that queues of a switch share; empty without any.
    pub buffer_pools: Vec<BufferPoolFacts>,
    /// Packets lost in the whole network.
    #[serde(flatten)]
    pub losses: NetworkDrops,
    /// Packets serialised by all output queues.
    #[serde(skip)]
    pub hops: u64,
}

/// The end of an open loop, whose load goes on until all counted flows are done.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct OpenLoopFacts {
    /// End of counted arrivals, milliseconds.
    pub counted_until_ms: f64,
    /// Whether the run reached its limit before all counted flows were done.
    pub cut: bool,
    /// If it did, the largest offered load of a tier of the network, as a share of its lines.
    pub offered_load: Option<f64>,
    /// The tier with that load.
    pub offered_load_tier: Option<String>,
}

impl OpenLoopFacts {
    fn new(run: &RunRow) -> Option<Self> {
        run.counted_until_ps.map(|until| Self {
            counted_until_ms: ms(until),
            cut: run.reason == EndReason::Time,
            offered_load: run.offered_load_ppm.map(|ppm| f64::from(ppm) / 1e6),
            offered_load_tier: run.offered_load_tier.clone(),
        })
    }
}

/// Packets lost in the whole network, hosts included, after the warm-up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct NetworkDrops {
    /// All, of the five kinds below.
    pub drops: u64,
    /// Packets dropped because a buffer was full.
    pub overflow_drops: u64,
    /// Packets dropped by an AQM.
    pub aqm_drops: u64,
    /// Packets lost at random.
    pub random_losses: u64,
    /// Packets lost to link failures.
    pub link_down_drops: u64,
    /// Packets dropped because a switch had no route to their host.
    pub no_route_drops: u64,
}

impl NetworkDrops {
    fn new(tables: &RunTables) -> Self {
        let sum = |read: fn(&QueueRow) -> u64| tables.queues.iter().map(read).sum::<u64>();
        let counts = &tables.run.counts;
        let (link_down_drops, no_route_drops) = (counts.link_down_drops, counts.no_route_drops);
        let overflow_drops = sum(|q| q.served.overflow_drops);
        let (aqm_drops, random_losses) =
            (sum(|q| q.served.aqm_drops), sum(|q| q.losses.random_losses));
        let drops = overflow_drops + aqm_drops + random_losses + link_down_drops + no_route_drops;
        Self { drops, overflow_drops, aqm_drops, random_losses, link_down_drops, no_route_drops }
    }
}

/// The flows of one traffic group in one run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct GroupFacts {
    /// Its name.
    pub name: String,
    /// Number of counted flows.
    pub flows: usize,
    /// Size of each flow, if all have the same.
    pub size_bytes: Option<u64>,
    /// Flows with a size that were censored by the end of the run.
    pub unfinished: usize,
    /// Censored flows by what they waited for: the column `blocked_on` of the table `flows`, or
    /// `unknown`.
    pub blocked_on: BTreeMap<String, usize>,
    /// Flows whose connection failed.
    pub failed: usize,
    /// Of all, flows whose handshake took a second, the first timeout of a SYN (RFC 6298 §2.1), or
    /// never ended.
    #[serde(skip)]
    pub late_handshakes: usize,
    /// Further flows with a size that began during the warm-up and are not counted.
    pub in_warmup: usize,
    /// Transient that MSER-5 finds in the slowdown of its flows; `None` if they are too few.
    pub transient: Option<Transient>,
    /// Completion times, from the application's open to its last byte delivered.
    pub fct_ms: CompletionTimes,
    /// Completion times over the ideal ones.
    pub slowdown: CompletionTimes,
    /// Facts by flow size, if sizes differ; only classes with flows.
    pub classes: Vec<SizeClassFacts>,
    /// Bytes delivered after the warm-up, over the time from the first open (or the warm-up) to the
    /// last delivery (or the end of the run), Mbit/s.
    pub goodput_mbps: Option<f64>,
    /// Jain's index over the goodput of the flows, if there are at least two.
    pub jain: Option<f64>,
    /// Smoothed round-trip times at the end of the flows, as their hosts report them.
    pub srtt_ms: Srtt,
    /// Retransmission timeouts; `None` if a sender did not count them.
    pub rto_count: Option<u64>,
    /// Payload bytes sent more than once; `None` if a sender did not count them.
    pub retx_bytes: Option<u64>,
    /// Share of the received payload bytes that carried CE.
    pub marked_fraction: Option<f64>,
    /// Requested and effective congestion controls and ECN modes of its flows, with counts.
    pub transports: Vec<TransportFacts>,
    /// Congestion signals of its flows; `None` if an end did not count them.
    pub signals: Option<SignalFacts>,
    /// The durations behind the statistics.
    #[serde(skip)]
    pub(crate) samples: FlowSamples,
}

impl RunFacts {
    /// Computes the facts of a run from its tables. `size_classes` are the upper ends of the size
    /// classes: bytes, ascending, inclusive.
    pub fn new(key: &RunKey, tables: &RunTables, size_classes: &[u64]) -> Self {
        let run = &tables.run;
        let mut names: Vec<&str> = Vec::new();
        for flow in &tables.flows {
            if !names.contains(&&*flow.group) {
                names.push(&flow.group);
            }
        }
        let group = |name: &&str| {
            let flows: Vec<&FlowRow> = tables.flows.iter().filter(|f| f.group == **name).collect();
            let counted: Vec<&FlowRow> = flows.iter().copied().filter(|f| f.is_counted()).collect();
            let times = (run.warmup_ps, run.ended_ps);
            let classes = by_size_class(&flows, times, size_classes);
            GroupFacts { classes, ..GroupFacts::new(name, &flows, &counted, times) }
        };
        Self {
            key: key.clone(),
            digest: run.digest.clone(),
            reason: run.reason.name().to_owned(),
            ended_ms: ms(run.ended_ps),
            warmup_ms: ms(run.warmup_ps),
            open_loop: OpenLoopFacts::new(run),
            groups: names.iter().map(group).collect(),
            queries: queries::facts(&tables.queries, run.ended_ps),
            collectives: collectives::facts(&tables.collectives, run.ended_ps),
            queues: queues::facts(tables),
            buffer_pools: tables.buffer_pools.iter().map(BufferPoolFacts::new).collect(),
            losses: NetworkDrops::new(tables),
            hops: run.counts.hops,
        }
    }

    /// Returns the facts of a group.
    pub fn group(&self, name: &str) -> Option<&GroupFacts> {
        self.groups.iter().find(|g| g.name == name)
    }

    /// Returns the queries of a group.
    pub fn queries(&self, name: &str) -> Option<&QueryFacts> {
        self.queries.iter().find(|q| q.name == name)
    }

    /// Returns the collective of a group.
    pub fn collective(&self, name: &str) -> Option<&CollectiveFacts> {
        self.collectives.iter().find(|c| c.name == name)
    }

    /// Returns the facts of a queue.
    pub fn queue(&self, name: &str) -> Option<&QueueFacts> {
        self.queues.iter().find(|q| q.name == name)
    }

    /// Returns the facts of a buffer pool, by its name.
    pub fn buffer_pool(&self, name: &str) -> Option<&BufferPoolFacts> {
        self.buffer_pools.iter().find(|m| m.name == name)
    }
}

impl GroupFacts {
    /// Returns the flows of one size class, by its name.
    pub fn class(&self, name: &str) -> Option<&SizeClassFacts> {
        self.classes.iter().find(|c| c.name() == name)
    }

    /// `counted` are those of `flows` that statistics of flows count. Rates and shares of packets
    /// are those of all flows.
    fn new(
        name: &str,
        flows: &[&FlowRow],
        counted: &[&FlowRow],
        (warmup_ps, ended_ps): (u64, u64),
    ) -> Self {
        let count = |status: FlowStatus| {
            counted.iter().filter(|f| f.status == status && f.size_bytes.is_some()).count()
        };
        let first_size = counted.first().and_then(|f| f.size_bytes);
        let sum = |of: fn(&FlowRow) -> Option<u64>, flows: &[&FlowRow]| {
            flows.iter().map(|f| of(f)).sum::<Option<u64>>()
        };
        let received = sum(|f| f.received_bytes, flows).filter(|bytes| *bytes > 0);
        let marked = sum(|f| f.received_ce_bytes, flows);
        // The load after the counted arrivals says nothing about the warm-up.
        let early = |f: &&&FlowRow| f.is_counted() || f.start_ps < warmup_ps;
        let in_time: Vec<&FlowRow> = flows.iter().filter(early).copied().collect();
        let samples = FlowSamples::new(counted, ended_ps);
        let delivered = |flows: &[&FlowRow]| -> Vec<DeliveredBytes> {
            flows.iter().map(|f| DeliveredBytes::of_flow(f, warmup_ps, ended_ps)).collect()
        };
        Self {
            name: name.to_owned(),
            flows: counted.len(),
            size_bytes: first_size.filter(|_| counted.iter().all(|f| f.size_bytes == first_size)),
            unfinished: count(FlowStatus::Unfinished),
            blocked_on: blocked_on(counted),
            failed: counted.iter().filter(|f| f.status == FlowStatus::Failed).count(),
            late_handshakes: counted
                .iter()
                .filter(|f| f.established_ps.is_none_or(|at| at >= f.start_ps + SYN_TIMEOUT_PS))
                .count(),
            in_warmup: in_warmup(flows, warmup_ps),
            transient: Transient::detect(&in_time),
            fct_ms: CompletionTimes::new(&samples.fct_ms),
            slowdown: CompletionTimes::new(&samples.slowdown),
            classes: Vec::new(),
            goodput_mbps: delivered(flows)
                .into_iter()
                .reduce(DeliveredBytes::merge)
                .and_then(DeliveredBytes::mbps),
            jain: jain(&delivered(counted)),
            srtt_ms: Srtt::new(flows),
            rto_count: sum(|f| f.tcp.rto_count, counted),
            retx_bytes: sum(|f| f.tcp.bytes_retrans, counted),
            marked_fraction: received.zip(marked).map(|(all, marked)| marked as f64 / all as f64),
            transports: TransportFacts::of(flows),
            signals: SignalFacts::new(flows),
            samples,
        }
    }
}

/// Returns the runs of two schemes for the seeds that both have, in the same order.
pub fn paired<'a>(runs: &[&'a RunFacts], [a, b]: [&str; 2]) -> [Vec<&'a RunFacts>; 2] {
    let partner = |run: &&'a RunFacts| {
        let is = |other: &&&RunFacts| other.key.scheme == b && other.key.seed == run.key.seed;
        Some((*run, *runs.iter().find(is)?))
    };
    let (a, b) = runs.iter().filter(|run| run.key.scheme == a).filter_map(partner).unzip();
    [a, b]
}

const fn ms(ps: u64) -> f64 {
    ps as f64 / 1e9
}

/// Jain's index (Jain, Chiu and Hawe 1984): the squared sum over n times the sum of squares.
fn jain(flows: &[DeliveredBytes]) -> Option<f64> {
    let rates: Vec<f64> = flows.iter().filter_map(|f| f.mbps()).collect();
    let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|r| r * r).sum::<f64>());
    (rates.len() > 1 && squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

#[cfg(test)]
pub(crate) mod tests {
    use lowtide_rows::StallReason;

    use super::*;
    use crate::times::tests::flow;

    /// Returns the facts of a run that has one group of flows and nothing else.
    pub(crate) fn facts_of(key: &RunKey, flows: &[FlowRow]) -> RunFacts {
        let flows: Vec<&FlowRow> = flows.iter().collect();
        let ended_ps = 1_000_000_000_000;
        let classes =
            by_size_class(&flows, (0, ended_ps), &[10_000, 100_000, 1_000_000, 10_000_000]);
        RunFacts {
            key: key.clone(),
            digest: String::new(),
            reason: "done".to_owned(),
            ended_ms: ms(ended_ps),
            warmup_ms: 0.0,
            open_loop: None,
            groups: vec![GroupFacts {
                classes,
                ..GroupFacts::new("short", &flows, &flows, (0, ended_ps))
            }],
            queries: Vec::new(),
            collectives: Vec::new(),
            queues: Vec::new(),
            buffer_pools: Vec::new(),
            losses: NetworkDrops::default(),
            hops: 0,
        }
    }

    #[test]
    fn goodput_counts_from_the_first_open_to_the_last_delivery() {
        let flows =
            [flow(10, Some(10), FlowStatus::Complete), flow(10, Some(30), FlowStatus::Complete)];
        let flows: Vec<_> = flows.iter().collect();
        let facts = GroupFacts::new("short", &flows, &flows, (0, 1_000_000_000_000));
        assert_eq!(facts.goodput_mbps, Some(2_000_000.0 * 8.0 / 0.030 / 1e6));
        let [fast, slow] = [800.0, 8.0 / 0.03];
        let expected = (fast + slow) * (fast + slow) / (2.0 * (fast * fast + slow * slow));
        assert!((facts.jain.unwrap() - expected).abs() < 1e-12);
        assert_eq!(facts.size_bytes, Some(1_000_000));
        assert_eq!(facts.marked_fraction, None);
    }

    #[test]
    fn an_endless_flow_is_measured_from_the_warmup_to_the_end() {
        let endless = FlowRow { size_bytes: None, ..flow(0, None, FlowStatus::Unfinished) };
        let (flows, times) = ([&endless], (20_000_000_000, 100_000_000_000));
        let facts = GroupFacts::new("long", &flows, &flows, times);
        assert_eq!(facts.goodput_mbps, Some(100.0));
        assert_eq!((facts.unfinished, facts.jain, facts.size_bytes), (0, None, None));
        assert_eq!(facts.fct_ms, CompletionTimes::default());
    }

    #[test]
    fn censored_flows_report_what_they_waited_for() {
        let unfinished = |blocked_on: Option<StallReason>| FlowRow {
            blocked_on,
            ..flow(0, None, FlowStatus::Unfinished)
        };
        let endless = FlowRow { size_bytes: None, ..unfinished(Some(StallReason::Sending)) };
        let flows = [
            unfinished(Some(StallReason::Rto)),
            unfinished(Some(StallReason::Handshake)),
            unfinished(Some(StallReason::Rto)),
            unfinished(None),
            endless,
            flow(0, Some(1), FlowStatus::Complete),
            flow(0, None, FlowStatus::Failed),
        ];
        let flows: Vec<&FlowRow> = flows.iter().collect();
        let facts = GroupFacts::new("short", &flows, &flows, (0, 1));
        assert_eq!((facts.unfinished, facts.failed), (4, 1));
        let blocked_on: Vec<(&str, usize)> =
            facts.blocked_on.iter().map(|(what, n)| (what.as_str(), *n)).collect();
        assert_eq!(blocked_on, [("handshake", 1), ("rto", 2), ("unknown", 1)]);
    }
}
