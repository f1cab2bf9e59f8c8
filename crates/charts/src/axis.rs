//! Axes: positions of values, and ticks.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use serde::Serialize;

use crate::rounding;

/// Scale of an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Equal steps add.
    Linear,
    /// Equal steps multiply.
    Log,
    /// Names in a row; the first is at zero.
    Categorical,
}

/// An axis with its range and its ticks.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Axis {
    /// Label, with the unit.
    pub label: String,
    /// Name of its column in the CSV file.
    pub column: String,
    /// Scale.
    pub scale: Scale,
    /// Minimum.
    #[serde(serialize_with = "rounding::rounded")]
    pub low: f64,
    /// Maximum.
    #[serde(serialize_with = "rounding::rounded")]
    pub high: f64,
    /// Ticks: value and name.
    #[serde(serialize_with = "rounding::rounded_ticks")]
    pub ticks: Vec<(f64, String)>,
}

/// Ratio of maximum to minimum from which on an axis becomes logarithmic.
const WIDE: f64 = 25.0;

impl Axis {
    /// Creates an axis from zero to slightly above the maximum.
    pub fn from_zero(label: &str, column: &str, values: impl Iterator<Item = f64>) -> Self {
        let most = values.filter(|v| v.is_finite()).fold(0.0, f64::max);
        let most = if most > 0.0 { most } else { 1.0 };
        Self::linear(label, column, 0.0, most * 1.05)
    }

    /// Creates an axis from `low` to `high`.
    pub fn linear(label: &str, column: &str, low: f64, high: f64) -> Self {
        let step = step(high - low);
        let first = (low / step).ceil() as i64;
        let last = (high / step + 1e-9).floor() as i64;
        let ticks = (first..=last).map(|i| i as f64 * step).map(|v| (v, number(v))).collect();
        let (label, column) = (label.to_owned(), column.to_owned());
        Self { label, column, scale: Scale::Linear, low, high, ticks }
    }

    /// Creates a logarithmic axis if the values are positive and range widely, otherwise one from
    /// zero.
    pub fn fitting(label: &str, column: &str, values: &[f64]) -> Self {
        let finite = || values.iter().copied().filter(|v| v.is_finite());
        let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(0.0, f64::max));
        if low > 0.0 && high / low >= WIDE {
            Self::log(label, column, low / 1.3, high * 1.3)
        } else {
            Self::from_zero(label, column, finite())
        }
    }

    /// Creates a logarithmic axis between two positive values.
    pub fn log(label: &str, column: &str, low: f64, high: f64) -> Self {
        let decades = high.log10() - low.log10();
        let factors: &[f64] = if decades > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let (from, to) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let ticks = (from..=to)
            .flat_map(|d| factors.iter().map(move |f| f * 10_f64.powi(d)))
            .filter(|v| (low..=high).contains(v))
            .map(|v| (v, number(v)))
            .collect();
        let (label, column) = (label.to_owned(), column.to_owned());
        Self { label, column, scale: Scale::Log, low, high, ticks }
    }

    /// Creates an axis with one named tick per value; logarithmic if the values range widely.
    pub fn named(label: &str, column: &str, ticks: Vec<(f64, String)>) -> Self {
        let low = ticks.iter().map(|t| t.0).fold(f64::INFINITY, f64::min);
        let high = ticks.iter().map(|t| t.0).fold(f64::NEG_INFINITY, f64::max);
        let (label, column) = (label.to_owned(), column.to_owned());
        if low > 0.0 && high / low > 8.0 {
            let (low, high) = (low / 1.15, high * 1.15);
            Self { label, column, scale: Scale::Log, low, high, ticks }
        } else {
            let room = if high > low { (high - low) * 0.06 } else { 0.5 };
            let (low, high) = (low - room, high + room);
            Self { label, column, scale: Scale::Linear, low, high, ticks }
        }
    }

    /// Creates an axis of classes, from left to right.
    pub fn categorical(label: &str, column: &str, names: &[String]) -> Self {
        let ticks = names.iter().enumerate().map(|(i, name)| (i as f64, name.clone()));
        let (label, column) = (label.to_owned(), column.to_owned());
        let high = names.len() as f64 - 0.5;
        Self { label, column, scale: Scale::Categorical, low: -0.5, high, ticks: ticks.collect() }
    }

    /// Returns a value as written in the CSV file: a class by its name.
    pub fn written(&self, value: f64) -> String {
        if self.scale == Scale::Categorical { self.format_ext(&value) } else { value.to_string() }
    }

    /// Gives the ticks as many digits as distinguish them, for an axis that shows a small range.
    pub fn precise(mut self) -> Self {
        if let [(a, _), (b, _), ..] = self.ticks[..] {
            // A double has no more significant digits.
            let digits = (-(b - a).log10().floor()).clamp(0.0, 15.0) as usize;
            for (value, name) in &mut self.ticks {
                *name = format!("{value:.digits$}");
            }
        }
        self
    }

    /// Removes names that would overlap the previous one on an axis of this length; `size` returns
    /// the size of a name along the axis.
    pub(crate) fn thin_names(mut self, length: f64, size: &dyn Fn(&str) -> f64) -> Self {
        let mut free = f64::NEG_INFINITY;
        for i in 0..self.ticks.len() {
            let half = size(&self.ticks[i].1) / 2.0 + 4.0;
            let at = self.share(self.ticks[i].0) * length;
            if at - half < free {
                self.ticks[i].1.clear();
            } else {
                free = at + half;
            }
        }
        self
    }

    /// Removes names between the powers of ten of a [`Self::log`] axis if some would overlap, and
    /// then as [`Self::thin_names`].
    pub(crate) fn thin_decades(self, length: f64, size: &dyn Fn(&str) -> f64) -> Self {
        let thin = self.clone().thin_names(length, size);
        let is_decade = |v: f64| (v.log10() - v.log10().round()).abs() < 1e-9;
        let is_round = |v: f64| [1.0, 2.0, 5.0].iter().any(|f| is_decade(v / f));
        let decades = self.ticks.iter().filter(|(v, _)| is_decade(*v)).count();
        let round = self.scale == Scale::Log && self.ticks.iter().all(|(v, _)| is_round(*v));
        if !round || thin == self || decades < 2 {
            return thin;
        }
        let mut out = self;
        for (_, name) in out.ticks.iter_mut().filter(|(v, _)| !is_decade(*v)) {
            name.clear();
        }
        out.ticks.retain(|(_, name)| !name.is_empty());
        out.thin_names(length, size)
    }

    /// Returns the number of the column of a value if the axis has `columns` columns.
    pub(crate) fn column(&self, value: f64, columns: u32) -> i64 {
        (self.share(value) * f64::from(columns)).floor() as i64
    }

    /// Returns the position of a value: 0 at the low end, 1 at the high end.
    fn share(&self, value: f64) -> f64 {
        let place = |v: f64| match self.scale {
            Scale::Linear | Scale::Categorical => v,
            Scale::Log => v.max(self.low).log10(),
        };
        (place(value) - place(self.low)) / (place(self.high) - place(self.low))
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let along = f64::from(limit.1 - limit.0) * self.share(*value);
        limit.0 + along.round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.iter().map(|(value, _)| *value).collect()
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        let tick = self.ticks.iter().find(|(v, _)| v.total_cmp(value).is_eq());
        tick.map_or_else(|| number(*value), |(_, name)| name.clone())
    }
}

/// Returns a round step that divides `span` into four to eight parts.
fn step(span: f64) -> f64 {
    let raw = span / 5.0;
    let scale = 10_f64.powf(raw.log10().floor());
    let factor = match raw / scale {
        f if f < 1.5 => 1.0,
        f if f < 3.5 => 2.0,
        f if f < 7.5 => 5.0,
        _ => 10.0,
    };
    factor * scale
}

/// Returns kB or MB for values up to `most` bytes: the unit's name and bytes per unit.
pub fn bytes_unit(most: u64) -> (&'static str, f64) {
    if most >= 10_000_000 { ("MB", 1e6) } else { ("kB", 1e3) }
}

/// Formats a number for people: significant digits only, grouped by three from five digits on.
pub fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // Figures and tables show at most four significant digits.
    let digits = (3 - value.abs().log10().floor() as i32).max(0) as usize;
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    };
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    if whole.len() < 5 {
        return text;
    }
    let mut grouped = String::new();
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && c.is_ascii_digit() && (whole.len() - i).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(c);
    }
    grouped + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, name)| name.as_str()).collect()
    }

    #[test]
    fn numbers_have_significant_digits_and_groups() {
        let shown = [0.0, 20.0, 0.25, 0.000_123_45, 82.46, 248.04, 1234.4, 12_345.0, 4_000_000.0];
        let texts = shown.map(number);
        assert_eq!(texts[..7], ["0", "20", "0.25", "0.0001234", "82.46", "248", "1234"]);
        assert_eq!(texts[7..], ["12\u{202f}345", "4\u{202f}000\u{202f}000"]);
    }

    #[test]
    fn linear_ticks_are_round() {
        let axis = Axis::from_zero("t", "t", [3.0, 96.0, f64::NAN].into_iter());
        assert_eq!(names(&axis), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(names(&Axis::from_zero("t", "t", std::iter::empty())).last(), Some(&"1"));
        assert_eq!(
            names(&Axis::linear("t", "t", 0.0, 0.5)),
            ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]
        );
    }

    #[test]
    fn wide_ranges_become_logarithmic() {
        let axis = Axis::fitting("t", "t", &[0.9, 250.0]);
        assert_eq!(axis.scale, Scale::Log);
        assert_eq!(names(&axis), ["1", "2", "5", "10", "20", "50", "100", "200"]);
        let decade = |v: f64| axis.map(&(v * 10.0), (0, 10_000)) - axis.map(&v, (0, 10_000));
        assert!((decade(1.0) - decade(20.0)).abs() <= 1 && decade(1.0) > 3000);
        assert_eq!(axis.map(&axis.high, (0, -400)), -400);
        assert_eq!(axis.format_ext(&axis.ticks[6].0), "100");
        assert_eq!(
            Axis::fitting("t", "t", &[0.0, 250.0]).scale,
            Scale::Linear,
            "zero has no logarithm"
        );
        assert_eq!(Axis::fitting("t", "t", &[200.0, 250.0]).scale, Scale::Linear);
        assert_eq!(names(&Axis::fitting("t", "t", &[1e-3, 1e3])).len(), 7, "decades only");
    }

    #[test]
    fn classes_keep_their_order_and_names() {
        let axis = Axis::categorical("size", "class", &["short".to_owned(), "long".to_owned()]);
        assert_eq!((names(&axis), axis.low, axis.high), (vec!["short", "long"], -0.5, 1.5));
        assert_eq!([0.0, 1.0].map(|v| axis.map(&v, (0, 400))), [100, 300]);
        assert_eq!(axis.written(1.0), "long");
        assert_eq!(Axis::linear("t", "t", 0.0, 2.0).written(1.5), "1.5");
    }

    #[test]
    fn swept_values_keep_their_names() {
        let ticks = [(10e3, "10 kB"), (800e3, "800 kB")].map(|(v, n)| (v, n.to_owned())).to_vec();
        let axis = Axis::named("size", "size", ticks);
        assert_eq!((axis.scale, names(&axis)), (Scale::Log, vec!["10 kB", "800 kB"]));
        let close = [(80.0, "80 kB"), (100.0, "100 kB"), (200.0, "200 kB")];
        let close = close.map(|(v, n)| (v, n.to_owned())).to_vec();
        let thin = Axis::named("size", "size", close)
            .thin_names(200.0, &|n| n.chars().count() as f64 * 7.0);
        assert_eq!(names(&thin), ["80 kB", "", "200 kB"]);
        let wide = |n: &str| n.chars().count() as f64 * 7.0;
        assert_eq!(
            names(&Axis::log("t", "t", 1.0, 100.0).thin_decades(60.0, &wide)),
            ["1", "10", "100"]
        );
        let swept = [10.0, 20.0, 40.0, 100.0].map(|v| (v, number(v))).to_vec();
        let swept = Axis::named("k", "k", swept).thin_decades(60.0, &wide);
        assert_eq!(names(&swept), ["10", "", "40", ""]);
        let one = Axis::named("k", "k", vec![(20.0, "20 pkt".into())]);
        assert!(one.low < 20.0 && one.high > 20.0);
    }
}
