//! Distance of measured values from the bands of claims: what an inference makes small.

use super::evaluate::SeedValue;
use crate::{Claim, ClaimKind};

/// Half of the width of a band that is open at one side, as a part of its bound.
const OPEN_BAND: f64 = 0.25;

/// The value of a claim over seeds: the mean, or for a rate all events over all trials. `None`
/// unless each seed has a value.
pub(super) fn mean(claim: &Claim, values: &[SeedValue]) -> Option<f64> {
    let total = values.iter().map(|(value, _)| *value).sum::<Option<f64>>()?;
    let of = match claim.kind {
        ClaimKind::Rate => values.iter().map(|(_, trials)| *trials).sum::<Option<f64>>()?,
        _ => values.len() as f64,
    };
    (of > 0.0).then(|| total / of)
}

/// From 0, in the band of the claim, to 1, far from it: d / (1 + d), where d is the distance from
/// the band in halves of its width; of a band that is open at one side, in quarters of its bound. A
/// claim without a value has 1.
pub(super) fn loss(claim: &Claim, values: &[SeedValue]) -> f64 {
    let Some(mean) = mean(claim, values).filter(|m| m.is_finite()) else { return 1.0 };
    let [low, high] = claim.band();
    let outside = (low - mean).max(mean - high).max(0.0);
    if outside <= 0.0 {
        return 0.0;
    }
    let half = if low.is_finite() && high.is_finite() {
        (high - low) / 2.0
    } else {
        OPEN_BAND * if low.is_finite() { low } else { high }.abs()
    };
    // A band around zero has no width.
    let half = if half > 0.0 { half } else { OPEN_BAND };
    let distance = outside / half;
    distance / (1.0 + distance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ExperimentClaims;

    fn claim(rest: &str) -> Claim {
        let text = format!(
            "paper = \"P\"\ntitle = \"T\"\n[[claim]]\nid = \"a\"\nsays = \"b\"\nsource = \"fig. 1\"\n\
             measure = {{ table = \"flows\", column = \"fct_ps\", reduce = \"mean\" }}\n{rest}"
        );
        ExperimentClaims::parse(&text, "x").unwrap().claims.remove(0)
    }

    fn values(of: &[f64]) -> Vec<SeedValue> {
        of.iter().map(|v| (Some(*v), None)).collect()
    }

    #[test]
    fn the_loss_grows_from_the_edge_of_the_band() {
        let ratio = claim("kind = \"ratio\"\nreported = 4.0");
        for (value, expected) in [(4.0, 0.0), (3.0, 0.0), (2.0, 0.5), (7.0, 2.0 / 3.0)] {
            assert!((loss(&ratio, &values(&[value])) - expected).abs() < 1e-12, "{value}");
        }
        assert!((loss(&ratio, &[(None, None)]) - 1.0).abs() < 1e-12);
        let order = claim("kind = \"ordering\"\nat-least = 2.0");
        assert!((loss(&order, &values(&[1.5])) - 0.5).abs() < 1e-12);
        assert!(loss(&order, &values(&[9.0])) <= 0.0);
    }

    #[test]
    fn a_rate_is_that_of_all_seeds_together() {
        let trials = "trials = { table = \"flows\", column = \"fct_ps\", reduce = \"count\" }";
        let rate = claim(&format!("kind = \"rate\"\nreported = 0.1\n{trials}"));
        let values = [(Some(1.0), Some(10.0)), (Some(0.0), Some(30.0))];
        assert_eq!(mean(&rate, &values), Some(0.025));
        assert_eq!(mean(&rate, &[(None, Some(1.0))]), None);
    }
}
