//! Estimates as terminal, page, JSON and CSV show them.

use lowtide_stats::{
    Comparison, Estimate, Interval, IntervalMethod, MissingInterval, PointValue, Verdict,
    significant,
};
use serde::{Deserialize, Serialize};

/// Characters of an interval with three digits; a longer one has two.
const LONG: usize = 12;

/// A value over seeds with its interval, or the reason why one of them is absent.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ShownEstimate {
    /// The value; null if cut-off flows could change it by more than its interval, or if there is
    /// none.
    pub value: Option<f64>,
    /// The values if every cut-off flow ended now, and if none ever ended; an infinite one is null.
    /// Null if no cut-off flow could change the value.
    pub between: Option<[Option<f64>; 2]>,
    /// The 95 % interval; null below five seeds.
    pub ci95: Option<[f64; 2]>,
    /// The least and the greatest value of two to four seeds.
    pub seed_range: Option<[f64; 2]>,
    /// Method of the interval.
    pub interval: Option<IntervalMethod>,
    /// Whether all of several seeds have identical results.
    pub seed_independent: bool,
    /// Reason of an absent value or interval.
    pub note: Option<String>,
}

impl From<Estimate> for ShownEstimate {
    fn from(of: Estimate) -> Self {
        let (value, between, lacking) = match of.point {
            PointValue::Exact { value } => (Some(value), None, None),
            PointValue::KaplanMeier { value, low, high } => {
                (Some(value), Some([Some(low), Some(high)]), None)
            }
            PointValue::Between { low, high } => {
                let text = "cut-off flows could change it by more than its interval";
                (None, Some([Some(low), high]), Some(text.to_owned()))
            }
            PointValue::Infinite => (None, None, Some("failed flows reach it".to_owned())),
            PointValue::Missing { reason } => (None, None, Some(reason.to_string())),
        };
        let mut shown = Self { value, between, note: lacking, ..Self::of_interval(of.interval) };
        if let Interval::Missing { reason } = of.interval
            && shown.note.is_none()
        {
            shown.note = Some(reason.to_string());
        }
        shown
    }
}

impl ShownEstimate {
    fn of_interval(interval: Interval) -> Self {
        let (seed_range, method) = match interval {
            Interval::Confidence { method, .. } => (None, Some(method)),
            other => (other.ends(), None),
        };
        Self {
            value: None,
            between: None,
            ci95: interval.confidence(),
            seed_range,
            interval: method,
            seed_independent: interval == Interval::SeedIndependent,
            note: None,
        }
    }

    /// An estimate without a value, for this reason.
    pub fn absent(note: &str) -> Self {
        let none = Interval::Missing { reason: MissingInterval::NoValue };
        Self { note: Some(note.to_owned()), ..Self::of_interval(none) }
    }

    /// Returns the ends of a bar in a figure: the interval, or the range of the seeds.
    pub(crate) fn bar(&self) -> Option<[f64; 2]> {
        self.ci95.or(self.seed_range)
    }

    /// Returns the cells of a CSV file: the value, its bounds, the ends of its interval and of the
    /// range of the seeds.
    pub fn csv_cells(&self) -> [String; 7] {
        let [least, most] = self.between.unwrap_or_default();
        let [[low, high], [first, last]] = [self.ci95, self.seed_range].map(both);
        [self.value, least, most, low, high, first, last].map(csv_cell)
    }

    /// Returns the value with three significant digits, or its bounds.
    pub fn value_text(&self) -> String {
        match (self.value, self.between) {
            (Some(value), _) => significant(value),
            (None, Some([Some(low), Some(high)])) => {
                format!("{} to {}", significant(low), significant(high))
            }
            (None, Some([Some(low), None])) => format!("at least {}", significant(low)),
            _ => self.note.clone().unwrap_or_else(|| "\u{2013}".to_owned()),
        }
    }

    /// Returns the interval, or in brackets the range of the seeds; empty without one.
    pub fn interval_text(&self) -> String {
        if self.seed_independent {
            return "every seed".to_owned();
        }
        interval_text(self.ci95, self.seed_range)
    }

    /// Returns the value with its interval in parentheses, or the range of the seeds in brackets.
    pub fn text(&self) -> String {
        beside_interval(self.value_text(), &self.interval_text())
    }
}

/// A comparison of B with A, paired by seed.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ShownComparison {
    /// The value of A.
    pub a: ShownEstimate,
    /// The value of B.
    pub b: ShownEstimate,
    /// B over A; null without both values, or if one of them is zero.
    pub ratio: Option<f64>,
    /// Its 95 % interval; null below five seeds.
    pub ratio_ci95: Option<[f64; 2]>,
    /// The least and the greatest ratio of two to four seeds.
    pub ratio_seed_range: Option<[f64; 2]>,
    /// The verdict about B; null if the metric has no better direction and the values differ.
    pub verdict: Option<Verdict>,
    /// Reason of an absent interval.
    pub ratio_note: Option<String>,
}

impl ShownComparison {
    /// Shows a comparison with its verdict.
    pub fn new(of: &Comparison, verdict: Option<Verdict>) -> Self {
        let [a, b] = of.values.map(ShownEstimate::from);
        let ratio_note = match of.interval {
            Interval::Missing { reason } => Some(reason.to_string()),
            _ => None,
        };
        Self {
            a,
            b,
            ratio: of.ratio,
            ratio_ci95: of.interval.confidence(),
            ratio_seed_range: of.interval.ends().filter(|_| of.interval.confidence().is_none()),
            verdict,
            ratio_note,
        }
    }

    /// Returns the ratio with its interval in parentheses, or the range of the seeds in brackets.
    pub fn ratio_text(&self) -> String {
        beside_interval(self.ratio_value_text(), &self.ratio_interval_text())
    }

    /// Returns the ratio in a sentence, as `1.09 times (1.08–1.09)`.
    pub(crate) fn times_text(&self) -> String {
        let word = if self.ratio.is_some() { " times" } else { "" };
        beside_interval(self.ratio_value_text() + word, &self.ratio_interval_text())
    }

    /// Returns the cells of a CSV file: the ratio, and the ends of its interval and of the range of
    /// the seeds.
    pub fn ratio_csv_cells(&self) -> [String; 5] {
        let [[low, high], [first, last]] = [self.ratio_ci95, self.ratio_seed_range].map(both);
        [self.ratio, low, high, first, last].map(csv_cell)
    }

    /// Returns the ratio with three significant digits, or a dash.
    pub fn ratio_value_text(&self) -> String {
        self.ratio.map_or_else(|| "\u{2013}".to_owned(), significant)
    }

    /// Returns the interval of the ratio, or in brackets the range of the seeds; empty without one.
    pub fn ratio_interval_text(&self) -> String {
        interval_text(self.ratio_ci95, self.ratio_seed_range)
    }

    /// Returns whether B is found to differ from A.
    pub fn differs(&self) -> bool {
        !matches!(self.verdict, Some(Verdict::Same | Verdict::Undecided))
    }

    /// Returns the name of the verdict.
    pub fn verdict_text(&self) -> &'static str {
        self.verdict.map_or("differs", Verdict::name)
    }
}

fn both(ends: Option<[f64; 2]>) -> [Option<f64>; 2] {
    ends.map_or([None; 2], |ends| ends.map(Some))
}

fn csv_cell(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Formats an interval, or in brackets the range of the seeds; empty without either.
pub fn interval_text(ci95: Option<[f64; 2]>, seed_range: Option<[f64; 2]>) -> String {
    match (ci95, seed_range) {
        (Some(ci95), _) => range(ci95),
        (None, Some(ends)) => format!("[{}]", range(ends)),
        (None, None) => String::new(),
    }
}

/// Formats a value beside its interval, which is in parentheses unless it is in brackets.
pub fn beside_interval(value: String, interval: &str) -> String {
    match interval {
        "" => value,
        range if range.starts_with('[') => format!("{value} {range}"),
        interval => format!("{value} ({interval})"),
    }
}

/// Formats an interval, as `1.02–1.19`.
fn range([low, high]: [f64; 2]) -> String {
    let three = format!("{}\u{2013}{}", significant(low), significant(high));
    if three.chars().count() <= LONG {
        return three;
    }
    let two = |value: f64| -> String {
        if value == 0.0 {
            return "0".to_owned();
        }
        let rounded: f64 = format!("{value:.1e}").parse().unwrap_or(value);
        let digits = (1 - rounded.abs().log10().floor() as i32).max(0) as usize;
        if rounded.abs() >= 1e5 { format!("{rounded:.1e}") } else { format!("{rounded:.digits$}") }
    };
    let (low, high) = (two(low), two(high));
    if low == high { three } else { format!("{low}\u{2013}{high}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_have_two_or_three_digits() {
        assert_eq!(range([1.0, 1.234]), "1.00\u{2013}1.23");
        assert_eq!(range([0.0328, 0.0786]), "0.033\u{2013}0.079");
        assert_eq!(range([1234.0, 56789.0]), "1234\u{2013}56789");
        assert_eq!(range([0.0, 0.0123]), "0\u{2013}0.0123");
    }
}
