//! Intervals over seeds.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Confidence level of intervals, and one less the probability of false verdicts.
pub const LEVEL: f64 = 0.95;

/// Seeds from which on there is an interval; of fewer the range is shown.
pub const LEAST_SEEDS: usize = 5;

/// An interval over seeds, or the reason why there is none.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Interval {
    /// A confidence interval at [`LEVEL`], or at the level that the caller chose.
    Confidence {
        /// The lower end.
        low: f64,
        /// The upper end.
        high: f64,
        /// The method.
        method: IntervalMethod,
    },
    /// The least and the greatest value of fewer than [`LEAST_SEEDS`] seeds, at no level.
    SeedRange {
        /// The least value of a seed.
        low: f64,
        /// The greatest value of a seed.
        high: f64,
    },
    /// The results of all seeds are identical, so that nothing varies.
    SeedIndependent,
    /// There is none.
    Missing {
        /// The reason.
        reason: MissingInterval,
    },
}

lowtide_units::named_enum! {
    /// The method of a confidence interval.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum IntervalMethod {
        /// The smallest interval that contains that of sections and Woodruff's.
        SectionsWoodruff = "sections-woodruff",
        /// Woodruff's alone, because sections leave the possible range.
        Woodruff = "woodruff",
        /// Of a ratio of percentiles: the smallest that contains those of sections and of shares.
        SectionsShares = "sections-shares",
        /// Student's t over one value per seed.
        StudentT = "student-t",
        /// As [`Self::StudentT`], on the logarithm, because it would leave the possible range.
        LogT = "log-t",
        /// As [`Self::StudentT`], on the logarithm of the odds of a share.
        LogitT = "logit-t",
    }
}

/// The reason why there is no interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingInterval {
    /// There is no value.
    NoValue,
    /// One seed was run.
    OneSeed,
    /// A seed has too few flows to have the percentile alone.
    FewFlows {
        /// Flows that each seed needs.
        needs: u64,
    },
    /// Cut-off or failed flows leave it without an upper end.
    Unfinished,
    /// Seeds differ so much that a few of them determine a far tail.
    SeedsDiffer,
    /// A ratio to or of zero.
    OutOfRange,
    /// The schemes that are compared have different seeds.
    UnpairedSeeds,
}

impl Interval {
    /// Returns both ends of a confidence interval.
    pub fn confidence(self) -> Option<[f64; 2]> {
        match self {
            Self::Confidence { low, high, .. } => Some([low, high]),
            _ => None,
        }
    }

    /// Returns both ends of a confidence interval or a range of seeds.
    pub fn ends(self) -> Option<[f64; 2]> {
        match self {
            Self::Confidence { low, high, .. } | Self::SeedRange { low, high } => Some([low, high]),
            _ => None,
        }
    }

    /// Returns the smallest interval from that of the lower to that of the upper bound.
    pub(crate) fn hull(self, upper: Self) -> Self {
        use Interval::{Confidence, Missing, SeedRange};
        match (self, upper) {
            (Confidence { low, method, .. }, Confidence { low: other, high, method: second }) => {
                let method = if method == second { method } else { IntervalMethod::Woodruff };
                Confidence { low: low.min(other), high, method }
            }
            (SeedRange { low, .. }, SeedRange { high, .. }) => SeedRange { low, high },
            (missing @ Missing { .. }, _) | (_, missing) => missing,
        }
    }

    pub(crate) fn missing(reason: MissingInterval) -> Self {
        Self::Missing { reason }
    }

    /// Returns the range of the seeds' values; `None` if there are enough for an interval.
    pub(crate) fn of_few(own: &[f64]) -> Option<Self> {
        match own {
            [] => Some(Self::missing(MissingInterval::NoValue)),
            [_] => Some(Self::missing(MissingInterval::OneSeed)),
            few if few.len() < LEAST_SEEDS => {
                let low = few.iter().copied().fold(f64::INFINITY, f64::min);
                let high = few.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                if high.is_finite() {
                    Some(Self::SeedRange { low, high })
                } else {
                    Some(Self::missing(MissingInterval::Unfinished))
                }
            }
            _ => None,
        }
    }
}

/// Returns the standard error of the mean of `own` around `middle`.
pub(crate) fn standard_error(own: impl ExactSizeIterator<Item = f64>, middle: f64) -> f64 {
    let n = own.len() as f64;
    (own.map(|v| (v - middle).powi(2)).sum::<f64>() / (n * (n - 1.0))).sqrt()
}

/// Returns the two-sided quantile of Student's t at a confidence level.
pub(crate) fn students_t(freedom: f64, level: f64) -> f64 {
    let t = StudentsT::new(0.0, 1.0, freedom);
    t.map_or(f64::INFINITY, |t| t.inverse_cdf(f64::midpoint(1.0, level)))
}

/// Returns the probability that Student's t is at most `t`.
pub(crate) fn students_t_below(freedom: f64, t: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |of| of.cdf(t))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, level, wanted) in
            [(1.0, 0.95, 12.706), (4.0, 0.95, 2.776), (9.0, 0.95, 2.262), (2.0, 0.99, 9.925)]
        {
            assert!((students_t(freedom, level) - wanted).abs() < 1e-3, "{freedom} {level}");
        }
        assert!((students_t_below(4.0, 2.776) - 0.975).abs() < 1e-4);
    }

    #[test]
    fn few_seeds_have_a_range() {
        let of = Interval::of_few;
        assert_eq!(of(&[2.0, 1.0, 3.0]), Some(Interval::SeedRange { low: 1.0, high: 3.0 }));
        assert_eq!(of(&[2.0]), Some(Interval::missing(MissingInterval::OneSeed)));
        assert_eq!(of(&[]), Some(Interval::missing(MissingInterval::NoValue)));
        let infinite = of(&[2.0, f64::INFINITY]);
        assert_eq!(infinite, Some(Interval::missing(MissingInterval::Unfinished)));
        assert_eq!(of(&[1.0; 5]), None);
    }
}
