//! Summary over seeds: every metric of every scheme at every point, with its interval.

use lowtide_record::RunKey;
use serde::Serialize;

use crate::facts::{GroupFacts, RunFacts};
use crate::interval::OverSeeds;
use crate::queries::QueryFacts;
use crate::queues::{BufferPoolFacts, QueueClassFacts, QueueFacts};
use crate::subject::MetricSubject;
use crate::times::SizeClassFacts;

/// One metric of one scheme at one point.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SummaryRow {
    /// Subject.
    #[serde(flatten)]
    pub subject: MetricSubject,
    /// Seeds that were run.
    pub seeds: usize,
    /// Seeds that gave a value.
    pub values: usize,
    /// Mean over seeds; null unless every seed gave a value.
    pub mean: Option<f64>,
    /// 95 % interval of the mean; null for one seed, and if all seeds agree.
    pub ci95: Option<[f64; 2]>,
    /// Whether several seeds gave exactly the same value.
    pub seed_independent: bool,
}

/// Direction in which a metric gets worse.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Worse {
    /// Greater values are worse.
    More,
    /// Smaller values are worse.
    Less,
    /// Neither is worse; any change may be unwelcome.
    Either,
}

/// A metric and its reader.
pub struct Metric<F> {
    /// Path inside the facts.
    pub name: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// Direction in which it gets worse.
    pub(crate) worse: Worse,
    read: fn(&F) -> Option<f64>,
}

impl<F> Metric<F> {
    /// Returns its value in one run.
    pub fn of(&self, facts: &F) -> Option<f64> {
        (self.read)(facts)
    }
}

macro_rules! metrics {
    ($($name:literal, $unit:literal, $worse:ident, $read:expr;)*) => {
        &[$(Metric { name: $name, unit: $unit, worse: Worse::$worse, read: $read }),*]
    };
}

/// Metrics of a traffic group.
pub const GROUP: &[Metric<GroupFacts>] = metrics! {
    "fct_ms.mean", "ms", More, |g| g.fct_ms.mean;
    "fct_ms.mean_at_least", "ms", More, |g| g.fct_ms.mean_at_least;
    "fct_ms.p50", "ms", More, |g| g.fct_ms.p50;
    "fct_ms.p95", "ms", More, |g| g.fct_ms.p95;
    "fct_ms.p99", "ms", More, |g| g.fct_ms.p99;
    "fct_ms.p999", "ms", More, |g| g.fct_ms.p999;
    "fct_ms.max", "ms", More, |g| g.fct_ms.max;
    "slowdown.mean", "", More, |g| g.slowdown.mean;
    "slowdown.mean_at_least", "", More, |g| g.slowdown.mean_at_least;
    "slowdown.p50", "", More, |g| g.slowdown.p50;
    "slowdown.p95", "", More, |g| g.slowdown.p95;
    "slowdown.p99", "", More, |g| g.slowdown.p99;
    "slowdown.p999", "", More, |g| g.slowdown.p999;
    "slowdown.max", "", More, |g| g.slowdown.max;
    "goodput_mbps", "Mbit/s", Less, |g| g.goodput_mbps;
    "jain", "", Less, |g| g.jain;
    "srtt_ms.mean", "ms", More, |g| g.srtt_ms.mean;
    "srtt_ms.deviation", "ms", More, |g| g.srtt_ms.deviation;
    "rto_count", "", More, |g| g.rto_count.map(|n| n as f64);
    "retx_bytes", "bytes", More, |g| g.retx_bytes.map(|n| n as f64);
    "marked_fraction", "", Either, |g| g.marked_fraction;
    "unfinished", "flows", More, |g| Some(g.unfinished as f64);
    "failed", "flows", More, |g| Some(g.failed as f64);
};

/// Metrics of the flows of a group in one size class.
pub const SIZE_CLASS: &[Metric<SizeClassFacts>] = metrics! {
    "flows", "flows", Either, |c| Some(c.flows as f64);
    "fct_ms.mean", "ms", More, |c| c.fct_ms.mean;
    "fct_ms.mean_at_least", "ms", More, |c| c.fct_ms.mean_at_least;
    "fct_ms.p50", "ms", More, |c| c.fct_ms.p50;
    "fct_ms.p95", "ms", More, |c| c.fct_ms.p95;
    "fct_ms.p99", "ms", More, |c| c.fct_ms.p99;
    "fct_ms.p999", "ms", More, |c| c.fct_ms.p999;
    "fct_ms.max", "ms", More, |c| c.fct_ms.max;
    "slowdown.mean", "", More, |c| c.slowdown.mean;
    "slowdown.mean_at_least", "", More, |c| c.slowdown.mean_at_least;
    "slowdown.p50", "", More, |c| c.slowdown.p50;
    "slowdown.p95", "", More, |c| c.slowdown.p95;
    "slowdown.p99", "", More, |c| c.slowdown.p99;
    "slowdown.p999", "", More, |c| c.slowdown.p999;
    "slowdown.max", "", More, |c| c.slowdown.max;
    "unfinished", "flows", More, |c| Some(c.unfinished as f64);
    "failed", "flows", More, |c| Some(c.failed as f64);
};

/// Metrics of the queries of a group.
pub const QUERY: &[Metric<QueryFacts>] = metrics! {
    "qct_ms.mean", "ms", More, |q| q.qct_ms.mean;
    "qct_ms.mean_at_least", "ms", More, |q| q.qct_ms.mean_at_least;
    "qct_ms.p50", "ms", More, |q| q.qct_ms.p50;
    "qct_ms.p95", "ms", More, |q| q.qct_ms.p95;
    "qct_ms.p99", "ms", More, |q| q.qct_ms.p99;
    "qct_ms.p999", "ms", More, |q| q.qct_ms.p999;
    "qct_ms.max", "ms", More, |q| q.qct_ms.max;
    "queries", "queries", Either, |q| Some(q.queries as f64);
    "queries_with_timeout", "queries", More, |q| Some(q.with_timeout as f64);
    "timeout_fraction", "", More, |q| q.timeout_fraction;
    "deadlines_met", "queries", Less, |q| q.deadlines_met.map(|n| n as f64);
    "deadline_fraction", "", Less, |q| q.deadline_fraction;
    "queries_unfinished", "queries", More, |q| Some(q.unfinished as f64);
    "queries_failed", "queries", More, |q| Some(q.failed as f64);
};

/// Returns the names of all metrics of a traffic group, each once.
pub(crate) fn group_metrics() -> Vec<&'static str> {
    let mut names: Vec<&str> = GROUP.iter().map(|m| m.name).collect();
    names.extend(QUERY.iter().map(|m| m.name));
    names.extend(SIZE_CLASS.iter().map(|m| m.name).filter(|n| GROUP.iter().all(|g| g.name != *n)));
    names
}

/// Returns the names of all metrics of queues, classes, buffer pools and whole runs, each once.
pub(crate) fn other_metrics() -> Vec<&'static str> {
    let mut names: Vec<&str> = QUEUE.iter().map(|m| m.name).collect();
    let classes = QUEUE_CLASS.iter().map(|m| m.name);
    let more = classes.chain(BUFFER_POOL.iter().map(|m| m.name)).chain(RUN.iter().map(|m| m.name));
    for name in more {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Metrics of a queue.
pub const QUEUE: &[Metric<QueueFacts>] = metrics! {
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
    "overflow_drops", "packets", More, |q| Some(q.overflow_drops as f64);
    "aqm_drops", "packets", More, |q| Some(q.aqm_drops as f64);
    "random_losses", "packets", More, |q| Some(q.random_losses as f64);
    "link_down_drops", "packets", More, |q| Some(q.link_down_drops as f64);
    "utilisation", "", Less, |q| q.utilisation;
};

/// The kinds of drops, which have rows only if any queue, or the network of any run, has one.
pub const DROP_KINDS: [&str; 5] =
    ["overflow_drops", "aqm_drops", "random_losses", "link_down_drops", "no_route_drops"];

/// Suffix of bounds, which have rows only if some flow or query did not complete.
const AT_LEAST: &str = ".mean_at_least";

/// Metrics of a class of a queue.
pub const QUEUE_CLASS: &[Metric<QueueClassFacts>] = metrics! {
    "packets", "packets", Either, |c| Some(c.packets as f64);
    "bytes", "bytes", Either, |c| Some(c.bytes as f64);
    "mean_packets", "packets", More, |c| c.mean_packets;
    "p99_packets", "packets", More, |c| c.p99_packets.map(f64::from);
    "max_packets", "packets", More, |c| c.max_packets.map(f64::from);
    "marks", "packets", Either, |c| Some(c.marks as f64);
    "drops", "packets", More, |c| Some(c.drops as f64);
    "overflow_drops", "packets", More, |c| Some(c.overflow_drops as f64);
    "aqm_drops", "packets", More, |c| Some(c.aqm_drops as f64);
};

/// Metrics of a shared buffer pool.
pub const BUFFER_POOL: &[Metric<BufferPoolFacts>] = metrics! {
    "peak_bytes", "bytes", More, |m| Some(m.peak_bytes as f64);
    "peak_fraction", "", More, BufferPoolFacts::peak_fraction;
};

/// Metrics of a whole run.
pub const RUN: &[Metric<RunFacts>] = metrics! {
    "drops", "packets", More, |r| Some(r.losses.drops as f64);
    "overflow_drops", "packets", More, |r| Some(r.losses.overflow_drops as f64);
    "aqm_drops", "packets", More, |r| Some(r.losses.aqm_drops as f64);
    "random_losses", "packets", More, |r| Some(r.losses.random_losses as f64);
    "link_down_drops", "packets", More, |r| Some(r.losses.link_down_drops as f64);
    "no_route_drops", "packets", More, |r| Some(r.losses.no_route_drops as f64);
};

/// Groups `runs`, which are in the order of the plan, by scheme and point, and summarises each
/// group.
pub(crate) fn summarise(runs: &[RunFacts]) -> Vec<SummaryRow> {
    let same = |a: &RunKey, b: &RunKey| a.scheme == b.scheme && a.point == b.point;
    let at_queues = absent_kinds(QUEUE, || runs.iter().flat_map(|r| &r.queues));
    let of_classes =
        absent_kinds(QUEUE_CLASS, || runs.iter().flat_map(|r| &r.queues).flat_map(|q| &q.classes));
    let of_runs = absent_kinds(RUN, || runs.iter());
    let losses = runs.iter().any(|r| r.losses.drops > 0);
    let cut_off = runs.iter().any(|r| {
        r.groups.iter().any(|g| g.unfinished > 0) || r.queries.iter().any(|q| q.unfinished > 0)
    });
    let is_shown = |row: &SummaryRow| cut_off || !row.subject.metric.ends_with(AT_LEAST);
    let mut rows = Vec::new();
    for seeds in runs.chunk_by(|a, b| same(&a.key, &b.key)) {
        let Some(first) = seeds.first() else { continue };
        for name in first.groups.iter().map(|g| g.name.as_str()) {
            let of = |run: &RunFacts| run.group(name).cloned();
            let of_group = |row| with_subject(row, |a| a.group = Some(name.to_owned()));
            rows.extend(over_seeds(seeds, GROUP, of).filter(is_shown).map(of_group));
            for class in class_names(seeds, name) {
                let of = |run: &RunFacts| run.group(name)?.class(&class).cloned();
                let of_class = |row| with_subject(of_group(row), |a| a.class = Some(class.clone()));
                rows.extend(over_seeds(seeds, SIZE_CLASS, of).filter(is_shown).map(of_class));
            }
        }
        for name in first.queries.iter().map(|q| q.name.as_str()) {
            let of = |run: &RunFacts| run.queries(name).cloned();
            let of_group = |row| with_subject(row, |a| a.group = Some(name.to_owned()));
            rows.extend(over_seeds(seeds, QUERY, of).filter(is_shown).map(of_group));
        }
        for (i, queue) in first.queues.iter().enumerate() {
            let name = &queue.name;
            // All runs of a point have the same queues in the same order.
            let find = |run: &'_ RunFacts| {
                run.queues.get(i).filter(|q| q.name == *name).or_else(|| run.queue(name)).cloned()
            };
            let of_queue = |row| with_subject(row, |a| a.queue = Some(name.clone()));
            let all =
                over_seeds(seeds, QUEUE, find).filter(|r| !at_queues.contains(&r.subject.metric));
            rows.extend(all.map(of_queue));
            for class in queue.classes.iter().map(|c| &c.name) {
                let of = |run: &RunFacts| find(run)?.class(class).cloned();
                let of_class = |row| with_subject(of_queue(row), |a| a.class = Some(class.clone()));
                let all = over_seeds(seeds, QUEUE_CLASS, of)
                    .filter(|r| !of_classes.contains(&r.subject.metric));
                rows.extend(all.map(of_class));
            }
        }
        for name in first.buffer_pools.iter().map(|m| &m.name) {
            let of = |run: &RunFacts| run.buffer_pool(name).cloned();
            let of_pool = |row| with_subject(row, |a| a.buffer_pool = Some(name.clone()));
            rows.extend(over_seeds(seeds, BUFFER_POOL, of).map(of_pool));
        }
        if losses {
            let all = over_seeds(seeds, RUN, |run| Some(run.clone()));
            rows.extend(all.filter(|r| !of_runs.contains(&r.subject.metric)));
        }
    }
    rows
}

/// Returns the kinds of drops that none of these has.
fn absent_kinds<'a, F: 'a, I: Iterator<Item = &'a F>>(
    metrics: &[Metric<F>],
    all: impl Fn() -> I,
) -> Vec<&'static str> {
    let some = |name: &str| {
        let has = |of: &F| metrics.iter().any(|m| m.name == name && m.of(of) > Some(0.0));
        all().any(has)
    };
    DROP_KINDS.into_iter().filter(|name| !some(name)).collect()
}

/// Applies `more` to the subject of a row.
fn with_subject(mut row: SummaryRow, more: impl FnOnce(&mut MetricSubject)) -> SummaryRow {
    more(&mut row.subject);
    row
}

/// Returns the size classes for which any run has flows, in their order.
pub(crate) fn class_names<'a>(
    runs: impl IntoIterator<Item = &'a RunFacts>,
    group: &str,
) -> Vec<String> {
    let of = |run: &'a RunFacts| run.group(group).map(|g| &g.classes[..]).unwrap_or_default();
    let mut all: Vec<(u64, String)> =
        runs.into_iter().flat_map(of).map(|c| (c.above_bytes, c.name())).collect();
    all.sort();
    all.dedup();
    all.into_iter().map(|(_, name)| name).collect()
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
                subject: MetricSubject::of(&key, metric.name, metric.unit),
                seeds: over.seeds,
                values: over.values,
                mean: over.mean,
                ci95: over.ci95,
                seed_independent: over.seed_independent,
            }
        },
    )
}
