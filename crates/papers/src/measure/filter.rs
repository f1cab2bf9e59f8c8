//! Row filters of a table.

use std::ops::RangeInclusive;

use lowtide_units::{parse_bytes, parse_duration, parse_packets, parse_rate};
use serde::Deserialize;

/// Filter on the values of a column.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
pub enum Filter {
    /// Text, or a number with its unit.
    Text(String),
    /// A boolean.
    Flag(bool),
    /// A number in the column's unit.
    Number(f64),
    /// An inclusive range.
    Range(Range),
}

/// An inclusive range; an omitted end is unbounded.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Range {
    /// Lower end.
    #[serde(default)]
    from: Option<Box<Filter>>,
    /// Upper end.
    #[serde(default)]
    to: Option<Box<Filter>>,
    /// For points in time: at least this long before the end of the run.
    #[serde(default)]
    before_end: Option<Box<Filter>>,
}

/// A filter in the unit of its column.
pub(super) struct ResolvedFilter {
    range: RangeInclusive<f64>,
    before_end: Option<f64>,
}

impl ResolvedFilter {
    /// Whether it matches `value` of a run that ended at `ended_ps`.
    pub(super) fn contains(&self, value: f64, ended_ps: f64) -> bool {
        self.range.contains(&value) && self.before_end.is_none_or(|b| value <= ended_ps - b)
    }
}

impl Filter {
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Checks that its values are in `unit`. A column without unit takes any text.
    pub(crate) fn check_unit(&self, unit: &str) -> Result<(), String> {
        match self {
            Self::Text(_) if unit.is_empty() => Ok(()),
            one => one.resolve(unit).map(drop),
        }
    }

    /// Converts the filter to the column's unit.
    pub(super) fn resolve(&self, unit: &str) -> Result<ResolvedFilter, String> {
        let Self::Range(Range { from, to, before_end }) = self else {
            let n = self.number(unit)?;
            return Ok(ResolvedFilter { range: n..=n, before_end: None });
        };
        if before_end.is_some() && unit != "ps" {
            return Err("`before-end` needs a column of points in time, in `ps`".to_owned());
        }
        let end = |end: &Option<Box<Self>>| end.as_ref().map(|e| e.number(unit)).transpose();
        let from = end(from)?.unwrap_or(f64::NEG_INFINITY);
        let to = end(to)?.unwrap_or(f64::INFINITY);
        Ok(ResolvedFilter { range: from..=to, before_end: end(before_end)? })
    }

    fn number(&self, unit: &str) -> Result<f64, String> {
        match self {
            Self::Number(n) => Ok(*n),
            Self::Flag(yes) => Ok(f64::from(u8::from(*yes))),
            Self::Range(_) => Err("a range cannot contain a range".to_owned()),
            Self::Text(text) => {
                let read = match unit {
                    "ps" => parse_duration(text).map(|d| d.as_ps() as f64).ok(),
                    "ns" => parse_duration(text).map(|d| d.as_ps() as f64 / 1e3).ok(),
                    "bytes" => parse_bytes(text).map(|b| b.as_u64() as f64).ok(),
                    "packets" => parse_packets(text).map(|n| n as f64).ok(),
                    "bit/s" => parse_rate(text).map(|r| r.as_bps() as f64).ok(),
                    _ => text.parse().ok(),
                };
                read.ok_or_else(|| format!("`{text}` is no value of a column in `{unit}`"))
            }
        }
    }
}
