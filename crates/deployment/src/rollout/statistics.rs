//! Percentiles over all seeds, and ratios of them, with intervals.
//!
//! Contract: a percentile is one of the flows of all seeds together. Flows that did not complete
//! count as at least their age; a percentile that they could change is absent. Intervals are at
//! 95 %, over whole seeds, because flows of one run depend on each other:
//!
//! - If every seed alone has the value: Student's t over the logarithms of the seeds' own values,
//!   around the value of all (Asmussen and Glynn 2007, §III.5).
//! - Otherwise a bootstrap over seeds (Davison and Hinkley 1997, §3.8): its percentile interval,
//!   expanded for few seeds (Hesterberg 2015, §5.3).
//!
//! The resamples are equal for all samples, so a ratio is paired by seed. They come from a fixed
//! generator.

use lowtide_sim::Seed;
use lowtide_units::Quantile;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::estimate::Estimate;

/// Seeds that an interval needs.
pub(crate) const LEAST_SEEDS: usize = 5;

/// Resamples of the bootstrap.
const RESAMPLES: usize = 1000;

/// Units of a value per 1.0.
pub(crate) const SCALE: u64 = 1_000_000;

/// The percentiles of a sample.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Percentiles {
    /// The median.
    pub p50: Option<Estimate>,
    /// The 95th percentile; it needs 20 flows.
    pub p95: Option<Estimate>,
    /// The 99th percentile; it needs 100 flows.
    pub p99: Option<Estimate>,
    /// The 99.9th percentile; it needs 1000 flows.
    pub p999: Option<Estimate>,
}

/// Their quantiles, in order.
const QUANTILES: [Quantile; 4] = [Quantile::P50, Quantile::P95, Quantile::P99, Quantile::P999];

/// Weights of the seeds in each resample.
pub(crate) struct Resamples {
    seeds: usize,
    weights: Vec<Vec<u64>>,
}

impl Resamples {
    pub(crate) fn new(seeds: usize) -> Self {
        let mut rng = Seed::derive(0, "rollout", 0, "bootstrap").rng();
        let count = if seeds < LEAST_SEEDS { 0 } else { RESAMPLES };
        let mut weights = vec![vec![0; seeds]; count];
        for resample in &mut weights {
            for _ in 0..seeds {
                resample[rng.below(seeds as u64) as usize] += 1;
            }
        }
        Self { seeds, weights }
    }

    /// Returns the interval of `value` from the values of single seeds, or else of the resamples.
    fn interval(
        &self,
        value: f64,
        alone: &[Option<f64>],
        resampled: &[Option<f64>],
    ) -> Option<[f64; 2]> {
        let n = self.seeds as f64;
        let t = StudentsT::new(0.0, 1.0, n - 1.0).ok()?.inverse_cdf(0.975);
        let alone: Option<Vec<f64>> = alone.iter().copied().collect();
        if let Some(alone) = alone.filter(|_| !self.weights.is_empty()) {
            let squares: f64 = alone.iter().map(|v| (v / value).ln().powi(2)).sum();
            let factor = (t * (squares / (n * (n - 1.0))).sqrt()).exp();
            return (factor.is_finite() && factor > 1.0).then(|| [value / factor, value * factor]);
        }
        let mut values: Vec<f64> = resampled.iter().copied().collect::<Option<_>>()?;
        values.sort_unstable_by(f64::total_cmp);
        let level = Normal::standard().cdf(-(n / (n - 1.0)).sqrt() * t);
        let outside = (level * values.len() as f64).floor() as usize;
        let (low, high) = (values.get(outside)?, values.iter().rev().nth(outside)?);
        (low < high).then_some([*low, *high])
    }
}

/// The value of a flow between its bounds, in parts of [`SCALE`]; without an upper bound it is
/// `u64::MAX`.
#[derive(Clone, Copy)]
pub(crate) struct Bounded {
    pub(crate) least: u64,
    pub(crate) most: u64,
}

/// Values with the seeds in which they occurred.
#[derive(Default)]
pub(crate) struct Sample {
    least: Vec<(u64, u32)>,
    most: Vec<(u64, u32)>,
}

impl Sample {
    /// Creates a sample of values with the indices of their seeds.
    pub(crate) fn new(values: &[(Bounded, u32)]) -> Self {
        let sorted = |of: fn(&Bounded) -> u64| {
            let mut all: Vec<(u64, u32)> = values.iter().map(|(v, seed)| (of(v), *seed)).collect();
            all.sort_unstable();
            all
        };
        Self { least: sorted(|v| v.least), most: sorted(|v| v.most) }
    }

    /// Returns the quantiles of some seeds, if they are certain; `strict` if each needs enough
    /// values.
    fn quantiles(&self, weights: &[u64], strict: bool) -> [Option<f64>; 4] {
        let (low, n) = ranked(&self.least, weights);
        let (high, _) = ranked(&self.most, weights);
        let mut out = [None; 4];
        for (i, out) in out.iter_mut().enumerate() {
            let defined = !strict || QUANTILES[i].is_defined_for(n);
            let certain = low[i].filter(|v| defined && low[i] == high[i] && *v != u64::MAX);
            *out = certain.map(|v| v as f64 / SCALE as f64);
        }
        out
    }

    /// Returns the percentiles with their intervals.
    pub(crate) fn percentiles(&self, resamples: &Resamples) -> Percentiles {
        resamples.estimate(&|weights, strict| self.quantiles(weights, strict))
    }

    /// Returns the percentiles over those of `before`, paired by seed.
    pub(crate) fn ratios(&self, before: &Self, resamples: &Resamples) -> Percentiles {
        resamples.estimate(&|weights, strict| {
            let (mut out, before) =
                (self.quantiles(weights, strict), before.quantiles(weights, strict));
            for (out, before) in out.iter_mut().zip(before) {
                *out = out.zip(before).map(|(after, before)| after / before);
            }
            out
        })
    }
}

/// Computes four values of weighted seeds; if the flag is set, only those with enough flows.
type OfSeeds<'a> = dyn Fn(&[u64], bool) -> [Option<f64>; 4] + 'a;

impl Resamples {
    /// Computes four values of all seeds with their intervals.
    fn estimate(&self, of: &OfSeeds<'_>) -> Percentiles {
        let whole = of(&vec![1; self.seeds], true);
        let single = |i: usize| (0..self.seeds).map(|s| u64::from(s == i)).collect::<Vec<u64>>();
        let alone: Vec<_> = (0..self.seeds).map(|i| of(&single(i), true)).collect();
        let resampled: Vec<_> = self.weights.iter().map(|weights| of(weights, false)).collect();
        let [p50, p95, p99, p999] = [0, 1, 2, 3].map(|i: usize| {
            let column = |all: &[[Option<f64>; 4]]| all.iter().map(|v| v[i]).collect::<Vec<_>>();
            let value = whole[i]?;
            let ci95 = self.interval(value, &column(&alone), &column(&resampled));
            Some(Estimate { value, ci95 })
        });
        Percentiles { p50, p95, p99, p999 }
    }
}

/// Returns the values of the ranks of [`QUANTILES`] in sorted values with weights by seed, and the
/// number of values.
fn ranked(sorted: &[(u64, u32)], weights: &[u64]) -> ([Option<u64>; 4], u64) {
    let weight = |seed: u32| weights.get(seed as usize).copied().unwrap_or(0);
    let total: u64 = sorted.iter().map(|(_, seed)| weight(*seed)).sum();
    let ranks = QUANTILES.map(|q| q.rank(total));
    let mut out = [None; 4];
    let (mut passed, mut next) = (0, 0);
    for (value, seed) in sorted {
        passed += weight(*seed);
        while next < ranks.len() && ranks[next] > 0 && passed >= ranks[next] {
            out[next] = Some(*value);
            next += 1;
        }
    }
    (out, total)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(value: u64, seed: u32) -> (Bounded, u32) {
        let value = value * SCALE;
        (Bounded { least: value, most: value }, seed)
    }

    #[test]
    fn percentiles_are_those_of_all_seeds_together() {
        let values: Vec<_> = (1..=100).map(|i| known(i, (i % 10) as u32)).collect();
        let found = Sample::new(&values).percentiles(&Resamples::new(10));
        let value = |e: Option<Estimate>| e.map(|e| e.value);
        assert_eq!((value(found.p50), value(found.p99)), (Some(50.0), Some(99.0)));
        assert_eq!((value(found.p95), value(found.p999)), (Some(95.0), None));
        // Every tenth value is of one seed, whose own median is within 5 of that of all.
        let [low, high] = found.p50.unwrap().ci95.unwrap();
        assert!(45.0 < low && low < 50.0 && 50.0 < high && high < 55.0, "{low} {high}");
        // No seed has 100 values: a bootstrap, whose values occurred.
        let [low, high] = found.p99.unwrap().ci95.unwrap();
        assert!((90.0..=99.0).contains(&low) && (99.0..=100.0).contains(&high), "{low} {high}");
        let few = Sample::new(&values[..99]).percentiles(&Resamples::new(10));
        assert!(few.p99.is_none() && few.p95.is_some());
        assert!(Sample::default().percentiles(&Resamples::new(10)).p50.is_none());
    }

    #[test]
    fn few_seeds_have_no_interval() {
        let values: Vec<_> = (1..=100).map(|i| known(i, (i % 4) as u32)).collect();
        let found = Sample::new(&values).percentiles(&Resamples::new(4));
        assert!(found.p99.is_some_and(|e| e.ci95.is_none()));
    }

    #[test]
    fn ratios_are_paired_by_seed() {
        // The seeds differ by far, but each by the same factor.
        let before: Vec<_> =
            (0..200).map(|i| known((i % 20 + 1) * (1 << (i / 20)), (i / 20) as u32)).collect();
        let after: Vec<_> = before
            .iter()
            .map(|(v, seed)| (Bounded { least: v.least * 3, most: v.most * 3 }, *seed))
            .collect();
        let (before, after) = (Sample::new(&before), Sample::new(&after));
        let resamples = Resamples::new(10);
        assert!(before.percentiles(&resamples).p50.unwrap().ci95.unwrap()[1] > 40.0);
        let ratio = after.ratios(&before, &resamples).p50.unwrap();
        assert_eq!(ratio, Estimate { value: 3.0, ci95: None }, "every resample agrees");
    }

    #[test]
    fn a_percentile_that_unfinished_flows_could_change_is_absent() {
        let mut values: Vec<_> = (1..=100).map(|i| known(i, (i % 5) as u32)).collect();
        values[99].0 = Bounded { least: 200 * SCALE, most: u64::MAX };
        let found = Sample::new(&values).percentiles(&Resamples::new(5));
        assert_eq!(found.p99.map(|e| e.value), Some(99.0), "it is the slowest anyway");
        values[50].0 = Bounded { least: SCALE, most: u64::MAX };
        let found = Sample::new(&values).percentiles(&Resamples::new(5));
        assert!(found.p99.is_none() && found.p50.is_none());
    }
}
