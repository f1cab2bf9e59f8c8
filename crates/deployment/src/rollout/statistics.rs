//! Percentiles over all seeds, and ratios of them, with intervals.
//!
//! Contract: a percentile is one of the flows of all seeds together. Flows that did not complete
//! count as at least their age; a percentile that they could change is absent. Intervals are at
//! 95 %, on the logarithm: Student's t with the standard error of a bootstrap over seeds (Davison
//! and Hinkley 1997, §3.8), because flows of one run depend on each other. The resamples are equal
//! for all samples, so a ratio is paired by seed. They come from a fixed generator.

use lowtide_sim::Seed;
use lowtide_units::Quantile;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Seeds that an interval needs.
pub(crate) const LEAST_SEEDS: usize = 5;

/// Resamples of the bootstrap.
const RESAMPLES: usize = 400;

/// Units of a value per 1.0.
pub(crate) const SCALE: u64 = 1_000_000;

/// A value over seeds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Estimate {
    /// The value of all seeds together.
    pub value: f64,
    /// Its 95 % interval; null for fewer than five seeds, for equal seeds, and if resamples are
    /// undefined.
    pub ci95: Option<[f64; 2]>,
}

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

    /// Returns the interval of `value` from the values of the resamples.
    fn interval(&self, value: f64, resampled: &[Option<f64>]) -> Option<[f64; 2]> {
        let logs: Vec<f64> = resampled.iter().map(|v| v.map(f64::ln)).collect::<Option<_>>()?;
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let variance = logs.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (count - 1.0);
        let n = self.seeds as f64;
        // The variance of resampled means is (n - 1) / n of the variance of means.
        let error = (variance * n / (n - 1.0)).sqrt();
        let t = StudentsT::new(0.0, 1.0, n - 1.0).ok()?.inverse_cdf(0.975);
        let factor = (t * error).exp();
        let known = logs.len() > 1 && factor.is_finite() && error > 0.0;
        known.then_some([value / factor, value * factor])
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

    /// Returns the quantiles of all values, if they are defined and certain.
    fn whole(&self, seeds: usize) -> [Option<f64>; 4] {
        let n = self.least.len() as u64;
        let all = self.weighted(&vec![1; seeds]);
        let mut i = 0;
        all.map(|value| {
            i += 1;
            value.filter(|_| QUANTILES[i - 1].is_defined_for(n))
        })
    }

    /// Returns the quantiles with weighted seeds, if they are certain.
    fn weighted(&self, weights: &[u64]) -> [Option<f64>; 4] {
        let (low, high) = (ranked(&self.least, weights), ranked(&self.most, weights));
        let mut out = [None; 4];
        for ((out, low), high) in out.iter_mut().zip(low).zip(high) {
            let certain = low.filter(|v| Some(*v) == high && *v != u64::MAX && *v > 0);
            *out = certain.map(|v| v as f64 / SCALE as f64);
        }
        out
    }

    /// Returns the percentiles with their intervals.
    pub(crate) fn percentiles(&self, resamples: &Resamples) -> Percentiles {
        let resampled: Vec<_> = resamples.weights.iter().map(|w| self.weighted(w)).collect();
        Percentiles::of(self.whole(resamples.seeds), &resampled, resamples)
    }

    /// Returns the percentiles over those of `before`, paired by seed.
    pub(crate) fn ratios(&self, before: &Self, resamples: &Resamples) -> Percentiles {
        let over = |a: [Option<f64>; 4], b: [Option<f64>; 4]| {
            let mut out = [None; 4];
            for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                *out = a.zip(b).map(|(a, b)| a / b);
            }
            out
        };
        let resampled = |w: &Vec<u64>| over(self.weighted(w), before.weighted(w));
        let resampled: Vec<_> = resamples.weights.iter().map(resampled).collect();
        let whole = over(self.whole(resamples.seeds), before.whole(resamples.seeds));
        Percentiles::of(whole, &resampled, resamples)
    }
}

impl Percentiles {
    fn of(whole: [Option<f64>; 4], resampled: &[[Option<f64>; 4]], resamples: &Resamples) -> Self {
        let estimate = |i: usize| {
            let value = whole[i]?;
            let of: Vec<Option<f64>> = resampled.iter().map(|r| r[i]).collect();
            Some(Estimate { value, ci95: resamples.interval(value, &of) })
        };
        Self { p50: estimate(0), p95: estimate(1), p99: estimate(2), p999: estimate(3) }
    }
}

/// Returns the values of the ranks of [`QUANTILES`] in sorted values with weights by seed.
fn ranked(sorted: &[(u64, u32)], weights: &[u64]) -> [Option<u64>; 4] {
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
    out
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
        let [low, high] = found.p50.unwrap().ci95.unwrap();
        assert!(low < 50.0 && 50.0 < high && high < 60.0, "{low} {high}");
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
