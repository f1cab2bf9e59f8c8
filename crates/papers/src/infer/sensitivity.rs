//! The part of the loss that a parameter explains alone.
//!
//! Contract: the index is omega squared of a one-way analysis of variance (Hays 1963) over the
//! draws of the prior: the part of the variance that the parameter explains, less what chance
//! explains. Without influence it is around zero.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// Groups of a range, of equal width on its scale.
pub(super) const RANGE_GROUPS: usize = 4;

/// Influence of a parameter on the loss.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sensitivity {
    /// Omega squared: at most 1; around 0 without influence.
    pub index: f64,
    /// Probability of an index of at least this size without influence (F test).
    pub p: f64,
}

/// A p value times the number of parameters that are tested (Bonferroni), at most 1.
pub(crate) fn corrected(p: f64, parameters: usize) -> f64 {
    (p * parameters as f64).min(1.0)
}

/// A probability with three decimals.
pub(crate) fn probability(p: f64) -> String {
    if p < 0.0005 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

/// The influence of a parameter whose draws are in `groups` on `losses`; `None` if all draws are in
/// one group, or all losses are equal.
pub(super) fn sensitivity(groups: &[usize], losses: &[f64]) -> Option<Sensitivity> {
    let n = losses.len() as f64;
    let mean = losses.iter().sum::<f64>() / n;
    let total: f64 = losses.iter().map(|l| (l - mean) * (l - mean)).sum();
    let last = groups.iter().max()?;
    let (mut between, mut count) = (0.0, 0.0);
    for group in 0..=*last {
        let of: Vec<f64> =
            groups.iter().zip(losses).filter(|(g, _)| **g == group).map(|(_, l)| *l).collect();
        if !of.is_empty() {
            let size = of.len() as f64;
            let difference = of.iter().sum::<f64>() / size - mean;
            between += size * difference * difference;
            count += 1.0;
        }
    }
    if count < 2.0 || n <= count || total <= 0.0 {
        return None;
    }
    let error = (total - between).max(0.0) / (n - count);
    let index = (between - (count - 1.0) * error) / (total + error);
    let p = if error > 0.0 {
        let f = between / (count - 1.0) / error;
        1.0 - FisherSnedecor::new(count - 1.0, n - count).ok()?.cdf(f)
    } else {
        0.0
    };
    Some(Sensitivity { index, p })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_that_decides_has_nearly_one_and_one_without_influence_nearly_zero() {
        let groups: Vec<usize> = (0..40).map(|i| i % 4).collect();
        let noise = |i: usize| ((i * 7919) % 13) as f64 / 1300.0;
        let decided: Vec<f64> =
            groups.iter().enumerate().map(|(i, g)| *g as f64 + noise(i)).collect();
        let found = sensitivity(&groups, &decided).unwrap();
        assert!(found.index > 0.99 && found.p < 1e-6, "{found:?}");
        let alone: Vec<f64> = (0..40).map(|i| ((i / 4) % 2) as f64).collect();
        let found = sensitivity(&groups, &alone).unwrap();
        assert!(found.index < 0.0 && found.p > 0.9, "{found:?}");
    }

    #[test]
    fn there_is_no_index_without_groups_or_without_variance() {
        assert_eq!(sensitivity(&[0, 0, 0], &[1.0, 2.0, 3.0]), None);
        assert_eq!(sensitivity(&[0, 1, 0], &[1.0, 1.0, 1.0]), None);
    }
}
