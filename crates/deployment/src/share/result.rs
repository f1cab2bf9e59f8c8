//! Measurements of each class: the output of `--share --json`, described in `docs/howto/matrix.md`.

use lowtide_lab::{GroupFacts, Results, RunFacts};
use lowtide_record::Manifest;
use serde::Serialize;

use crate::cell::{BottleneckStats, mean};
use crate::request::{CLASSES, MOVED_KEY, MovedEnds, ShareRequest};

/// The result by share; `share.json` and the output of `--json`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ShareResult {
    /// `lowtide.share/1`.
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
    pub queue: BottleneckStats,
}

/// The hosts of one class.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ShareClass {
    /// Number of hosts.
    pub hosts: u32,
    /// Goodput of their unlimited flows, divided by the hosts; null without such flows.
    pub goodput_mbps_per_host: Option<f64>,
    /// Jain's index over the unlimited flows.
    pub jain: Option<f64>,
    /// Mean completion time of their finite flows; null unless all completed.
    pub fct_ms_mean: Option<f64>,
    /// Median completion time; null if a censored flow could change it.
    pub fct_ms_p50: Option<f64>,
    /// 99th percentile of the completion time.
    pub fct_ms_p99: Option<f64>,
    /// Finite flows that did not complete.
    pub unfinished: usize,
    /// Retransmission timeouts.
    pub rto_count: u64,
    /// Retransmitted payload bytes.
    pub retx_bytes: u64,
}

impl ShareClass {
    fn new(class: &str, hosts: u32, runs: &[&RunFacts]) -> Option<Self> {
        if hosts == 0 {
            return None;
        }
        let of = |sized: bool| -> Vec<Vec<&GroupFacts>> {
            let own = |g: &&GroupFacts| {
                g.name.split('-').next() == Some(class) && g.size_bytes.is_some() == sized
            };
            runs.iter().map(|r| r.groups.iter().filter(own).collect()).collect()
        };
        let (long, short) = (of(false), of(true));
        let sum = |run: &Vec<&GroupFacts>| {
            let each: Option<Vec<f64>> = run.iter().map(|g| g.goodput_mbps).collect();
            each.filter(|e| !e.is_empty()).map(|e| e.iter().sum::<f64>() / f64::from(hosts))
        };
        let first = |read: fn(&GroupFacts) -> Option<f64>, runs: &[Vec<&GroupFacts>]| {
            mean(runs.iter().map(|run| run.first().and_then(|g| read(g))))
        };
        let all = || long.iter().chain(&short).flatten();
        Some(Self {
            hosts,
            goodput_mbps_per_host: mean(long.iter().map(sum)),
            jain: first(|g| g.jain, &long),
            fct_ms_mean: first(|g| g.fct_ms.mean, &short),
            fct_ms_p50: first(|g| g.fct_ms.p50, &short),
            fct_ms_p99: first(|g| g.fct_ms.p99, &short),
            unfinished: all().map(|g| g.unfinished).sum(),
            rto_count: all().filter_map(|g| g.rto_count).sum(),
            retx_bytes: all().filter_map(|g| g.retx_bytes).sum(),
        })
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
        let moved = first.key.point.get(MOVED_KEY).and_then(|m| m.parse().ok()).unwrap_or(0);
        let runs: Vec<&RunFacts> = runs.iter().collect();
        points.push(SharePoint {
            moved_hosts: moved,
            stayed: ShareClass::new(CLASSES[0], request.hosts.saturating_sub(moved), &runs),
            moved: ShareClass::new(CLASSES[1], moved, &runs),
            queue: BottleneckStats::new(&runs),
        });
    }
    ShareResult {
        schema: "lowtide.share/1",
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
