//! Measurements of each class: `share.json` and the output of `--share --json`, described in
//! `docs/howto/matrix.md`.

use lowtide_lab::{GroupFacts, QueueFacts, Results, RunFacts, SignalFacts, TailMetric, TailRow};
use lowtide_record::{Manifest, SweepPoint};
use serde::Serialize;

use crate::cell::bottleneck;
use crate::estimate::Estimate;
use crate::request::{CLASSES, MOVED_KEY, MovedEnds, ShareRequest};

/// The result by share; `share.json` and the output of `--json`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ShareResult {
    /// `lowtide.share/3`.
    pub schema: &'static str,
    /// Version of the tool.
    pub version: String,
    /// Name of the setup.
    pub scenario: String,
    /// Hash of all runs without their seeds.
    pub scenario_hash: String,
    /// One digest for all runs.
    pub digest: String,
    /// Scheme of the hosts that have not moved.
    pub from: String,
    /// Scheme of the hosts that have moved.
    pub to: String,
    /// Endpoints that move.
    pub moves: MovedEnds,
    /// Number of host pairs.
    pub hosts: u32,
    /// Seeds of each point.
    pub seeds: usize,
    /// The points, from none moved to all.
    pub points: Vec<SharePoint>,
}

/// One number of hosts moved.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SharePoint {
    /// Number of hosts moved.
    pub moved_hosts: u32,
    /// The hosts that have not moved; null if all have.
    pub stayed: Option<ShareClass>,
    /// The hosts that have moved; null if none has.
    pub moved: Option<ShareClass>,
    /// The bottleneck.
    pub queue: ShareQueue,
}

/// The hosts of one class. Percentiles are of all seeds' flows together; the other estimates are
/// means over seeds, null unless every seed has a value.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct ShareClass {
    /// Number of hosts.
    pub hosts: u32,
    /// Goodput of their unlimited flows, divided by the hosts; null without such flows.
    pub goodput_mbps_per_host: Option<Estimate>,
    /// Jain's index over the unlimited flows.
    pub jain: Option<Estimate>,
    /// Finite flows of all seeds.
    pub flows: usize,
    /// Of these, censored by the end of the run.
    pub unfinished: usize,
    /// Of these, failed.
    pub failed: usize,
    /// Mean completion time of the finite flows; null unless all completed.
    pub fct_ms_mean: Option<Estimate>,
    /// The mean if every unfinished flow had completed at the end of its run.
    pub fct_ms_mean_at_least: Option<Estimate>,
    /// Median completion time; null if a censored flow could change it.
    pub fct_ms_p50: Option<Estimate>,
    /// 99th percentile of the completion time.
    pub fct_ms_p99: Option<Estimate>,
    /// Fraction of the received payload bytes that carried CE.
    pub marked_fraction: Option<Estimate>,
    /// Retransmission timeouts in a run.
    pub rto_count: Option<Estimate>,
    /// Retransmitted payload bytes in a run.
    pub retx_bytes: Option<Estimate>,
}

/// The bottleneck; all values are means over seeds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct ShareQueue {
    /// Mean length over time, packets.
    pub mean_packets: Option<Estimate>,
    /// Median length over time, packets.
    pub p50_packets: Option<Estimate>,
    /// 99th percentile over time, packets.
    pub p99_packets: Option<Estimate>,
    /// Packets marked in a run.
    pub marks: Option<Estimate>,
    /// All packets lost in a run, also at random and with the link.
    pub drops: Option<Estimate>,
    /// Packets dropped because the buffer was full in a run.
    pub overflow_drops: Option<Estimate>,
    /// Packets dropped by the AQM in a run.
    pub aqm_drops: Option<Estimate>,
    /// Fraction of the time that the link was busy.
    pub utilisation: Option<Estimate>,
}

impl SharePoint {
    /// Returns the classes with their roles, stayed hosts first.
    pub(super) fn classes(&self) -> [(&'static str, Option<&ShareClass>); 2] {
        let [stayed, moved] = CLASSES;
        [(stayed, self.stayed.as_ref()), (moved, self.moved.as_ref())]
    }
}

impl ShareResult {
    /// Returns the schemes of stayed and moved hosts.
    pub(super) fn schemes(&self) -> [&str; 2] {
        [&self.from, &self.to]
    }
}

/// The traffic groups of a class in one run.
struct ClassGroups<'a> {
    unlimited: Vec<&'a GroupFacts>,
    finite: Vec<&'a GroupFacts>,
}

impl<'a> ClassGroups<'a> {
    fn new(class: &str, run: &'a RunFacts) -> Self {
        let own = run.groups.iter().filter(|g| g.name.split('-').next() == Some(class));
        let (finite, unlimited) = own.partition(|g| g.size_bytes.is_some());
        Self { unlimited, finite }
    }

    fn all(&self) -> impl Iterator<Item = &'a GroupFacts> {
        self.unlimited.iter().chain(&self.finite).copied()
    }

    fn sum(&self, read: fn(&GroupFacts) -> Option<u64>) -> Option<f64> {
        self.all().map(read).sum::<Option<u64>>().map(|n| n as f64)
    }

    /// Returns the goodput of the unlimited flows together.
    fn goodput_mbps(&self) -> Option<f64> {
        let each: Option<Vec<f64>> = self.unlimited.iter().map(|g| g.goodput_mbps).collect();
        each.filter(|e| !e.is_empty()).map(|e| e.iter().sum())
    }

    fn marked_fraction(&self) -> Option<f64> {
        let signals: Option<Vec<&SignalFacts>> = self.all().map(|g| g.signals.as_ref()).collect();
        let sum = |read: fn(&SignalFacts) -> u64| signals.iter().flatten().map(|s| read(s)).sum();
        let (marked, all): (u64, u64) = (sum(|s| s.received_ce_bytes), sum(|s| s.received_bytes));
        (all > 0).then(|| marked as f64 / all as f64)
    }
}

/// Returns the mean over seeds.
fn mean<'a>(
    seeds: &[ClassGroups<'a>],
    read: impl Fn(&ClassGroups<'a>) -> Option<f64>,
) -> Option<Estimate> {
    Estimate::over_seeds(seeds.iter().map(read))
}

impl ShareClass {
    fn new(
        class: &str,
        hosts: u32,
        (runs, point): (&[RunFacts], &SweepPoint),
        tails: &[TailRow],
    ) -> Option<Self> {
        if hosts == 0 {
            return None;
        }
        let groups: Vec<ClassGroups<'_>> =
            runs.iter().map(|run| ClassGroups::new(class, run)).collect();
        let unlimited = |read: fn(&GroupFacts) -> Option<f64>| {
            mean(&groups, |g| g.unlimited.first().and_then(|g| read(g)))
        };
        let finite = |read: fn(&GroupFacts) -> Option<f64>| {
            mean(&groups, |g| g.finite.first().and_then(|g| read(g)))
        };
        let group = groups.iter().find_map(|g| g.finite.first()).map(|g| g.name.as_str());
        let tail = tails.iter().find(|row| {
            row.point == *point
                && Some(row.group.as_str()) == group
                && row.class.is_none()
                && row.metric == TailMetric::FctMs
        });
        Some(Self {
            hosts,
            goodput_mbps_per_host: mean(&groups, |g| {
                g.goodput_mbps().map(|sum| sum / f64::from(hosts))
            }),
            jain: unlimited(|g| g.jain),
            flows: tail.map_or(0, |row| row.flows),
            unfinished: tail.map_or(0, |row| row.unfinished),
            failed: tail.map_or(0, |row| row.failed),
            fct_ms_mean: finite(|g| g.fct_ms.mean),
            fct_ms_mean_at_least: finite(|g| g.fct_ms.mean_at_least),
            fct_ms_p50: tail.and_then(|row| Estimate::of_tail(&row.p50)),
            fct_ms_p99: tail.and_then(|row| Estimate::of_tail(&row.p99)),
            marked_fraction: mean(&groups, ClassGroups::marked_fraction),
            rto_count: mean(&groups, |g| g.sum(|g| g.rto_count)),
            retx_bytes: mean(&groups, |g| g.sum(|g| g.retx_bytes)),
        })
    }
}

impl ShareQueue {
    fn new(runs: &[RunFacts]) -> Self {
        let mean = |read: fn(&QueueFacts) -> Option<f64>| {
            Estimate::over_seeds(runs.iter().map(|run| bottleneck(run).and_then(read)))
        };
        Self {
            mean_packets: mean(|q| q.mean_packets),
            p50_packets: mean(|q| q.p50_packets.map(f64::from)),
            p99_packets: mean(|q| q.p99_packets.map(f64::from)),
            marks: mean(|q| Some(q.marks as f64)),
            drops: mean(|q| Some(q.drops as f64)),
            overflow_drops: mean(|q| Some(q.overflow_drops as f64)),
            aqm_drops: mean(|q| Some(q.aqm_drops as f64)),
            utilisation: mean(|q| q.utilisation),
        }
    }
}

pub(crate) fn share_result(
    request: &ShareRequest,
    manifest: &Manifest,
    results: &Results,
) -> ShareResult {
    let mut points = Vec::new();
    for runs in results.runs.chunk_by(|a, b| a.key.point == b.key.point) {
        let [first, ..] = runs else { continue };
        let point = &first.key.point;
        let moved = point.get(MOVED_KEY).and_then(|m| m.parse().ok()).unwrap_or(0);
        let class = |name, hosts| ShareClass::new(name, hosts, (runs, point), &results.tails);
        points.push(SharePoint {
            moved_hosts: moved,
            stayed: class(CLASSES[0], request.hosts.saturating_sub(moved)),
            moved: class(CLASSES[1], moved),
            queue: ShareQueue::new(runs),
        });
    }
    ShareResult {
        schema: "lowtide.share/3",
        version: manifest.version.clone(),
        scenario: manifest.scenario.clone(),
        scenario_hash: manifest.scenario_hash.clone(),
        digest: results.digest.clone(),
        from: request.stayed.clone(),
        to: request.moved.clone(),
        moves: request.moves,
        hosts: request.hosts,
        seeds: manifest.seeds.len(),
        points,
    }
}
