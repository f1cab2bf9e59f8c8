//! The Kaplan-Meier estimate of a distribution with right-censored values.
//!
//! *Source*: Kaplan and Meier, JASA 53 (1958), §2. Of equal times, completions come before cuts.
//! Failed flows are at risk without end, so the curve does not fall below their share.

use lowtide_units::Quantile;

/// A step of the survival function.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SurvivalStep {
    /// A value at which flows completed.
    pub value: f64,
    /// Estimated share of flows beyond it.
    pub survival: f64,
}

/// The survival function.
#[derive(Clone, PartialEq, Debug)]
pub struct KaplanMeier {
    /// Steps in ascending order of their values.
    pub steps: Vec<SurvivalStep>,
}

/// Rounding error of the product, far below the share of a flow.
const ROUNDING: f64 = 1e-12;

impl KaplanMeier {
    /// Computes it from values of completed flows and lower limits of cut-off ones, both ascending,
    /// and the number of failed flows.
    pub fn new(complete: &[f64], cut_off: &[f64], failed: u64) -> Self {
        let mut steps = Vec::new();
        let (mut done, mut survival) = (0, 1.0);
        for equal in complete.chunk_by(|a, b| a.total_cmp(b).is_eq()) {
            let value = equal[0];
            let cut = cut_off.partition_point(|age| *age < value);
            let at_risk = (complete.len() - done + cut_off.len() - cut) as u64 + failed;
            survival *= 1.0 - equal.len() as f64 / at_risk as f64;
            done += equal.len();
            steps.push(SurvivalStep { value, survival });
        }
        Self { steps }
    }

    /// Returns the least value that at least the share `q` of the flows does not exceed; `None` if
    /// cut-off or failed flows are so many that the curve does not reach it.
    pub fn quantile(&self, q: Quantile) -> Option<f64> {
        let beyond = 1.0 - q.as_f64() + ROUNDING;
        self.steps.iter().find(|step| step.survival <= beyond).map(|step| step.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_cuts_it_is_the_order_statistic() {
        let values: Vec<f64> = (1..=1000).map(f64::from).collect();
        let curve = KaplanMeier::new(&values, &[], 0);
        for q in [Quantile::P50, Quantile::P95, Quantile::P99, Quantile::P999] {
            assert_eq!(curve.quantile(q), q.of(&values));
        }
    }

    #[test]
    fn the_example_of_a_textbook() {
        // Remission times of 6-MP (Freireich et al. 1963; Kalbfleisch and Prentice 2002, §1.1.1).
        let complete = [6.0, 6.0, 6.0, 7.0, 10.0, 13.0, 16.0, 22.0, 23.0];
        let cut = [6.0, 9.0, 10.0, 11.0, 17.0, 19.0, 20.0, 25.0, 32.0, 32.0, 34.0, 35.0];
        let curve = KaplanMeier::new(&complete, &cut, 0);
        let wanted = [0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448];
        assert_eq!(curve.steps.len(), wanted.len());
        for (step, wanted) in curve.steps.iter().zip(wanted) {
            assert!((step.survival - wanted).abs() < 5e-4, "{step:?} {wanted}");
        }
        assert_eq!(curve.quantile(Quantile::P50), Some(23.0));
        assert_eq!(curve.quantile(Quantile::P95), None);
    }

    #[test]
    fn failed_flows_hold_the_curve_up() {
        let curve = KaplanMeier::new(&[1.0, 2.0], &[1.5], 2);
        assert!((curve.steps[0].survival - 0.8).abs() < 1e-12);
        assert!((curve.steps[1].survival - 0.8 * 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(curve.quantile(Quantile::P50), None);
    }
}
