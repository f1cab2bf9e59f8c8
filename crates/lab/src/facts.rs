//! Statistics of one run per traffic group and per queue, computed from its tables alone.
//!
//! Contract: a flow that did not complete is never dropped silently ([`crate::CompletionTimes`]).

use std::collections::BTreeMap;

use lowtide_record::{FlowRow, RunKey, RunTables};
use serde::Serialize;

use crate::queries::{self, QueryFacts};
use crate::queues::{self, BufferPoolFacts, QueueFacts};
use crate::signals::SignalFacts;
use crate::srtt::Srtt;
use crate::times::{CompletionTimes, SizeClassFacts, Slowdown, by_size_class};
use crate::transports::TransportFacts;

/// One run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RunFacts {
    /// The run.
    #[serde(flatten)]
    pub key: RunKey,
    /// Digest of its physics.
    pub digest: String,
    /// Cause of its end: `time`, `done` or `idle`.
    pub reason: String,
    /// End of the run, in milliseconds of virtual time.
    pub ended_ms: f64,
    /// The traffic groups, in the order of their first flows.
    pub groups: Vec<GroupFacts>,
    /// The queries of traffic groups with query clients, after the warm-up.
    pub queries: Vec<QueryFacts>,
    /// The queues at switches.
    pub queues: Vec<QueueFacts>,
    /// The shared buffer pools of switches; empty if there are none.
    pub memories: Vec<BufferPoolFacts>,
    /// Packets lost on failed links, after the warm-up.
    pub cut: u64,
    /// Packets dropped after the warm-up because a switch had no route to their host.
    pub unrouted: u64,
    /// Packets serialised by any output queue.
    #[serde(skip)]
    pub hops: u64,
}

/// The flows of one traffic group in one run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct GroupFacts {
    /// Its name.
    pub name: String,
    /// Number of flows.
    pub flows: usize,
    /// Flow size, if all have the same.
    pub size_bytes: Option<u64>,
    /// Finite flows that are right-censored by the end of the run.
    pub unfinished: usize,
    /// Number of unfinished flows by their state, the column `stopped` of the table `flows`;
    /// `unknown` if it is not recorded.
    pub stopped: BTreeMap<String, usize>,
    /// Flows whose connection failed.
    pub failed: usize,
    /// Completion times, from the application's open to the delivery of the last byte.
    pub fct_ms: CompletionTimes,
    /// Completion times divided by the ideal ones.
    pub slowdown: Slowdown,
    /// Statistics by flow size, if sizes differ; only non-empty classes.
    pub classes: Vec<SizeClassFacts>,
    /// Bytes delivered after the warm-up per time, from the first open (or the warm-up) to the last
    /// delivery (or the end of the run).
    pub goodput_mbps: Option<f64>,
    /// Jain's index over the goodput of the flows; for at least two flows.
    pub jain: Option<f64>,
    /// Smoothed RTTs at the end of the flows, as their hosts report them.
    pub srtt_ms: Srtt,
    /// Retransmission timeouts; `None` if a sender did not count them.
    pub rto_count: Option<u64>,
    /// Retransmitted payload bytes; `None` if a sender did not count them.
    pub retx_bytes: Option<u64>,
    /// Fraction of the arriving payload bytes that carried CE.
    pub marked_fraction: Option<f64>,
    /// Congestion controls and ECN modes that its flows requested and used, with counts.
    pub transports: Vec<TransportFacts>,
    /// Congestion signals of its senders; `None` if an endpoint did not count them.
    pub signals: Option<SignalFacts>,
}

impl RunFacts {
    /// Evaluates the tables of the run, with flows in size classes that end at `size_classes`
    /// (bytes, ascending, inclusive).
    pub fn new(key: &RunKey, tables: &RunTables, size_classes: &[u64]) -> Self {
        let run = &tables.run;
        let mut names: Vec<&str> = Vec::new();
        for flow in &tables.flows {
            if !names.contains(&flow.group.as_str()) {
                names.push(&flow.group);
            }
        }
        let group = |name: &&str| {
            let flows: Vec<&FlowRow> = tables.flows.iter().filter(|f| f.group == **name).collect();
            let classes = by_size_class(&flows, run.ended_ps, size_classes);
            GroupFacts { classes, ..GroupFacts::new(name, &flows, run.warmup_ps, run.ended_ps) }
        };
        Self {
            key: key.clone(),
            digest: run.digest.clone(),
            reason: run.reason.clone(),
            ended_ms: ms(run.ended_ps),
            groups: names.iter().map(group).collect(),
            queries: queries::facts(&tables.queries, run.ended_ps),
            queues: queues::facts(tables),
            memories: tables.memories.iter().map(BufferPoolFacts::new).collect(),
            cut: run.cut,
            unrouted: run.unrouted,
            hops: run.hops,
        }
    }

    /// The facts of a group.
    pub fn group(&self, name: &str) -> Option<&GroupFacts> {
        self.groups.iter().find(|g| g.name == name)
    }

    /// The queries of a group.
    pub fn queries(&self, name: &str) -> Option<&QueryFacts> {
        self.queries.iter().find(|q| q.name == name)
    }

    /// The facts of a queue.
    pub fn queue(&self, name: &str) -> Option<&QueueFacts> {
        self.queues.iter().find(|q| q.name == name)
    }

    /// The facts of a buffer pool, by its name.
    pub fn buffer_pool(&self, name: &str) -> Option<&BufferPoolFacts> {
        self.memories.iter().find(|m| m.name == name)
    }
}

impl GroupFacts {
    /// The flows of one size class, by its name.
    pub fn class(&self, name: &str) -> Option<&SizeClassFacts> {
        self.classes.iter().find(|c| c.name() == name)
    }

    fn new(name: &str, flows: &[&FlowRow], warmup_ps: u64, ended_ps: u64) -> Self {
        let count = |status: &str| {
            flows.iter().filter(|f| f.status == status && f.size_bytes.is_some()).count()
        };
        let first_size = flows.first().and_then(|f| f.size_bytes);
        let sum =
            |of: fn(&FlowRow) -> Option<u64>| flows.iter().map(|f| of(f)).sum::<Option<u64>>();
        let received = sum(|f| f.received_bytes).filter(|bytes| *bytes > 0);
        let marked = sum(|f| f.marked_bytes);
        Self {
            name: name.to_owned(),
            flows: flows.len(),
            size_bytes: first_size.filter(|_| flows.iter().all(|f| f.size_bytes == first_size)),
            unfinished: count("unfinished"),
            stopped: stopped(flows),
            failed: flows.iter().filter(|f| f.status == "failed").count(),
            fct_ms: CompletionTimes::new(flows, ended_ps),
            slowdown: Slowdown::new(flows, ended_ps),
            classes: Vec::new(),
            goodput_mbps: goodput_mbps(flows, warmup_ps, ended_ps),
            jain: jain(flows, warmup_ps, ended_ps),
            srtt_ms: Srtt::new(flows),
            rto_count: sum(|f| f.rto_count),
            retx_bytes: sum(|f| f.bytes_retrans),
            marked_fraction: received.zip(marked).map(|(all, marked)| marked as f64 / all as f64),
            transports: TransportFacts::of(flows),
            signals: SignalFacts::new(flows),
        }
    }
}

/// States of the finite flows that are right-censored.
fn stopped(flows: &[&FlowRow]) -> BTreeMap<String, usize> {
    let mut out = BTreeMap::new();
    for flow in flows.iter().filter(|f| f.status == "unfinished" && f.size_bytes.is_some()) {
        let what = flow.stopped.clone().unwrap_or_else(|| "unknown".to_owned());
        *out.entry(what).or_default() += 1;
    }
    out
}

const fn ms(ps: u64) -> f64 {
    ps as f64 / 1e9
}

/// Interval in which a flow's deliveries count; `None` if it is empty.
fn span(flow: &FlowRow, warmup_ps: u64, ended_ps: u64) -> Option<(u64, u64)> {
    let (from, to) = (flow.start_ps.max(warmup_ps), flow.delivered_ps.unwrap_or(ended_ps));
    (from < to).then_some((from, to))
}

/// Bytes per picoseconds as Mbit/s.
fn mbps(bytes: u64, ps: u64) -> f64 {
    bytes as f64 * 8e6 / ps as f64
}

fn goodput_mbps(flows: &[&FlowRow], warmup_ps: u64, ended_ps: u64) -> Option<f64> {
    let spans = || flows.iter().filter_map(|f| span(f, warmup_ps, ended_ps));
    let from = spans().map(|(from, _)| from).min()?;
    let to = spans().map(|(_, to)| to).max()?;
    Some(mbps(flows.iter().map(|f| f.delivered_after_warmup_bytes).sum(), to - from))
}

/// Jain, Chiu and Hawe 1984: the squared sum divided by n times the sum of squares.
fn jain(flows: &[&FlowRow], warmup_ps: u64, ended_ps: u64) -> Option<f64> {
    let rates: Vec<f64> = flows
        .iter()
        .filter_map(|f| {
            let (from, to) = span(f, warmup_ps, ended_ps)?;
            Some(mbps(f.delivered_after_warmup_bytes, to - from))
        })
        .collect();
    let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|r| r * r).sum::<f64>());
    (rates.len() > 1 && squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::times::tests::flow;

    #[test]
    fn goodput_counts_from_the_first_open_to_the_last_delivery() {
        let flows = [flow(10, Some(10), "complete"), flow(10, Some(30), "complete")];
        let flows: Vec<_> = flows.iter().collect();
        let facts = GroupFacts::new("short", &flows, 0, 1_000_000_000_000);
        assert_eq!(facts.goodput_mbps, Some(2_000_000.0 * 8.0 / 0.030 / 1e6));
        let [fast, slow] = [800.0, 8.0 / 0.03];
        let expected = (fast + slow) * (fast + slow) / (2.0 * (fast * fast + slow * slow));
        assert!((facts.jain.unwrap() - expected).abs() < 1e-12);
        assert_eq!(facts.size_bytes, Some(1_000_000));
        assert_eq!(facts.marked_fraction, None);
    }

    #[test]
    fn an_endless_flow_is_measured_from_the_warmup_to_the_end() {
        let endless = FlowRow { size_bytes: None, ..flow(0, None, "unfinished") };
        let facts = GroupFacts::new("long", &[&endless], 20_000_000_000, 100_000_000_000);
        assert_eq!(facts.goodput_mbps, Some(100.0));
        assert_eq!((facts.unfinished, facts.jain, facts.size_bytes), (0, None, None));
        assert_eq!(facts.fct_ms, CompletionTimes::default());
    }

    #[test]
    fn censored_flows_are_counted_by_their_state() {
        let cut = |stopped: Option<&str>| FlowRow {
            stopped: stopped.map(str::to_owned),
            ..flow(0, None, "unfinished")
        };
        let endless = FlowRow { size_bytes: None, ..cut(Some("sending")) };
        let flows = [
            cut(Some("rto")),
            cut(Some("handshake")),
            cut(Some("rto")),
            cut(None),
            endless,
            flow(0, Some(1), "complete"),
            flow(0, None, "failed"),
        ];
        let facts = GroupFacts::new("short", &flows.iter().collect::<Vec<_>>(), 0, 1);
        assert_eq!((facts.unfinished, facts.failed), (4, 1));
        let stopped: Vec<(&str, usize)> =
            facts.stopped.iter().map(|(what, n)| (what.as_str(), *n)).collect();
        assert_eq!(stopped, [("handshake", 1), ("rto", 2), ("unknown", 1)]);
    }
}
