//! Tails: percentiles of completion times and slowdown over all seeds, by size class, at every
//! point of a sweep.
//!
//! Contract: a percentile is one of all seeds' flows together, so it needs fewer flows a seed than
//! the percentiles of single runs. Cut-off flows count: they bound a percentile that they could
//! change. Every absent value has its reason. Terminal, report, JSON and CSV show these rows.

mod cdf;
mod flow_set;
mod table;

use std::collections::BTreeMap;

use lowtide_record::SweepPoint;
use lowtide_stats::{Sample, SeedSamples, ValueRange};
use lowtide_units::Quantile;
use serde::Serialize;

use crate::facts::RunFacts;
use crate::shown_estimate::ShownEstimate;

pub(crate) use cdf::{curve, to_csv as distributions_csv};
pub use flow_set::FlowSet;
pub(crate) use flow_set::{all_classes, flow_sets};
pub(crate) use table::to_csv;

/// The percentiles of a row.
pub const PERCENTILES: [Quantile; 4] =
    [Quantile::P50, Quantile::P95, Quantile::P99, Quantile::P999];

/// Percentiles of one metric of one scheme at one point.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TailRow {
    /// The scheme.
    pub scheme: String,
    /// The point of the sweep.
    pub point: SweepPoint,
    /// The traffic group.
    pub group: String,
    /// The size class, as `10 kB-100 kB`; null for all flows of the group.
    pub class: Option<String>,
    /// The metric.
    pub metric: TailMetric,
    /// Its unit; empty for a ratio.
    pub unit: &'static str,
    /// Size of each flow, if all have the same.
    pub size_bytes: Option<u64>,
    /// Sizes are above this; zero without classes. Null without a size.
    #[serde(skip)]
    pub(crate) above_bytes: Option<u64>,
    /// Seeds that were run.
    pub seeds: usize,
    /// Flows, queries or iterations of all seeds.
    pub flows: usize,
    /// Of these, right-censored by the end of their run.
    pub unfinished: usize,
    /// Right-censored flows by what they waited for.
    pub blocked_on: BTreeMap<String, usize>,
    /// Of these, failed.
    pub failed: usize,
    /// Of these, begun during the warm-up; they count.
    pub in_warmup: usize,
    /// The median.
    pub p50: ShownEstimate,
    /// The 95th percentile.
    pub p95: ShownEstimate,
    /// The 99th percentile.
    pub p99: ShownEstimate,
    /// The 99.9th percentile.
    pub p999: ShownEstimate,
}

/// A metric with tails.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TailMetric {
    /// Completion time over the ideal time.
    Slowdown,
    /// Completion time of flows.
    FctMs,
    /// Completion time of queries.
    QctMs,
    /// Step time of collectives.
    StepMs,
}

impl TailMetric {
    /// Returns the name in sentences.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Slowdown => "slowdown",
            Self::FctMs => "completion time",
            Self::QctMs => "query completion time",
            Self::StepMs => "step time",
        }
    }

    /// Returns the name in JSON and CSV.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Slowdown => "slowdown",
            Self::FctMs => "fct_ms",
            Self::QctMs => "qct_ms",
            Self::StepMs => "step_ms",
        }
    }

    /// Returns whether it is one of flows, not of queries or collectives.
    pub const fn is_of_flows(self) -> bool {
        matches!(self, Self::Slowdown | Self::FctMs)
    }

    pub(crate) const fn unit(self) -> &'static str {
        match self {
            Self::Slowdown => "",
            Self::FctMs | Self::QctMs | Self::StepMs => "ms",
        }
    }

    /// Returns the possible range of its values.
    pub const fn range(self) -> ValueRange {
        match self {
            Self::Slowdown => ValueRange::SLOWDOWN,
            Self::FctMs | Self::QctMs | Self::StepMs => ValueRange::NOT_NEGATIVE,
        }
    }
}

impl TailRow {
    /// Returns the percentiles, in ascending order.
    pub fn percentiles(&self) -> [(Quantile, &ShownEstimate); 4] {
        let [p50, p95, p99, p999] = PERCENTILES;
        [(p50, &self.p50), (p95, &self.p95), (p99, &self.p99), (p999, &self.p999)]
    }

    /// Whether some flows did not complete.
    pub fn is_cut_off(&self) -> bool {
        self.unfinished + self.failed > 0
    }

    /// Returns the size class, or the size of all flows, or nothing.
    pub fn sizes(&self) -> String {
        self.class.clone().unwrap_or_else(|| {
            self.size_bytes.map_or_else(|| "all".to_owned(), crate::times::bytes)
        })
    }
}

/// Returns the runs of each scheme and point, in the order of the plan.
pub(crate) fn by_scheme_and_point(runs: &[RunFacts]) -> Vec<Vec<&RunFacts>> {
    let same =
        |a: &RunFacts, b: &RunFacts| a.key.scheme == b.key.scheme && a.key.point == b.key.point;
    runs.chunk_by(same).map(|seeds| seeds.iter().collect()).collect()
}

/// Returns the tails of all runs, which are in the order of the plan.
pub(crate) fn tails(runs: &[RunFacts]) -> Vec<TailRow> {
    let classes = all_classes(runs);
    by_scheme_and_point(runs)
        .iter()
        .flat_map(|seeds| flow_sets(seeds, &classes).into_iter().map(|set| row(seeds, set)))
        .collect()
}

fn row(seeds: &[&RunFacts], set: FlowSet<'_>) -> TailRow {
    let (first, none) = (seeds[0], Sample::empty(set.metric.range()));
    let samples: SeedSamples<'_> = set.samples(seeds, &none);
    let [p50, p95, p99, p999] = samples.percentiles(PERCENTILES).map(ShownEstimate::from);
    let sizes = seeds.iter().map(|run| run.group(set.group).and_then(|g| g.size_bytes));
    let size = sizes.clone().next().flatten();
    let mut row = TailRow {
        scheme: first.key.scheme.clone(),
        point: first.key.point.clone(),
        group: set.group.to_owned(),
        class: set.class.map(str::to_owned),
        metric: set.metric,
        unit: set.metric.unit(),
        size_bytes: size.filter(|size| sizes.clone().all(|s| s == Some(*size))),
        above_bytes: set.above_bytes(seeds),
        seeds: seeds.len(),
        flows: 0,
        unfinished: 0,
        blocked_on: BTreeMap::new(),
        failed: 0,
        in_warmup: 0,
        p50,
        p95,
        p99,
        p999,
    };
    set.counts(seeds, &mut row);
    row
}
