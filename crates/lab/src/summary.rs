//! Over seeds: every metric of every scheme at every point, with its interval.

use lowtide_record::{Point, RunKey};
use serde::Serialize;

use crate::facts::{GroupFacts, QueueFacts, RunFacts};
use crate::interval::OverSeeds;

/// One metric of one scheme at one point.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SummaryRow {
    /// The scheme.
    pub scheme: String,
    /// The point of the sweep.
    pub point: Point,
    /// The traffic group it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The queue it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Its name, as the path inside a run: `fct_ms.mean`.
    pub metric: &'static str,
    /// Its unit; empty for a plain count.
    pub unit: &'static str,
    /// Seeds that were run.
    pub seeds: usize,
    /// Seeds that gave a value.
    pub values: usize,
    /// Mean over seeds; null unless every seed gave a value.
    pub mean: Option<f64>,
    /// 95 % interval of the mean; null for one seed, and when all seeds agree.
    pub ci95: Option<[f64; 2]>,
    /// All seeds gave exactly this value.
    pub seed_independent: bool,
}

/// Which way a metric gets worse.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Worse {
    /// When it grows.
    More,
    /// When it shrinks.
    Less,
    /// It says how, not how well: any change may be unwelcome.
    Either,
}

/// A metric and how it is read off one run.
pub(crate) struct Metric<F> {
    /// Its path inside the facts.
    pub(crate) name: &'static str,
    /// Its unit.
    pub(crate) unit: &'static str,
    /// Which way is worse.
    pub(crate) worse: Worse,
    read: fn(&F) -> Option<f64>,
}

impl<F> Metric<F> {
    /// Its value in one run.
    pub(crate) fn of(&self, facts: &F) -> Option<f64> {
        (self.read)(facts)
    }
}

macro_rules! metrics {
    ($($name:literal, $unit:literal, $worse:ident, $read:expr;)*) => {
        &[$(Metric { name: $name, unit: $unit, worse: Worse::$worse, read: $read }),*]
    };
}

/// What there is of a traffic group.
pub(crate) const GROUP: &[Metric<GroupFacts>] = metrics! {
    "fct_ms.mean", "ms", More, |g| g.fct_ms.mean;
    "fct_ms.p50", "ms", More, |g| g.fct_ms.p50;
    "fct_ms.p99", "ms", More, |g| g.fct_ms.p99;
    "fct_ms.max", "ms", More, |g| g.fct_ms.max;
    "goodput_mbps", "Mbit/s", Less, |g| g.goodput_mbps;
    "jain", "", Less, |g| g.jain;
    "rto_count", "", More, |g| Some(g.rto_count as f64);
    "retx_bytes", "bytes", More, |g| Some(g.retx_bytes as f64);
    "marked_fraction", "", Either, |g| g.marked_fraction;
    "unfinished", "flows", More, |g| Some(g.unfinished as f64);
    "failed", "flows", More, |g| Some(g.failed as f64);
};

/// What there is of a queue.
pub(crate) const QUEUE: &[Metric<QueueFacts>] = metrics! {
    "mean_packets", "packets", More, |q| q.mean_packets;
    "p50_packets", "packets", More, |q| q.p50_packets.map(f64::from);
    "p99_packets", "packets", More, |q| q.p99_packets.map(f64::from);
    "p999_packets", "packets", More, |q| q.p999_packets.map(f64::from);
    "max_packets", "packets", More, |q| q.max_packets.map(f64::from);
    "seen.p1_packets", "packets", More, |q| q.seen.p1_packets.map(f64::from);
    "seen.p50_packets", "packets", More, |q| q.seen.p50_packets.map(f64::from);
    "seen.p99_packets", "packets", More, |q| q.seen.p99_packets.map(f64::from);
    "seen.p999_packets", "packets", More, |q| q.seen.p999_packets.map(f64::from);
    "marks", "packets", Either, |q| Some(q.marks as f64);
    "drops", "packets", More, |q| Some(q.drops as f64);
    "utilisation", "", Less, |q| q.utilisation;
};

/// Groups `runs`, which are in the order of the plan, by scheme and point, and summarises each.
pub(crate) fn summarise(runs: &[RunFacts]) -> Vec<SummaryRow> {
    let same = |a: &RunKey, b: &RunKey| a.scheme == b.scheme && a.point == b.point;
    let mut rows = Vec::new();
    for seeds in runs.chunk_by(|a, b| same(&a.key, &b.key)) {
        let Some(first) = seeds.first() else { continue };
        for name in first.groups.iter().map(|g| g.name.as_str()) {
            let of = |run: &RunFacts| run.group(name).cloned();
            rows.extend(
                over_seeds(seeds, GROUP, of)
                    .map(|row| SummaryRow { group: Some(name.to_owned()), ..row }),
            );
        }
        for name in first.queues.iter().map(|q| q.name.as_str()) {
            let of = |run: &RunFacts| run.queue(name).cloned();
            rows.extend(
                over_seeds(seeds, QUEUE, of)
                    .map(|row| SummaryRow { queue: Some(name.to_owned()), ..row }),
            );
        }
    }
    rows
}

fn over_seeds<F>(
    seeds: &[RunFacts],
    metrics: &'static [Metric<F>],
    find: impl Fn(&RunFacts) -> Option<F>,
) -> impl Iterator<Item = SummaryRow> {
    let key = seeds.first().map(|run| run.key.clone());
    let facts: Vec<Option<F>> = seeds.iter().map(find).collect();
    key.into_iter().flat_map(|key| metrics.iter().map(move |m| (key.clone(), m))).map(
        move |(key, metric)| {
            let values: Vec<_> = facts.iter().map(|f| f.as_ref().and_then(metric.read)).collect();
            let over = OverSeeds::new(&values);
            SummaryRow {
                scheme: key.scheme,
                point: key.point,
                group: None,
                queue: None,
                metric: metric.name,
                unit: metric.unit,
                seeds: over.seeds,
                values: over.values,
                mean: over.mean,
                ci95: over.ci95,
                seed_independent: over.seed_independent,
            }
        },
    )
}
