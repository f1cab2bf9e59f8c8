//! Reduction of many values to one.

use serde::Deserialize;

/// A reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reduce {
    /// Mean.
    Mean,
    /// Median.
    Median,
    /// 95th percentile.
    P95,
    /// 99th percentile.
    P99,
    /// 99.9th percentile.
    P999,
    /// Any percentile, in thousandths: `{ permille = 975 }`.
    Permille(u16),
    /// Smallest.
    Min,
    /// Largest.
    Max,
    /// Sum.
    Sum,
    /// Number of values; zero if there are none.
    Count,
    /// Standard deviation (n - 1).
    Sd,
    /// Largest minus smallest.
    Span,
    /// The first in table order.
    First,
    /// The last in table order.
    Last,
    /// Jain's index.
    Jain,
    /// Standard deviation of the row-to-row differences: the unevenness of a counter's rate.
    StepSd,
    /// The largest row-to-row increase.
    MaxRise,
    /// Sum of the absolute row-to-row differences.
    TotalVariation,
}

impl Reduce {
    /// Whether adding a constant to each value adds it to the result.
    pub(super) const fn is_location_statistic(self) -> bool {
        use Reduce::{Count, Jain, MaxRise, Sd, Span, StepSd, Sum, TotalVariation};
        !matches!(self, Sum | Count | Sd | Span | Jain | StepSd | MaxRise | TotalVariation)
    }
    /// `None` without values, except for a count, which is zero.
    pub(super) fn of(self, mut values: Vec<f64>) -> Option<f64> {
        let n = values.len() as f64;
        if self == Self::Count {
            return Some(n);
        }
        let (first, last) = (*values.first()?, *values.last()?);
        let sum: f64 = values.iter().sum();
        Some(match self {
            Self::Mean => sum / n,
            Self::Sum => sum,
            Self::First => first,
            Self::Last => last,
            Self::Jain => sum * sum / (n * values.iter().map(|v| v * v).sum::<f64>()),
            Self::Sd => std_dev(&values),
            Self::StepSd => std_dev(&differences(&values)),
            Self::TotalVariation => differences(&values).into_iter().map(f64::abs).sum(),
            Self::MaxRise => differences(&values).into_iter().fold(0.0, f64::max),
            Self::Count => n,
            Self::Min
            | Self::Max
            | Self::Span
            | Self::Median
            | Self::P95
            | Self::P99
            | Self::P999
            | Self::Permille(_) => {
                values.sort_by(f64::total_cmp);
                let rank = |q: f64| values[((q * n).ceil() as usize).clamp(1, values.len()) - 1];
                match self {
                    Self::Min => rank(0.0),
                    Self::Max => rank(1.0),
                    Self::Span => rank(1.0) - rank(0.0),
                    Self::P95 => rank(0.95),
                    Self::P99 => rank(0.99),
                    Self::P999 => rank(0.999),
                    Self::Permille(parts) => rank(f64::from(parts) / 1000.0),
                    _ => rank(0.5),
                }
            }
        })
    }

    /// Weighted mean or deviation; with counts as weights, that of the single values. `None` if the
    /// weights sum to zero.
    pub(super) fn weighted(self, values: &[f64], weights: &[f64]) -> Option<f64> {
        let n: f64 = weights.iter().sum();
        let mean = values.iter().zip(weights).map(|(v, w)| v * w).sum::<f64>() / n;
        if n <= 0.0 {
            return None;
        }
        let squares = || values.iter().zip(weights).map(|(v, w)| w * (v - mean) * (v - mean));
        Some(match self {
            Self::Sd => (squares().sum::<f64>() / (n - 1.0).max(1.0)).sqrt(),
            _ => mean,
        })
    }
}

fn differences(values: &[f64]) -> Vec<f64> {
    values.windows(2).map(|w| w[1] - w[0]).collect()
}

/// Standard deviation (n - 1); zero for fewer than two values.
fn std_dev(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n.max(1.0);
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (squares / (n - 1.0).max(1.0)).sqrt()
}
