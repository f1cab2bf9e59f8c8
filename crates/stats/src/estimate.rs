//! An estimate over seeds: the value, its interval, and what it counts.

use serde::Serialize;

use crate::interval::Interval;

/// A value over all seeds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum PointValue {
    /// No cut-off flow could change it.
    Exact {
        /// The value.
        value: f64,
    },
    /// The Kaplan-Meier estimate, as cut-off flows could change it by less than its interval.
    KaplanMeier {
        /// The estimate.
        value: f64,
        /// The value if every cut-off flow ended now.
        low: f64,
        /// The value if no cut-off flow ever ended.
        high: f64,
    },
    /// Cut-off flows could change it by more.
    Between {
        /// The value if every cut-off flow ended now.
        low: f64,
        /// The value if no cut-off flow ever ended; `None` if it is infinite.
        high: Option<f64>,
    },
    /// Failed flows reach it: it is infinite.
    Infinite,
    /// There is none.
    Missing {
        /// The reason.
        reason: MissingValue,
    },
}

/// The reason why there is no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingValue {
    /// There is no flow, or no seed.
    NoFlows,
    /// The flows of all seeds are too few for the percentile.
    FewFlows {
        /// Flows that it needs.
        needs: u64,
    },
    /// Some seeds have no value: without them the others would be a selection.
    MissingSeeds {
        /// Their number.
        missing: usize,
    },
    /// The value of a seed is not a finite number.
    NotFinite,
    /// The value of a seed is outside of the possible range.
    OutOfRange,
}

impl PointValue {
    /// Returns the value as a number, if there is one.
    pub fn value(self) -> Option<f64> {
        match self {
            Self::Exact { value } | Self::KaplanMeier { value, .. } => Some(value),
            _ => None,
        }
    }
}

/// An estimate over seeds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Estimate {
    /// The value.
    pub point: PointValue,
    /// Its interval. With cut-off flows it contains the intervals of both bounds.
    pub interval: Interval,
    /// Seeds.
    pub seeds: usize,
    /// Flows of all seeds; of a metric with one value per seed, the seeds that have it.
    pub flows: u64,
}
