//! The sentence of a verdict: its only form; and the reasons of absent values and intervals.

use std::fmt;

use crate::compare::Comparison;
use crate::estimate::{MissingValue, PointValue};
use crate::interval::{Interval, MissingInterval};
use crate::verdict::Verdict;

/// A verdict with its names and numbers; its `Display` is the sentence.
#[derive(Clone, Copy, Debug)]
pub struct VerdictSentence<'a> {
    /// The verdict, alone or of a family.
    pub verdict: Verdict,
    /// The comparison.
    pub comparison: &'a Comparison,
    /// The names of A and B.
    pub names: [&'a str; 2],
    /// The measure with its flows, as `p99 completion time of reads`.
    pub measure: &'a str,
    /// The unit; empty for a number.
    pub unit: &'a str,
}

impl fmt::Display for VerdictSentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = self.names;
        let measure = self.measure;
        match self.verdict {
            Verdict::Better => write!(f, "{b} is better than {a} in {measure}: ")?,
            Verdict::Worse => write!(f, "{b} is worse than {a} in {measure}: ")?,
            Verdict::Same => {
                let percent = (self.comparison.tolerance * 1e4).round() / 100.0;
                write!(f, "{b} is the same as {a} within {percent} % in {measure}: ")?;
            }
            Verdict::Undecided => write!(f, "{b} against {a} is undecided in {measure}: ")?,
        }
        let [of_a, of_b] = self.comparison.values.map(|v| point(v.point));
        let space = if self.unit.is_empty() { "" } else { " " };
        write!(f, "{of_b} against {of_a}{space}{}", self.unit)?;
        if let Some(ratio) = self.comparison.ratio {
            write!(f, ", {} times", significant(ratio))?;
        }
        match self.comparison.interval {
            Interval::Confidence { low, high, .. } => {
                write!(f, " (95 % interval {} to {})", significant(low), significant(high))?;
            }
            Interval::SeedRange { low, high } => {
                write!(f, " (seeds from {} to {})", significant(low), significant(high))?;
            }
            Interval::SeedIndependent => write!(f, " (every seed)")?,
            Interval::Missing { reason } => write!(f, " ({reason})")?,
        }
        write!(f, ".")
    }
}

fn point(of: PointValue) -> String {
    match of {
        PointValue::Exact { value } | PointValue::KaplanMeier { value, .. } => significant(value),
        PointValue::Between { low, high: Some(high) } => {
            format!("between {} and {}", significant(low), significant(high))
        }
        PointValue::Between { low, high: None } => format!("at least {}", significant(low)),
        PointValue::Infinite => "never".to_owned(),
        PointValue::Missing { reason } => format!("no value ({reason})"),
    }
}

impl fmt::Display for MissingInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoValue => write!(f, "no interval without a value"),
            Self::OneSeed => write!(f, "one seed has no interval"),
            Self::FewFlows { needs } => write!(f, "an interval needs {needs} flows in each seed"),
            Self::Unfinished => {
                write!(f, "no interval: flows that did not complete could change it")
            }
            Self::SeedsDiffer => write!(f, "no interval: the seeds differ too much"),
            Self::OutOfRange => write!(f, "no interval of a ratio with zero"),
            Self::UnpairedSeeds => write!(f, "no interval: both need the same seeds"),
        }
    }
}

impl fmt::Display for MissingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFlows => write!(f, "no flow"),
            Self::FewFlows { needs } => write!(f, "needs {needs} flows"),
            Self::MissingSeeds { missing: 1 } => write!(f, "1 seed has no value"),
            Self::MissingSeeds { missing } => write!(f, "{missing} seeds have no value"),
            Self::NotFinite => write!(f, "a seed has no finite value"),
            Self::OutOfRange => write!(f, "a seed has an impossible value"),
        }
    }
}

/// Formats a number with three significant digits.
pub fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // Rounding may add a digit: 99.97 is 100.
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    let magnitude = rounded.abs().log10().floor() as i32;
    if !(-4..6).contains(&magnitude) {
        return format!("{rounded:.2e}");
    }
    format!("{value:.*}", (2 - magnitude).max(0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_significant_digits() {
        let shown = [1.0216, 68.475, 178.1, 2621.0, 0.012_34, 99.97, 2.5e6].map(significant);
        assert_eq!(shown, ["1.02", "68.5", "178", "2621", "0.0123", "100", "2.50e6"]);
    }
}
