//! What one run says: per traffic group and per queue, computed from its tables alone.
//!
//! Contract: a flow that did not end never leaves a statistic in silence. The mean and the maximum of
//! completion times exist only when every flow with a size completed; a quantile exists only when the
//! missing flows cannot move it, whatever their times would have been.

use lowtide_record::{FlowRow, Quantile, QueueRow, RunKey, RunTables};
use serde::Serialize;

use crate::signals::SignalFacts;

/// One run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RunFacts {
    /// Which.
    #[serde(flatten)]
    pub key: RunKey,
    /// Digest of its physics.
    pub digest: String,
    /// Why it ended: `time`, `done` or `idle`.
    pub reason: String,
    /// When it ended, in milliseconds of virtual time.
    pub ended_ms: f64,
    /// The traffic groups, in the order in which they have their first flow.
    pub groups: Vec<GroupFacts>,
    /// The queues at switches.
    pub queues: Vec<QueueFacts>,
    /// Packets serialised by any output queue.
    #[serde(skip)]
    pub hops: u64,
}

/// The flows of one traffic group in one run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct GroupFacts {
    /// Its name.
    pub name: String,
    /// Its flows.
    pub flows: usize,
    /// Their size, when all have the same.
    pub size_bytes: Option<u64>,
    /// Flows with a size that the end of the run cut off.
    pub unfinished: usize,
    /// Flows whose connection failed.
    pub failed: usize,
    /// Completion times, from the application's open to its last byte delivered.
    pub fct_ms: Times,
    /// Bytes delivered after the warm-up, over the time from the first open (or the warm-up) to the
    /// last delivery (or the end of the run).
    pub goodput_mbps: Option<f64>,
    /// Jain's index over the goodput of the flows; with two flows or more.
    pub jain: Option<f64>,
    /// Retransmission timeouts.
    pub rto_count: u64,
    /// Payload bytes sent more than once.
    pub retx_bytes: u64,
    /// Share of the arriving payload bytes that carried CE.
    pub marked_fraction: Option<f64>,
    /// What its senders said and heard of congestion.
    pub signals: SignalFacts,
}

/// Times of a group of flows, in milliseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Times {
    /// Mean; only when every flow completed.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// The longest; only when every flow completed.
    pub max: Option<f64>,
}

/// One queue at a switch in one run, after the warm-up.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct QueueFacts {
    /// Its name.
    pub name: String,
    /// Mean length over time.
    pub mean_packets: Option<f64>,
    /// Median length over time.
    pub p50_packets: Option<u32>,
    /// 99th percentile over time.
    pub p99_packets: Option<u32>,
    /// 99.9th percentile over time.
    pub p999_packets: Option<u32>,
    /// The longest.
    pub max_packets: Option<u32>,
    /// What arriving packets found.
    pub seen: Seen,
    /// Packets marked.
    pub marks: u64,
    /// Packets dropped for want of memory.
    pub drops: u64,
    /// Packets dropped by the marker.
    pub aqm_drops: u64,
    /// Share of the time that its line was busy.
    pub utilisation: Option<f64>,
}

/// The length of a queue that arriving packets found.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Seen {
    /// Mean.
    pub mean_packets: Option<f64>,
    /// 1st percentile.
    pub p1_packets: Option<u32>,
    /// Median.
    pub p50_packets: Option<u32>,
    /// 99th percentile.
    pub p99_packets: Option<u32>,
    /// 99.9th percentile.
    pub p999_packets: Option<u32>,
}

impl RunFacts {
    /// What the tables of the run say.
    pub fn new(key: &RunKey, tables: &RunTables) -> Self {
        let run = &tables.run;
        let mut names: Vec<&str> = Vec::new();
        for flow in &tables.flows {
            if !names.contains(&flow.group.as_str()) {
                names.push(&flow.group);
            }
        }
        let group = |name: &&str| {
            let flows: Vec<&FlowRow> = tables.flows.iter().filter(|f| f.group == **name).collect();
            GroupFacts::new(name, &flows, run.warmup_ps, run.ended_ps)
        };
        let utilisation =
            |queue: u32| tables.links.iter().find(|l| l.link == queue).and_then(|l| l.utilisation);
        Self {
            key: key.clone(),
            digest: run.digest.clone(),
            reason: run.reason.clone(),
            ended_ms: ms(run.ended_ps),
            groups: names.iter().map(group).collect(),
            queues: tables
                .queues
                .iter()
                .filter(|q| q.at_switch)
                .map(|q| QueueFacts::new(q, utilisation(q.queue)))
                .collect(),
            hops: run.hops,
        }
    }

    /// The facts of a group.
    pub fn group(&self, name: &str) -> Option<&GroupFacts> {
        self.groups.iter().find(|g| g.name == name)
    }

    /// The facts of a queue.
    pub fn queue(&self, name: &str) -> Option<&QueueFacts> {
        self.queues.iter().find(|q| q.name == name)
    }
}

impl GroupFacts {
    fn new(name: &str, flows: &[&FlowRow], warmup_ps: u64, ended_ps: u64) -> Self {
        let count = |status: &str| {
            flows.iter().filter(|f| f.status == status && f.size_bytes.is_some()).count()
        };
        let first_size = flows.first().and_then(|f| f.size_bytes);
        let received: u64 = flows.iter().map(|f| f.received_bytes).sum();
        let marked: u64 = flows.iter().map(|f| f.marked_bytes).sum();
        Self {
            name: name.to_owned(),
            flows: flows.len(),
            size_bytes: first_size.filter(|_| flows.iter().all(|f| f.size_bytes == first_size)),
            unfinished: count("unfinished"),
            failed: flows.iter().filter(|f| f.status == "failed").count(),
            fct_ms: Times::new(flows, ended_ps),
            goodput_mbps: goodput_mbps(flows, warmup_ps, ended_ps),
            jain: jain(flows, warmup_ps, ended_ps),
            rto_count: flows.iter().map(|f| f.rto_count).sum(),
            retx_bytes: flows.iter().map(|f| f.bytes_retrans).sum(),
            marked_fraction: (received > 0).then(|| marked as f64 / received as f64),
            signals: SignalFacts::new(flows),
        }
    }
}

impl QueueFacts {
    fn new(q: &QueueRow, utilisation: Option<f64>) -> Self {
        Self {
            name: q.name.clone(),
            mean_packets: q.mean_packets,
            p50_packets: q.p50_packets,
            p99_packets: q.p99_packets,
            p999_packets: q.p999_packets,
            max_packets: q.max_packets,
            seen: Seen {
                mean_packets: q.seen_mean_packets,
                p1_packets: q.seen_p1_packets,
                p50_packets: q.seen_p50_packets,
                p99_packets: q.seen_p99_packets,
                p999_packets: q.seen_p999_packets,
            },
            marks: q.marks,
            drops: q.drops,
            aqm_drops: q.aqm_drops,
            utilisation,
        }
    }
}

impl Times {
    fn new(flows: &[&FlowRow], ended_ps: u64) -> Self {
        // For a flow without a time: at least how long it would have taken.
        let (mut least, mut most) = (Vec::new(), Vec::new());
        for flow in flows.iter().filter(|f| f.size_bytes.is_some()) {
            let so_far = ended_ps.saturating_sub(flow.start_ps);
            let failed = flow.status == "failed";
            least.push(flow.fct_ps.unwrap_or(if failed { u64::MAX } else { so_far }));
            most.push(flow.fct_ps.unwrap_or(u64::MAX));
        }
        least.sort_unstable();
        most.sort_unstable();
        let quantile = |q: Quantile| {
            let (low, high) = (q.of(&least)?, q.of(&most)?);
            (low == high && high != u64::MAX).then(|| ms(high))
        };
        let max = most.last().copied().filter(|t| *t != u64::MAX);
        let sum: u128 = most.iter().map(|t| u128::from(*t)).sum();
        Self {
            mean: max.map(|_| sum as f64 / most.len() as f64 / 1e9),
            p50: quantile(Quantile::P50),
            p99: quantile(Quantile::P99),
            max: max.map(ms),
        }
    }
}

const fn ms(ps: u64) -> f64 {
    ps as f64 / 1e9
}

/// From when to when a flow could deliver what counts; `None` if that was never.
fn span(flow: &FlowRow, warmup_ps: u64, ended_ps: u64) -> Option<(u64, u64)> {
    let (from, to) = (flow.start_ps.max(warmup_ps), flow.delivered_ps.unwrap_or(ended_ps));
    (from < to).then_some((from, to))
}

/// Bytes over picoseconds as Mbit/s.
fn mbps(bytes: u64, ps: u64) -> f64 {
    bytes as f64 * 8e6 / ps as f64
}

fn goodput_mbps(flows: &[&FlowRow], warmup_ps: u64, ended_ps: u64) -> Option<f64> {
    let spans = || flows.iter().filter_map(|f| span(f, warmup_ps, ended_ps));
    let from = spans().map(|(from, _)| from).min()?;
    let to = spans().map(|(_, to)| to).max()?;
    Some(mbps(flows.iter().map(|f| f.delivered_after_warmup_bytes).sum(), to - from))
}

/// Jain, Chiu and Hawe 1984: the squared sum over n times the sum of squares.
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

    fn flow(start_ms: u64, fct_ms: Option<u64>, status: &str) -> FlowRow {
        let start_ps = start_ms * 1_000_000_000;
        let fct_ps = fct_ms.map(|t| t * 1_000_000_000);
        FlowRow {
            flow: 0,
            group: "short".into(),
            role: "flow".into(),
            src: String::new(),
            dst: String::new(),
            sport: 0,
            dport: 0,
            size_bytes: Some(1_000_000),
            start_ps,
            established_ps: None,
            delivered_ps: fct_ps.map(|t| start_ps + t),
            fct_ps,
            transfer_ps: None,
            delivered_bytes: 1_000_000,
            delivered_after_warmup_bytes: 1_000_000,
            bytes_retrans: 0,
            data_segs_out: 0,
            rto_count: 0,
            fast_retransmits: 0,
            ecn_reductions: 0,
            delack_timeouts: 0,
            delack_time_ps: 0,
            delack_found: 0,
            delack_missed: 0,
            delack_imagined: 0,
            delay_reductions: 0,
            heard_ce_bytes: 0,
            warm_data_segs_out: 0,
            warm_ect_segs_out: 0,
            warm_cwr_segs_out: 0,
            warm_data_segs_in: 0,
            warm_ce_segs_in: 0,
            warm_acks_in: 0,
            warm_ece_acks_in: 0,
            marked_bytes: 0,
            received_bytes: 0,
            srtt_ns: None,
            mss_bytes: None,
            cc: String::new(),
            cc_used: String::new(),
            feedback: String::new(),
            ack: String::new(),
            ecn: false,
            ecn_wish: String::new(),
            ecn_mode: String::new(),
            feedback_used: None,
            ack_used: String::new(),
            delay_option: false,
            status: status.into(),
            error: None,
        }
    }

    fn complete(times: impl IntoIterator<Item = u64>) -> Vec<FlowRow> {
        times.into_iter().map(|t| flow(0, Some(t), "complete")).collect()
    }

    fn times(flows: &[FlowRow], ended_ms: u64) -> Times {
        Times::new(&flows.iter().collect::<Vec<_>>(), ended_ms * 1_000_000_000)
    }

    #[test]
    fn completion_times_have_a_mean_and_the_quantiles_they_hold() {
        let t = times(&complete(1..=10), 100);
        assert_eq!((t.mean, t.p50, t.p99, t.max), (Some(5.5), Some(5.0), None, Some(10.0)));
        assert_eq!(times(&complete(1..=100), 100).p99, Some(99.0));
        assert_eq!(times(&[], 100), Times::default());
    }

    #[test]
    fn an_unfinished_flow_takes_the_mean_away_but_not_what_it_cannot_move() {
        let mut flows = complete(1..=9);
        flows.push(flow(50, None, "unfinished"));
        let t = times(&flows, 100);
        assert_eq!((t.mean, t.max), (None, None));
        assert_eq!(t.p50, Some(5.0), "it took 50 ms at least");
        flows[9] = flow(98, None, "unfinished");
        assert_eq!(times(&flows, 100).p50, None, "it could have been one of the fast ones");
        flows[9] = flow(98, None, "failed");
        assert_eq!(times(&flows, 100).p50, Some(5.0), "it never completes");
        let late: Vec<_> = (0..10).map(|_| flow(0, None, "unfinished")).collect();
        assert_eq!(times(&late, 100), Times::default());
    }

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
        assert_eq!(facts.fct_ms, Times::default());
    }
}
