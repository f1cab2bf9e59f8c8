//! Tails: percentiles of completion times and slowdown over all seeds, by size class, at every
//! point of a sweep; and their ratios between schemes.
//!
//! Contract: a percentile is one of all seeds' flows together, so it needs fewer flows a seed than
//! the percentiles of single runs. Censored flows count: a percentile that they could change is
//! absent. Every absent value has its reason. Terminal, report, JSON and CSV show these rows.

mod cdf;
mod estimate;
mod flow_set;
mod ratio;
mod table;

use std::collections::BTreeMap;

use lowtide_record::SweepPoint;
use lowtide_units::Quantile;
use serde::{Deserialize, Serialize};

use crate::censored::{CensoredSample, Pool};
use crate::facts::RunFacts;
use crate::times::{PS_PER_MS, SLOWDOWN_SCALE};

pub(crate) use cdf::{curve, to_csv as distributions_csv};
pub use estimate::IntervalMethod;
use estimate::{LEAST_BEYOND, LEAST_SEEDS, Resamples, SeedInterval, SeedSelection};
pub(crate) use flow_set::{FlowSet, all_classes, flow_sets};
pub use ratio::{TailRatio, TailVerdict};
pub(crate) use ratio::{common_percentile, ratio_between, ratios, shortest};
pub(crate) use table::to_csv;
pub use table::{range, significant};

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
    /// Flows, or queries, of all seeds.
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
    pub p50: TailQuantile,
    /// The 95th percentile.
    pub p95: TailQuantile,
    /// The 99th percentile.
    pub p99: TailQuantile,
    /// The 99.9th percentile.
    pub p999: TailQuantile,
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
}

/// One percentile of all seeds together.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TailQuantile {
    /// The value.
    pub value: Option<f64>,
    /// Its 95 % interval.
    pub ci95: Option<[f64; 2]>,
    /// Method of the interval.
    pub interval: Option<IntervalMethod>,
    /// Whether every seed has exactly this value.
    pub seed_independent: bool,
    /// Reason of an absent value or interval.
    pub note: Option<String>,
}

lowtide_units::named_enum! {
    /// Percentiles of a tail row.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Percentile ALL {
        /// The median.
        P50 = "p50",
        /// The 95th.
        P95 = "p95",
        /// The 99th.
        P99 = "p99",
        /// The 99.9th.
        P999 = "p99.9",
    }
}

impl Percentile {
    /// Returns the number of flows that it needs.
    pub const fn least_flows(self) -> usize {
        match self {
            Self::P50 => 2,
            Self::P95 => 20,
            Self::P99 => 100,
            Self::P999 => 1000,
        }
    }

    /// Returns the number of `flows` beyond it.
    pub(crate) const fn beyond(self, flows: u64) -> u64 {
        flows / self.least_flows() as u64
    }

    const fn quantile(self) -> Quantile {
        match self {
            Self::P50 => Quantile::P50,
            Self::P95 => Quantile::P95,
            Self::P99 => Quantile::P99,
            Self::P999 => Quantile::P999,
        }
    }
}

impl TailMetric {
    /// Returns the name in sentences.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Slowdown => "slowdown",
            Self::FctMs => "completion time",
            Self::QctMs => "query completion time",
        }
    }

    /// Returns the name in JSON and CSV.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Slowdown => "slowdown",
            Self::FctMs => "fct_ms",
            Self::QctMs => "qct_ms",
        }
    }

    const fn unit(self) -> &'static str {
        match self {
            Self::Slowdown => "",
            Self::FctMs | Self::QctMs => "ms",
        }
    }

    const fn scale(self) -> u64 {
        match self {
            Self::Slowdown => SLOWDOWN_SCALE,
            Self::FctMs | Self::QctMs => PS_PER_MS,
        }
    }
}

impl TailQuantile {
    /// A percentile without a value, for this reason.
    pub(crate) fn absent(note: &str) -> Self {
        Self {
            value: None,
            ci95: None,
            interval: None,
            seed_independent: false,
            note: Some(note.to_owned()),
        }
    }
}

impl TailRow {
    /// Returns one percentile.
    pub const fn quantile(&self, which: Percentile) -> &TailQuantile {
        match which {
            Percentile::P50 => &self.p50,
            Percentile::P95 => &self.p95,
            Percentile::P99 => &self.p99,
            Percentile::P999 => &self.p999,
        }
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
    let mut rows = Vec::new();
    for seeds in by_scheme_and_point(runs) {
        let resamples = Resamples::new(seeds.len());
        rows.extend(
            flow_sets(&seeds, &classes).into_iter().map(|set| row(&seeds, set, &resamples)),
        );
    }
    rows
}

fn row(seeds: &[&RunFacts], set: FlowSet<'_>, resamples: &Resamples) -> TailRow {
    let (first, none) = (seeds[0], CensoredSample::default());
    let pool = set.pool(seeds, &none);
    let of = |which| quantile(&pool, set.metric, which, (seeds.len(), resamples));
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
        p50: of(Percentile::P50),
        p95: of(Percentile::P95),
        p99: of(Percentile::P99),
        p999: of(Percentile::P999),
    };
    set.counts(seeds, &mut row);
    row
}

fn quantile(
    pool: &Pool<'_>,
    metric: TailMetric,
    which: Percentile,
    (seeds, resamples): (usize, &Resamples),
) -> TailQuantile {
    let mut found = TailQuantile { note: None, ..TailQuantile::absent("") };
    let (q, scale) = (which.quantile(), metric.scale() as f64);
    let shown = |v: u64| v as f64 / scale;
    let all = vec![1; seeds];
    if pool.count(&all) < which.least_flows() as u64 {
        found.note = Some(format!("needs {} flows", which.least_flows()));
        return found;
    }
    let Some(value) = pool.quantile(q, &all).map(shown) else {
        found.note = Some("unfinished flows could change it".to_owned());
        return found;
    };
    found.value = Some(value);
    let beyond = which.beyond(pool.count(&all));
    let interval = resamples.interval(value, beyond, &|selection| match selection {
        SeedSelection::Alone(weights) => pool.quantile(q, weights).map(shown),
        SeedSelection::Resampled(weights) => pool.value_at_rank(q, weights).map(shown),
    });
    match interval {
        SeedInterval::Known(ci95, method) => {
            (found.ci95, found.interval) = (Some(ci95), Some(method));
        }
        SeedInterval::SeedIndependent => found.seed_independent = true,
        other => found.note = missing_interval(&other, which),
    }
    found
}

/// Returns why an interval is absent.
fn missing_interval(interval: &SeedInterval, which: Percentile) -> Option<String> {
    let needs = which.least_flows();
    match interval {
        SeedInterval::OneSeed => Some("one seed has no interval".to_owned()),
        SeedInterval::TooFew => Some(format!(
            "its interval needs {needs} flows in each seed, or {LEAST_SEEDS} seeds with {} flows",
            needs * LEAST_BEYOND as usize
        )),
        SeedInterval::Undefined => {
            Some("unfinished or missing flows could change its interval".to_owned())
        }
        SeedInterval::Known(..) | SeedInterval::SeedIndependent => None,
    }
}

#[cfg(test)]
mod tests {
    use lowtide_rows::FlowStatus;

    use super::*;
    use crate::times::completion_sample;
    use crate::times::tests::flow;

    /// One run with flows of these times in milliseconds; `None` is cut off after 50 ms.
    fn sample(times: impl IntoIterator<Item = Option<u64>>) -> CensoredSample {
        let status = |t: Option<u64>| {
            if t.is_some() { FlowStatus::Complete } else { FlowStatus::Unfinished }
        };
        let flows: Vec<_> = times.into_iter().map(|t| flow(0, t, status(t))).collect();
        completion_sample(&flows.iter().collect::<Vec<_>>(), 50 * PS_PER_MS)
    }

    fn found(samples: &[CensoredSample], which: Percentile) -> TailQuantile {
        let pool = Pool::new(samples.iter().collect());
        let resamples = Resamples::new(samples.len());
        quantile(&pool, TailMetric::FctMs, which, (samples.len(), &resamples))
    }

    #[test]
    fn a_percentile_is_one_of_all_seeds_together() {
        let seeds = [sample((1..=10).map(Some)), sample((11..=20).map(Some))];
        let p95 = found(&seeds, Percentile::P95);
        assert_eq!(p95.value, Some(19.0), "20 flows, 10 in each");
        assert_eq!(p95.ci95, None);
        let note = p95.note.unwrap();
        assert_eq!(note, "its interval needs 20 flows in each seed, or 10 seeds with 60 flows");
        let p50 = found(&seeds, Percentile::P50);
        let [low, high] = p50.ci95.expect("each seed has a median");
        assert!(low < 10.0 && high > 10.0 && p50.value == Some(10.0));
        assert_eq!(found(&seeds, Percentile::P99).note.as_deref(), Some("needs 100 flows"));
    }

    #[test]
    fn censored_flows_count() {
        let seeds = [sample((1..=10).map(Some)), sample((11..=19).map(Some).chain([None]))];
        let p95 = found(&seeds, Percentile::P95);
        assert_eq!(p95.value, Some(19.0), "the unfinished one took at least 50 ms");
        let seeds = [sample((1..=10).map(Some)), sample((51..=59).map(Some).chain([None]))];
        let p95 = found(&seeds, Percentile::P95);
        assert_eq!(p95.value, None, "it may take more or less than 59 ms");
        assert_eq!(p95.note.as_deref(), Some("unfinished flows could change it"));
        let cut = [sample([None, None, Some(1)]), sample([None, Some(2), None])];
        assert_eq!(found(&cut, Percentile::P50).value, None);
    }

    #[test]
    fn ten_seeds_of_few_flows_have_a_bootstrap() {
        let seeds: Vec<CensoredSample> =
            (0..10).map(|seed| sample((1..=6).map(|i| Some(i + seed)))).collect();
        let p95 = found(&seeds, Percentile::P95);
        assert_eq!(p95.interval, Some(IntervalMethod::Bootstrap));
        let ([low, high], value) = (p95.ci95.unwrap(), p95.value.unwrap());
        assert!(low < value && value <= high, "{low} {value} {high}");
        let same: Vec<CensoredSample> = (0..4).map(|_| sample((1..=6).map(Some))).collect();
        assert!(found(&same, Percentile::P50).seed_independent);
    }
}
