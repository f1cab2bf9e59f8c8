//! Summary over seeds: every metric of every scheme at every point, with its interval.

use lowtide_record::RunKey;
use lowtide_stats::{
    Comparison, Estimate, Preference, Sample, SeedSamples, ValueRange, compare_means,
    compare_percentile, seed_mean,
};
use lowtide_units::Quantile;
use serde::Serialize;

use crate::collectives::CollectiveFacts;
use crate::facts::{GroupFacts, RunFacts};
use crate::queries::QueryFacts;
use crate::queues::{BufferPoolFacts, QueueClassFacts, QueueFacts};
use crate::shown_estimate::ShownEstimate;
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
    /// A percentile of times is one of the flows of all seeds; any other metric has a value per
    /// seed, and their mean is here.
    #[serde(flatten)]
    pub estimate: ShownEstimate,
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

impl Worse {
    /// Returns the better direction; `None` if there is none.
    pub(crate) const fn better(self) -> Option<Preference> {
        match self {
            Self::More => Some(Preference::Lower),
            Self::Less => Some(Preference::Higher),
            Self::Either => None,
        }
    }
}

/// A metric and its readers.
pub struct Metric<F> {
    /// Path inside the facts.
    pub name: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// Direction in which it gets worse.
    pub(crate) worse: Worse,
    read: fn(&F) -> Option<f64>,
    /// The flows whose statistic it is.
    flows: Option<(Statistic, SampleOf<F>)>,
}

/// Reads the sample of some flows.
type SampleOf<F> = fn(&F) -> &Sample;

/// A statistic of flows.
#[derive(Clone, Copy)]
enum Statistic {
    /// Over seeds, of the mean of each seed's flows.
    Mean,
    /// Of the flows of all seeds.
    Percentile(Quantile),
}

/// Metrics that are shares of something.
const SHARES: [&str; 6] = [
    "jain",
    "marked_fraction",
    "timeout_fraction",
    "deadline_fraction",
    "utilisation",
    "peak_fraction",
];

impl<F> Metric<F> {
    /// Returns its value in one run.
    pub fn of(&self, facts: &F) -> Option<f64> {
        (self.read)(facts)
    }

    /// Returns the possible range of its value.
    pub fn range(&self) -> ValueRange {
        if SHARES.contains(&self.name) {
            ValueRange::SHARE
        } else if self.name.starts_with("slowdown") {
            ValueRange::SLOWDOWN
        } else {
            ValueRange::NOT_NEGATIVE
        }
    }

    fn values(&self, seeds: &[Option<&F>]) -> Vec<Option<f64>> {
        seeds.iter().map(|facts| self.of((*facts)?)).collect()
    }

    /// Returns its value over seeds; a seed may lack the facts.
    pub(crate) fn estimate(&self, seeds: &[Option<&F>]) -> Estimate {
        let none = Sample::empty(self.range());
        match self.flows {
            Some((Statistic::Percentile(q), of)) => samples(seeds, of, &none).percentile(q),
            Some((Statistic::Mean, of)) => samples(seeds, of, &none).mean(),
            None => seed_mean(&self.values(seeds), self.range()),
        }
    }

    /// Compares two sets of results, A and B, with the same seeds.
    pub(crate) fn compare(&self, [a, b]: [&[Option<&F>]; 2], tolerance: f64) -> Comparison {
        let none = Sample::empty(self.range());
        match self.flows {
            Some((Statistic::Percentile(q), of)) => {
                let [a, b] = [a, b].map(|seeds| samples(seeds, of, &none));
                compare_percentile(&a, &b, q, tolerance)
            }
            _ => compare_means(&self.values(a), &self.values(b), self.range(), tolerance),
        }
    }
}

fn samples<'a, F>(seeds: &[Option<&'a F>], of: SampleOf<F>, none: &'a Sample) -> SeedSamples<'a> {
    SeedSamples::new(seeds.iter().map(|facts| facts.map_or(none, of)).collect())
}

macro_rules! metrics {
    ($(times $times:literal $unit:literal $read:ident $($sample:ident).+;)*
     $($name:literal, $own_unit:literal, $worse:ident, $own:expr;)*) => {
        &[
            $(
                metrics!(@ $times ".mean" $unit, |f| f.$read.mean,
                    Some((Statistic::Mean, |f| &f.$($sample).+))),
                metrics!(@ $times ".p50" $unit, |f| f.$read.p50,
                    Some((Statistic::Percentile(Quantile::P50), |f| &f.$($sample).+))),
                metrics!(@ $times ".p95" $unit, |f| f.$read.p95,
                    Some((Statistic::Percentile(Quantile::P95), |f| &f.$($sample).+))),
                metrics!(@ $times ".p99" $unit, |f| f.$read.p99,
                    Some((Statistic::Percentile(Quantile::P99), |f| &f.$($sample).+))),
                metrics!(@ $times ".p999" $unit, |f| f.$read.p999,
                    Some((Statistic::Percentile(Quantile::P999), |f| &f.$($sample).+))),
                metrics!(@ $times ".max" $unit, |f| f.$read.max, None),
            )*
            $(metrics!(@ $name "" $own_unit, $own, None, $worse)),*
        ]
    };
    (@ $name:literal $suffix:literal $unit:literal, $read:expr, $flows:expr) => {
        metrics!(@ $name $suffix $unit, $read, $flows, More)
    };
    (@ $name:literal $suffix:literal $unit:literal, $read:expr, $flows:expr, $worse:ident) => {
        Metric {
            name: concat!($name, $suffix),
            unit: $unit,
            worse: Worse::$worse,
            read: $read,
            flows: $flows,
        }
    };
}

/// Metrics of a traffic group.
pub const GROUP: &[Metric<GroupFacts>] = metrics! {
    times "fct_ms" "ms" fct_ms samples.fct_ms;
    times "slowdown" "" slowdown samples.slowdown;
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
    times "fct_ms" "ms" fct_ms samples.fct_ms;
    times "slowdown" "" slowdown samples.slowdown;
    "flows", "flows", Either, |c| Some(c.flows as f64);
    "unfinished", "flows", More, |c| Some(c.unfinished as f64);
    "failed", "flows", More, |c| Some(c.failed as f64);
};

/// Metrics of the queries of a group.
pub const QUERY: &[Metric<QueryFacts>] = metrics! {
    times "qct_ms" "ms" qct_ms sample;
    "queries", "queries", Either, |q| Some(q.queries as f64);
    "queries_with_timeout", "queries", More, |q| Some(q.with_timeout as f64);
    "timeout_fraction", "", More, |q| q.timeout_fraction;
    "deadlines_met", "queries", Less, |q| q.deadlines_met.map(|n| n as f64);
    "deadline_fraction", "", Less, |q| q.deadline_fraction;
    "queries_unfinished", "queries", More, |q| Some(q.unfinished as f64);
    "queries_failed", "queries", More, |q| Some(q.failed as f64);
};

/// Metrics of a collective.
pub const COLLECTIVE: &[Metric<CollectiveFacts>] = metrics! {
    times "step_ms" "ms" step_ms sample;
    "end_spread_ms", "ms", More, |c| c.end_spread_ms;
    "iterations", "iterations", Either, |c| Some(c.iterations as f64);
    "iterations_unfinished", "iterations", More, |c| Some(c.unfinished as f64);
};

/// Returns the names of all metrics of a traffic group, each once.
pub(crate) fn group_metrics() -> Vec<&'static str> {
    let mut names: Vec<&str> = GROUP.iter().map(|m| m.name).collect();
    names.extend(QUERY.iter().map(|m| m.name).chain(COLLECTIVE.iter().map(|m| m.name)));
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
    let mut rows = Vec::new();
    for seeds in runs.chunk_by(|a, b| same(&a.key, &b.key)) {
        let Some(first) = seeds.first() else { continue };
        for name in first.groups.iter().map(|g| g.name.as_str()) {
            let of_group = |row| with_subject(row, |a| a.group = Some(name.to_owned()));
            rows.extend(over_seeds(seeds, GROUP, |run| run.group(name)).map(of_group));
            for class in class_names(seeds, name) {
                let of_class = |row| with_subject(of_group(row), |a| a.class = Some(class.clone()));
                let all = over_seeds(seeds, SIZE_CLASS, |run| run.group(name)?.class(&class));
                rows.extend(all.map(of_class));
            }
        }
        for name in first.queries.iter().map(|q| q.name.as_str()) {
            let of_group = |row| with_subject(row, |a| a.group = Some(name.to_owned()));
            rows.extend(over_seeds(seeds, QUERY, |run| run.queries(name)).map(of_group));
        }
        for name in first.collectives.iter().map(|c| c.name.as_str()) {
            let of_group = |row| with_subject(row, |a| a.group = Some(name.to_owned()));
            rows.extend(over_seeds(seeds, COLLECTIVE, |run| run.collective(name)).map(of_group));
        }
        for (i, queue) in first.queues.iter().enumerate() {
            let name = &queue.name;
            let of_queue = |row| with_subject(row, |a| a.queue = Some(name.clone()));
            let all = over_seeds(seeds, QUEUE, |run| queue_at(run, i, name))
                .filter(|r| !at_queues.contains(&r.subject.metric));
            rows.extend(all.map(of_queue));
            for class in queue.classes.iter().map(|c| &c.name) {
                let of_class = |row| with_subject(of_queue(row), |a| a.class = Some(class.clone()));
                let all =
                    over_seeds(seeds, QUEUE_CLASS, |run| queue_at(run, i, name)?.class(class))
                        .filter(|r| !of_classes.contains(&r.subject.metric));
                rows.extend(all.map(of_class));
            }
        }
        for name in first.buffer_pools.iter().map(|m| &m.name) {
            let of_pool = |row| with_subject(row, |a| a.buffer_pool = Some(name.clone()));
            rows.extend(over_seeds(seeds, BUFFER_POOL, |run| run.buffer_pool(name)).map(of_pool));
        }
        if losses {
            let all = over_seeds(seeds, RUN, Some);
            rows.extend(all.filter(|r| !of_runs.contains(&r.subject.metric)));
        }
    }
    rows
}

/// Returns a queue by its name. All runs of a point have the same queues in the same order.
fn queue_at<'a>(run: &'a RunFacts, i: usize, name: &str) -> Option<&'a QueueFacts> {
    run.queues.get(i).filter(|q| q.name == name).or_else(|| run.queue(name))
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

fn over_seeds<'a, F>(
    seeds: &'a [RunFacts],
    metrics: &'static [Metric<F>],
    find: impl Fn(&'a RunFacts) -> Option<&'a F>,
) -> impl Iterator<Item = SummaryRow> {
    let key = seeds.first().map(|run| &run.key);
    let facts: Vec<Option<&F>> = seeds.iter().map(find).collect();
    key.into_iter().flat_map(|key| metrics.iter().map(move |m| (key, m))).map(
        move |(key, metric)| SummaryRow {
            subject: MetricSubject::of(key, metric.name, metric.unit),
            seeds: seeds.len(),
            estimate: metric.estimate(&facts).into(),
        },
    )
}
