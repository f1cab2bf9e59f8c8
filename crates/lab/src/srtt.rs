//! Smoothed round-trip times of a group's flows, as hosts report them.
//!
//! Contract: one value per flow, at its end (the column `srtt_quantised_ns`). If any flow has none,
//! there is neither mean nor deviation.

use lowtide_rows::FlowRow;
use serde::Serialize;

/// Smoothed round-trip times of flows, in milliseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Srtt {
    /// Mean, if every flow has a value.
    pub mean: Option<f64>,
    /// Standard deviation of the sample (n - 1), if there are at least two flows and every flow has
    /// a value.
    pub deviation: Option<f64>,
}

impl Srtt {
    pub(crate) fn new(flows: &[&FlowRow]) -> Self {
        let all: Option<Vec<f64>> =
            flows.iter().map(|f| Some(f.srtt_quantised_ns? as f64 / 1e6)).collect();
        let Some(all) = all.filter(|all| !all.is_empty()) else { return Self::default() };
        let n = all.len() as f64;
        let mean = all.iter().sum::<f64>() / n;
        let squares: f64 = all.iter().map(|v| (v - mean) * (v - mean)).sum();
        let deviation = (all.len() > 1).then(|| (squares / (n - 1.0)).sqrt());
        Self { mean: Some(mean), deviation }
    }
}

#[cfg(test)]
mod tests {
    use lowtide_rows::FlowStatus;

    use super::*;
    use crate::times::tests::flow;

    fn of(shown: &[Option<u64>]) -> Srtt {
        let row = |ms: &Option<u64>| FlowRow {
            srtt_quantised_ns: ms.map(|ms| ms * 1_000_000),
            ..flow(0, Some(1), FlowStatus::Complete)
        };
        let flows: Vec<FlowRow> = shown.iter().map(row).collect();
        Srtt::new(&flows.iter().collect::<Vec<_>>())
    }

    #[test]
    fn the_mean_and_the_deviation_are_of_whole_ticks() {
        let found = of(&[Some(1), Some(1), Some(4)]);
        assert_eq!(found.mean, Some(2.0));
        // (1 + 1 + 4) / 2 = 3.
        assert!((found.deviation.unwrap() - 3.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(of(&[Some(3)]), Srtt { mean: Some(3.0), deviation: None });
    }

    #[test]
    fn a_flow_without_one_leaves_none() {
        assert_eq!(of(&[Some(1), None]), Srtt::default());
        assert_eq!(of(&[]), Srtt::default());
    }
}
