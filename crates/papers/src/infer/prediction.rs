//! Whether the fitted claims predict those held back: the rank correlation of their losses, and the
//! exact test of two settings on the same claims.

use statrs::distribution::{Binomial, DiscreteCDF};

/// Two-sided p value of McNemar's exact test: `a` claims hold only at one setting, `b` only at the
/// other. It takes claims for independent, so with claims of one figure it is too small.
pub(crate) fn mcnemar(a: u64, b: u64) -> f64 {
    let tail = Binomial::new(0.5, a + b).map_or(1.0, |coin| coin.cdf(a.min(b)));
    (2.0 * tail).min(1.0)
}

/// 95 % interval of a rank correlation of `n` pairs, by Fisher's transformation with the variance
/// 1.06 / (n - 3) (Fieller, Hartley and Pearson 1957).
pub(crate) fn correlation_interval(r: f64, n: usize) -> Option<[f64; 2]> {
    let free = n.checked_sub(3).filter(|free| *free > 0)? as f64;
    let half = 1.96 * (1.06 / free).sqrt();
    (r.abs() < 1.0).then(|| [-half, half].map(|h| (r.atanh() + h).tanh()))
}

/// Spearman's rank correlation; `None` with fewer than three pairs or without variation.
pub(super) fn rank_correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() < 3 || a.len() != b.len() {
        return None;
    }
    let (a, b) = (ranks(a), ranks(b));
    let mean = f64::midpoint(a.len() as f64, 1.0);
    let sum = |x: &[f64], y: &[f64]| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum()
    };
    let spread = (sum(&a, &a) * sum(&b, &b)).sqrt();
    (spread > 0.0).then(|| sum(&a, &b) / spread)
}

/// Ranks from one; equal values share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |v: &f64| {
        let below = values.iter().filter(|w| w.total_cmp(v).is_lt()).count();
        let equal = values.iter().filter(|w| w.total_cmp(v).is_eq()).count();
        below as f64 + f64::midpoint(equal as f64, 1.0)
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_correlation_is_that_of_ranks() {
        let near = |a: &[f64], b: &[f64], r: f64| {
            assert!((rank_correlation(a, b).unwrap() - r).abs() < 1e-12);
        };
        near(&[1.0, 2.0, 30.0], &[0.1, 0.2, 0.3], 1.0);
        near(&[1.0, 2.0, 30.0], &[3.0, 2.0, 1.0], -1.0);
        // Ranks 1.5, 1.5, 3 and 1, 2, 3.
        near(&[1.0, 1.0, 2.0], &[1.0, 2.0, 3.0], 0.75_f64.sqrt());
        assert_eq!(rank_correlation(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]), None);
        assert_eq!(rank_correlation(&[1.0, 2.0], &[1.0, 2.0]), None);
    }

    #[test]
    fn four_against_four_claims_tell_nothing_and_ten_against_none_much() {
        let near = |p: f64, expected: f64| assert!((p - expected).abs() < 1e-12, "{p}");
        near(mcnemar(4, 4), 1.0);
        near(mcnemar(0, 0), 1.0);
        near(mcnemar(10, 0), 2.0 / 1024.0);
        near(mcnemar(1, 4), 12.0 / 32.0);
    }

    #[test]
    fn an_interval_of_a_correlation_is_within_one() {
        let [low, high] = correlation_interval(0.26, 32).unwrap();
        assert!((low + 0.107).abs() < 0.005 && (high - 0.565).abs() < 0.005, "{low} {high}");
        assert_eq!(correlation_interval(1.0, 32), None);
        assert_eq!(correlation_interval(0.5, 3), None);
    }
}
