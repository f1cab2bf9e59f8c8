//! Percentiles of the flows or queries of a row, compared with those before the move.
//!
//! Contract: the percentile of the verdict is the highest up to the 99th for which every seed has
//! enough flows. It depends on arrivals only, so it selects no outcome.

use lowtide_lab::{ShownComparison, ShownEstimate};
use lowtide_rows::FlowStatus;
use lowtide_stats::{Comparison, Observation, Sample, SeedSamples, Verdict, compare_percentile};
use lowtide_units::Quantile;
use serde::Serialize;

/// Values of four percentiles.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Percentiles<T> {
    /// The median; it needs 2 flows.
    pub p50: T,
    /// The 95th percentile; it needs 20 flows.
    pub p95: T,
    /// The 99th percentile; it needs 100 flows.
    pub p99: T,
    /// The 99.9th percentile; it needs 1000 flows.
    pub p999: T,
}

/// Their quantiles, in order.
const QUANTILES: [Quantile; 4] = [Quantile::P50, Quantile::P95, Quantile::P99, Quantile::P999];

/// Their names in order, as in files.
pub(super) const NAMES: [&str; 4] = ["p50", "p95", "p99", "p999"];

impl<T> Percentiles<T> {
    fn new([p50, p95, p99, p999]: [T; 4]) -> Self {
        Self { p50, p95, p99, p999 }
    }

    /// Returns the values in the order of [`NAMES`].
    pub(super) fn all(&self) -> [&T; 4] {
        [&self.p50, &self.p95, &self.p99, &self.p999]
    }
}

/// The flows or queries of a row. Those of a share above 0 are in the runs of that share and of
/// share 0.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Outcome {
    /// Their number in all seeds.
    pub count: u64,
    /// Of these, cut off by the end of the run.
    pub unfinished: u64,
    /// Of these, failed.
    pub failed: u64,
    /// Their percentiles.
    pub percentiles: Percentiles<ShownEstimate>,
    /// Compared with the same flows with no host moved, which are A; null at a share of 0.
    pub comparison: Option<Percentiles<ShownComparison>>,
    /// The percentile of the verdict, `p50`, `p95` or `p99`; null at a share of 0, and if a seed
    /// has fewer than two flows.
    pub judged: Option<&'static str>,
    /// The verdict, of all of the answer together; null at a share of 0.
    pub verdict: Option<Verdict>,
    /// The comparison of the verdict; of medians, which decide nothing, without `judged`.
    #[serde(skip)]
    pub(super) compared: Option<Comparison>,
}

impl Outcome {
    /// Summarises one sample per seed, and those before the move. `None` without flows.
    pub(super) fn new(now: &[Sample], before: Option<&[Sample]>, tolerance: f64) -> Option<Self> {
        let after = SeedSamples::new(now.iter().collect());
        if after.flows() == 0 {
            return None;
        }
        let percentiles = after.percentiles(QUANTILES);
        let compare = |before: &[Sample]| {
            let before = SeedSamples::new(before.iter().collect());
            let then = before.percentiles(QUANTILES);
            let mut all = QUANTILES.map(|q| compare_percentile(&before, &after, q, tolerance));
            for (of, values) in all.iter_mut().zip(then.into_iter().zip(percentiles)) {
                of.values = values.into();
            }
            all
        };
        let compared = before.map(compare);
        let fewest = now.iter().chain(before.into_iter().flatten()).map(Sample::count).min();
        let enough = |i: &usize| QUANTILES[*i].is_defined_for(fewest.unwrap_or(0));
        let judged = compared.and_then(|_| (0..3).rev().find(enough));
        Some(Self {
            count: after.flows(),
            unfinished: now.iter().map(|sample| sample.cut_off().len() as u64).sum(),
            failed: now.iter().map(Sample::failed).sum(),
            percentiles: Percentiles::new(percentiles.map(ShownEstimate::from)),
            comparison: compared
                .map(|all| Percentiles::new(all.map(|of| ShownComparison::new(&of, None)))),
            judged: judged.map(|i| NAMES[i]),
            verdict: compared.map(|_| Verdict::Undecided),
            compared: compared.map(|all| all[judged.unwrap_or(0)]),
        })
    }

    /// Sets the verdict, also in the comparison of its percentile.
    pub(super) fn decide(&mut self, verdict: Verdict) {
        self.verdict = Some(verdict);
        let comparison = self.comparison.as_mut();
        let of = comparison.and_then(|all| match self.judged? {
            "p99" => Some(&mut all.p99),
            "p95" => Some(&mut all.p95),
            _ => Some(&mut all.p50),
        });
        if let Some(of) = of {
            of.verdict = Some(verdict);
        }
    }

    /// Returns the comparison of the verdict with the name of its percentile; `None` at a share of
    /// 0.
    pub(super) fn judged(&self) -> Option<(&'static str, &ShownComparison)> {
        let name = self.judged.unwrap_or(NAMES[0]);
        let index = NAMES.iter().position(|known| *known == name)?;
        Some((name, self.comparison.as_ref()?.all()[index]))
    }
}

/// Returns the end of a flow or query, whose value at a time in ps is given by `scale`.
pub(super) fn observe(
    status: FlowStatus,
    duration_ps: Option<u64>,
    age_ps: u64,
    scale: impl Fn(u64) -> f64,
) -> Observation {
    match (status, duration_ps) {
        (FlowStatus::Failed, _) => Observation::Failed,
        (_, Some(ps)) => Observation::Complete(scale(ps)),
        (_, None) => Observation::CutOff(scale(age_ps)),
    }
}
