//! Woodruff's interval of a percentile: that of the share of flows up to it, read from the ranks.
//!
//! *Source*: Woodruff, JASA 47 (1952). The interval of the share is that of Clopper and Pearson
//! (1934) with the effective number of flows of Korn and Graubard, Survey Methodology 24 (1998):
//! flows of one seed depend on each other, so they count less than independent ones.

use lowtide_units::Quantile;
use statrs::distribution::{Beta, ChiSquared, ContinuousCDF};

use crate::interval::{LEVEL, students_t};
use crate::sorted::Sorted;

/// The interval of a share.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ShareInterval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Returns the Clopper-Pearson interval of `share`, observed in `count` independent trials. The
/// count need not be whole.
pub fn share_interval(share: f64, count: f64, level: f64) -> ShareInterval {
    let (hits, tail) = (share * count, (1.0 - level) / 2.0);
    let quantile = |a: f64, b: f64, p: f64| Beta::new(a, b).ok().map(|beta| beta.inverse_cdf(p));
    ShareInterval {
        low: quantile(hits, count - hits + 1.0, tail).unwrap_or(0.0),
        high: quantile(hits + 1.0, count - hits, 1.0 - tail).unwrap_or(1.0),
    }
}

/// Returns the number of independent flows that determine the share of flows up to `value`, whose
/// quantile is `q`, as well as those of all seeds do.
fn independent_count(seeds: &[Sorted<'_>], value: f64, q: Quantile) -> f64 {
    let (n, of_q) = (seeds.len() as f64, q.as_f64());
    let all = total(seeds);
    let variance = |count: &dyn Fn(&Sorted<'_>) -> f64| {
        let excess = |s: &Sorted<'_>| count(s) - of_q * s.count() as f64;
        let mean = seeds.iter().map(excess).sum::<f64>() / n;
        let squares: f64 = seeds.iter().map(|s| (excess(s) - mean).powi(2)).sum();
        n / (n - 1.0) * squares / (all * all)
    };
    // Of tied values both sides count, as the percentile may be on either.
    let variance = variance(&|s| s.up_to(value)).max(variance(&|s| s.below(value)));
    (of_q * (1.0 - of_q) / variance).min(all)
}

fn total(seeds: &[Sorted<'_>]) -> f64 {
    seeds.iter().map(|s| s.count() as f64).sum()
}

/// Returns the effective number of flows: the independent ones, less the uncertainty of few seeds.
fn effective_count(seeds: &[Sorted<'_>], value: f64, q: Quantile) -> f64 {
    let freedom = seeds.len() as f64 - 1.0;
    let penalty = students_t(total(seeds) - 1.0, LEVEL) / students_t(freedom, LEVEL);
    independent_count(seeds, value, q) * penalty * penalty
}

/// Returns the upper 99 % limit of the correlation of two flows of one seed: whether each is up to
/// `value`, whose quantile is `q`. *Source*: Kish, Survey Sampling (1965), §5.4.
pub(crate) fn seed_correlation(seeds: &[Sorted<'_>], value: f64, q: Quantile) -> f64 {
    let (all, freedom) = (total(seeds), seeds.len() as f64 - 1.0);
    let least = ChiSquared::new(freedom).map_or(0.0, |of| of.inverse_cdf(0.01));
    let effect = all / independent_count(seeds, value, q) * freedom / least;
    (effect - 1.0) / (all / seeds.len() as f64 - 1.0)
}

/// Returns Woodruff's interval of a quantile, whose value over all seeds is `value`. An end beyond
/// the last rank is the last value. It may be infinite.
pub(crate) fn interval(
    seeds: &[Sorted<'_>],
    pooled: &Sorted<'_>,
    q: Quantile,
    value: f64,
) -> [f64; 2] {
    let all = pooled.count();
    let share = share_interval(q.as_f64(), effective_count(seeds, value, q), LEVEL);
    let low = (share.low * all as f64).ceil() as u64;
    let high = (share.high * all as f64).floor() as u64 + 1;
    [pooled.at_rank(low.max(1)), pooled.at_rank(high.min(all))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_the_interval_of_clopper_and_pearson() {
        // R: binom.test(8, 10)$conf.int.
        let ShareInterval { low, high } = share_interval(0.8, 10.0, 0.95);
        assert!((low - 0.443_904_5).abs() < 1e-6 && (high - 0.974_789_3).abs() < 1e-6);
        assert!(share_interval(0.0, 10.0, 0.95).low <= 0.0);
        assert!(share_interval(1.0, 10.0, 0.95).high >= 1.0);
    }

    #[test]
    fn flows_of_seeds_that_differ_count_less() {
        let seed = |from: u32| Sorted {
            values: (from..from + 100).map(f64::from).collect::<Vec<_>>().into(),
            infinite: 0,
        };
        let apart: Vec<_> = (0..5).map(|i| seed(i * 100)).collect();
        // Two seeds are below the median and two above, so that the share varies by half.
        let found = effective_count(&apart, 250.0, Quantile::P50);
        let penalty = (students_t(499.0, 0.95) / students_t(4.0, 0.95)).powi(2);
        let variance = 5.0 / 4.0 * 4.0 * 2500.0 / 250_000.0;
        assert!((found / penalty - 0.25 / variance).abs() < 0.01, "{found}");
        let equal: Vec<_> = (0..5).map(|_| seed(0)).collect();
        let found = effective_count(&equal, 49.0, Quantile::P50);
        assert!((found - 500.0 * penalty).abs() < 1e-9, "{found}");
    }
}
