//! The ratio of a percentile of two schemes, paired by seed.
//!
//! Contract: a statement must hold on two scales, as an interval of a percentile has two parts:
//!
//! - *Sections*: Student's t over the logarithms of the seeds' own ratios, around the ratio of all.
//! - *Shares*: with the flows of A scaled by the ratio that is tested, Student's t over the seeds'
//!   differences of the shares of flows up to the percentile of both together.
//!
//! A p-value is the greater of both. Neither alone is right at ties: own percentiles of discrete
//! values agree by chance, and shares of an atom differ without a difference of the percentile.

use lowtide_units::Quantile;

use crate::contrast::{Contrast, Tests};
use crate::seeds::BoundedSeeds;
use crate::sorted::Sorted;

/// Tests of the logarithm of a ratio of B to A.
pub(crate) struct RatioTests<'a> {
    /// Over the seeds' own ratios; `None` if one is not finite.
    sections: Option<Contrast>,
    a: &'a BoundedSeeds<'a>,
    b: &'a BoundedSeeds<'a>,
    q: Quantile,
}

/// Steps of a bisection.
const STEPS: usize = 50;

/// Farthest end of an interval from that of sections, as a logarithm of the ratio.
const FARTHEST: f64 = 20.0;

/// Probability beyond each end of an interval.
const TAIL: f64 = (1.0 - crate::interval::LEVEL) / 2.0;

impl<'a> RatioTests<'a> {
    /// Takes the flows of both. `logs` are the logarithms of the seeds' own ratios, and that of all
    /// seeds together.
    pub(crate) fn new(
        [a, b]: [&'a BoundedSeeds<'a>; 2],
        q: Quantile,
        logs: Option<(&[f64], f64)>,
    ) -> Self {
        let sections = logs.map(|(own, all)| Contrast::new(own, all));
        Self { sections, a, b, q }
    }

    /// Returns the difference of the shares of B and A up to their common percentile, with A
    /// scaled by a ratio. It is negative if B is greater.
    fn shares(&self, log_ratio: f64) -> Contrast {
        let [of_a, of_b] = common_quantile(&self.a.pooled, &self.b.pooled, log_ratio.exp(), self.q);
        let share = |of: &Sorted<'_>, limit: f64| of.up_to(limit) / of.count() as f64;
        let own: Vec<f64> = (self.a.seeds.iter().zip(&self.b.seeds))
            .map(|(a, b)| share(b, of_b) - share(a, of_a))
            .collect();
        let mean = own.iter().sum::<f64>() / own.len() as f64;
        Contrast::new(&own, mean)
    }

    /// Returns the interval of the logarithm; `None` if an end is too far away.
    pub(crate) fn interval(&self) -> Option<[f64; 2]> {
        let [low, high] = self.sections?.interval();
        let low = farthest(low, -1.0, |at| self.shares(at).at_least(0.0) > TAIL)?;
        let high = farthest(high, 1.0, |at| self.shares(at).at_most(0.0) > TAIL)?;
        Some([low, high])
    }
}

impl Tests for RatioTests<'_> {
    fn at_most(&self, limit: f64) -> f64 {
        // B is greater than A times the limit if fewer of its flows are below.
        let shares = self.shares(limit).at_least(0.0);
        self.sections.map_or(shares, |sections| sections.at_most(limit).max(shares))
    }

    fn at_least(&self, limit: f64) -> f64 {
        let shares = self.shares(limit).at_most(0.0);
        self.sections.map_or(shares, |sections| sections.at_least(limit).max(shares))
    }
}

/// Returns the farthest place from `start` in a direction that is still possible.
fn farthest(start: f64, direction: f64, possible: impl Fn(f64) -> bool) -> Option<f64> {
    if !possible(start) {
        return Some(start);
    }
    let (mut inside, mut outside) = (0.0, FARTHEST);
    if possible(start + direction * outside) {
        return None;
    }
    for _ in 0..STEPS {
        let middle = f64::midpoint(inside, outside);
        if possible(start + direction * middle) { inside = middle } else { outside = middle }
    }
    Some(start + direction * outside)
}

/// Returns the quantile of A, scaled by a ratio, and B together, on the scales of both. If it is
/// infinite, it is the greatest finite number, up to which all completed flows count.
fn common_quantile(a: &Sorted<'_>, b: &Sorted<'_>, ratio: f64, q: Quantile) -> [f64; 2] {
    let rank = q.rank(a.count() + b.count()) as f64;
    let of_a = a.values.partition_point(|v| a.up_to(*v) + b.up_to(v * ratio) < rank);
    let of_b = b.values.partition_point(|v| b.up_to(*v) + a.up_to(v / ratio) < rank);
    // The scale of the value itself has no rounding error, so that the value counts.
    let of_a = a.values.get(of_a).map(|v| [*v, v * ratio]);
    let of_b = b.values.get(of_b).map(|v| [v / ratio, *v]);
    let both = [of_a, of_b].into_iter().flatten();
    both.min_by(|x, y| x[1].total_cmp(&y[1])).unwrap_or([f64::MAX; 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_quantile_is_that_of_the_merged_values() {
        let of = |values: &[f64]| Sorted { values: values.to_vec().into(), infinite: 0 };
        let (a, b) = (of(&[1.0, 2.0, 3.0, 4.0]), of(&[1.5, 5.0, 6.0]));
        for (ratio, wanted) in [(1.0, 3.0), (2.0, 5.0), (0.5, 1.5)] {
            let mut all: Vec<f64> = a.values.iter().map(|v| v * ratio).collect();
            all.extend(b.values.iter());
            all.sort_unstable_by(f64::total_cmp);
            assert_eq!(Quantile::P50.of(&all), Some(wanted));
            let [of_a, of_b] = common_quantile(&a, &b, ratio, Quantile::P50);
            assert!((of_b - wanted).abs() + (of_a - wanted / ratio).abs() < 1e-12, "{of_a} {of_b}");
        }
        let failed = Sorted { values: vec![1.0].into(), infinite: 9 };
        let infinite = common_quantile(&failed, &b, 1.0, Quantile::P99);
        assert!(infinite.iter().all(|limit| *limit >= f64::MAX));
    }
}
