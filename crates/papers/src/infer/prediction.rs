//! Whether the fitted claims predict those held back: the rank correlation of their losses.

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
}
