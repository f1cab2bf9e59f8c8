//! Effects of a move by thresholds.

use serde::Serialize;

use crate::estimate::Estimate;
use crate::thresholds::RolloutThresholds;

lowtide_units::named_enum! {
    /// Effect of a move on a 99th percentile.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Effect {
        /// The ratio is at least `harm`, and its whole interval is above 1.
        Harmful = "harmful",
        /// The ratio is at most `benefit`, and its whole interval is below 1.
        Better = "better",
        /// The whole interval is below `harm`.
        Safe = "safe",
        /// The interval allows several effects, or there is none.
        Undecided = "undecided",
        /// A percentile is absent: too few flows, or unfinished flows could change it.
        NoValue = "no value",
    }
}

impl Effect {
    pub(super) fn of(ratio: Option<Estimate>, thresholds: RolloutThresholds) -> Self {
        let Some(Estimate { value, ci95 }) = ratio else { return Self::NoValue };
        match ci95 {
            Some([low, _]) if value >= thresholds.harm && low > 1.0 => Self::Harmful,
            Some([_, high]) if value <= thresholds.benefit && high < 1.0 => Self::Better,
            Some([_, high]) if high < thresholds.harm => Self::Safe,
            _ => Self::Undecided,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thresholds::Thresholds;

    #[test]
    fn effects_follow_the_thresholds_and_the_interval() {
        let thresholds = Thresholds::built_in().unwrap().rollout;
        let effect = |value, ci95| Effect::of(Some(Estimate { value, ci95 }), thresholds);
        for (value, interval, wanted) in [
            (1.2, [1.05, 1.4], Effect::Harmful),
            (1.2, [0.99, 1.5], Effect::Undecided),
            (1.05, [1.01, 1.09], Effect::Safe),
            (1.05, [1.01, 1.2], Effect::Undecided),
            (0.8, [0.7, 0.95], Effect::Better),
            (0.8, [0.6, 1.05], Effect::Safe),
            (0.95, [0.93, 0.97], Effect::Safe),
        ] {
            assert_eq!(effect(value, Some(interval)), wanted, "{value} {interval:?}");
        }
        assert_eq!(effect(3.0, None), Effect::Undecided);
        assert_eq!(Effect::of(None, thresholds), Effect::NoValue);
    }
}
