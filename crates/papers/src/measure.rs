//! Measures of claims: a metric of the summary, or a column of a result table with row filters and
//! a reduction.
//!
//! Contract: one value per seed. Two runs of one seed are never merged silently: the filters must
//! select one scheme and one sweep point. A seed without rows has no value.

mod censored;
mod extreme;
mod filter;
mod least;
mod metric;
mod range;
mod reduce;
mod rows;

use lowtide_record::SweepPoint;
use lowtide_stats::ValueRange;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use toml::{Table, Value};

use super::rates::RatesMeasure;
use super::source::RunData;
use super::windows::WindowsMeasure;

pub(super) use extreme::Extreme;
pub(super) use filter::Filter;
pub(super) use least::LeastMeasure;
pub(super) use metric::MetricMeasure;
pub(crate) use reduce::Reduce;
pub(super) use rows::RowsMeasure;
pub(super) use rows::TIME;

/// A value per seed.
#[derive(Clone, PartialEq, Debug)]
pub enum ClaimMeasure {
    /// A metric of the summary.
    Metric(MetricMeasure),
    /// Rows of a table.
    Rows(RowsMeasure),
    /// Throughput over time.
    Rates(RatesMeasure),
    /// The senders' congestion signal against the queue.
    Windows(WindowsMeasure),
    /// The first divided by the second.
    Ratio(Box<[ClaimMeasure; 2]>),
    /// The first minus the second.
    Difference(Box<[ClaimMeasure; 2]>),
    /// The sum.
    Sum(Vec<ClaimMeasure>),
    /// The extreme one.
    Extreme(Extreme, Vec<ClaimMeasure>),
    /// The least value of a swept key at which a measure reaches a bound.
    Least(LeastMeasure),
}

impl<'de> Deserialize<'de> for ClaimMeasure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = Table::deserialize(deserializer)?;
        from_table(table).map_err(D::Error::custom)
    }
}

fn from_table(mut table: Table) -> Result<ClaimMeasure, String> {
    let parts = |value: Value| -> Result<Vec<ClaimMeasure>, String> {
        let Value::Array(items) = value else { return Err("expected a list of measures".into()) };
        let part = |item| match item {
            Value::Table(table) => from_table(table),
            _ => Err("each element of the list must be a table".to_owned()),
        };
        items.into_iter().map(part).collect()
    };
    let pair = |value: Value| -> Result<Box<[ClaimMeasure; 2]>, String> {
        let pair: [ClaimMeasure; 2] =
            parts(value)?.try_into().map_err(|_| "expected two measures".to_owned())?;
        Ok(Box::new(pair))
    };
    for (name, of) in [
        ("ratio", ClaimMeasure::Ratio as fn(_) -> _),
        ("difference", ClaimMeasure::Difference as fn(_) -> _),
    ] {
        if let Some(value) = table.remove(name) {
            return reject_other_keys(name, &table).and_then(|()| pair(value)).map(of);
        }
    }
    if let Some(value) = table.remove("sum") {
        return reject_other_keys("sum", &table).and_then(|()| parts(value)).map(ClaimMeasure::Sum);
    }
    for (name, extreme) in Extreme::ALL {
        if let Some(value) = table.remove(name) {
            let all = reject_other_keys(name, &table).and_then(|()| parts(value))?;
            let empty = || format!("`{name}` needs measures");
            let all = Some(all).filter(|all| !all.is_empty()).ok_or_else(empty)?;
            return Ok(ClaimMeasure::Extreme(extreme, all));
        }
    }
    if table.contains_key("least") {
        return LeastMeasure::parse(table, from_table).map(ClaimMeasure::Least);
    }
    if table.contains_key("rates") {
        let rates: RatesMeasure =
            Value::Table(table).try_into().map_err(|e: toml::de::Error| e.to_string())?;
        return rates.check().map(|()| ClaimMeasure::Rates(rates));
    }
    if table.contains_key("windows") {
        let windows: WindowsMeasure =
            Value::Table(table).try_into().map_err(|e: toml::de::Error| e.to_string())?;
        return windows.check().map(|()| ClaimMeasure::Windows(windows));
    }
    if table.contains_key("metric") {
        let metric: MetricMeasure =
            Value::Table(table).try_into().map_err(|e: toml::de::Error| e.to_string())?;
        return metric.check().map(|()| ClaimMeasure::Metric(metric));
    }
    let rows: RowsMeasure =
        Value::Table(table).try_into().map_err(|e: toml::de::Error| e.to_string())?;
    rows.check().map(ClaimMeasure::Rows)
}

fn reject_other_keys(name: &str, rest: &Table) -> Result<(), String> {
    rest.keys().next().map_or(Ok(()), |key| Err(format!("`{key}` does not go with `{name}`")))
}

impl ClaimMeasure {
    /// Its leaves: measures that have no measures in them.
    pub(super) fn leaves(&self) -> Vec<&Self> {
        match self {
            Self::Ratio(pair) | Self::Difference(pair) => {
                pair.iter().flat_map(Self::leaves).collect()
            }
            Self::Sum(parts) | Self::Extreme(_, parts) => {
                parts.iter().flat_map(Self::leaves).collect()
            }
            Self::Least(least) => least.parts().flat_map(Self::leaves).collect(),
            leaf => vec![leaf],
        }
    }

    /// The two values that it compares. Values of the same rows are one sample, and a share is one
    /// value, so neither is a comparison.
    pub(super) fn sides(&self) -> Option<&[Self; 2]> {
        let (Self::Ratio(pair) | Self::Difference(pair)) = self else { return None };
        let is_one_sample = match &**pair {
            [Self::Rows(a), Self::Rows(b)] => *a == RowsMeasure { reduce: a.reduce, ..b.clone() },
            _ => false,
        };
        let is_share = matches!(self, Self::Ratio(_)) && self.range() == ValueRange::SHARE;
        (!is_one_sample && !is_share).then_some(pair)
    }

    /// The scheme named by a leaf.
    pub(super) fn scheme(&self) -> Option<&str> {
        match self {
            Self::Metric(m) => m.scheme.as_deref(),
            Self::Rates(r) => r.scheme.as_deref(),
            Self::Windows(w) => w.scheme.as_deref(),
            Self::Rows(rows) => rows.r#where.get("scheme").and_then(Filter::text),
            _ => None,
        }
    }

    /// The swept values named by a leaf; for rows also filters of other text columns.
    pub(super) fn at(&self) -> Vec<(&str, &str)> {
        match self {
            Self::Metric(m) => m.at.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect(),
            Self::Rates(r) => r.at.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect(),
            Self::Windows(w) => w.at.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect(),
            Self::Rows(rows) => {
                let filters = rows.r#where.iter();
                filters.filter_map(|(k, f)| Some((k.as_str(), f.text()?))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether `points` contains the point of this leaf.
    pub(super) fn is_at(&self, points: &[SweepPoint]) -> bool {
        let at = self.at();
        let is = |point: &SweepPoint| {
            point.keys().all(|key| {
                let wanted = at.iter().find(|(k, _)| *k == key);
                wanted.is_none_or(|(_, value)| point.get(key) == Some(value))
            })
        };
        points.iter().any(is)
    }

    /// This measure at one more value of a swept key.
    pub(super) fn with(&self, key: &str, value: &str) -> Self {
        let pair =
            |pair: &[Self; 2]| Box::new([pair[0].with(key, value), pair[1].with(key, value)]);
        let mut one = self.clone();
        match &mut one {
            Self::Metric(MetricMeasure { at, .. })
            | Self::Rates(RatesMeasure { at, .. })
            | Self::Windows(WindowsMeasure { at, .. }) => {
                at.insert(key.to_owned(), value.to_owned());
            }
            Self::Rows(rows) => {
                rows.r#where.insert(key.to_owned(), Filter::Text(value.to_owned()));
            }
            Self::Ratio(parts) => return Self::Ratio(pair(parts)),
            Self::Difference(parts) => return Self::Difference(pair(parts)),
            Self::Sum(parts) => {
                return Self::Sum(parts.iter().map(|p| p.with(key, value)).collect());
            }
            Self::Extreme(extreme, parts) => {
                let parts = parts.iter().map(|p| p.with(key, value)).collect();
                return Self::Extreme(*extreme, parts);
            }
            Self::Least(least) => return Self::Least(least.with(key, value)),
        }
        one
    }

    /// One value per seed of `seeds`.
    pub(crate) fn values(&self, of: RunData<'_>) -> Result<Vec<Option<f64>>, String> {
        let two = |pair: &[Self; 2], with: fn(f64, f64) -> Option<f64>| {
            let (a, b) = (pair[0].values(of)?, pair[1].values(of)?);
            Ok(a.into_iter().zip(b).map(|(a, b)| with(a?, b?)).collect())
        };
        match self {
            Self::Metric(metric) => metric.values(of),
            Self::Rows(rows) => rows.values(of),
            Self::Rates(rates) => rates.values(of),
            Self::Windows(windows) => windows.values(of),
            Self::Ratio(pair) => two(pair, |a, b| (b.abs() > 0.0).then(|| a / b)),
            Self::Difference(pair) => two(pair, |a, b| Some(a - b)),
            Self::Sum(parts) => {
                let mut sum = vec![Some(0.0); of.seeds.len()];
                for part in parts {
                    for (sum, value) in sum.iter_mut().zip(part.values(of)?) {
                        *sum = sum.zip(value).map(|(a, b)| a + b);
                    }
                }
                Ok(sum)
            }
            Self::Extreme(extreme, parts) => {
                let mut values: Option<Vec<Option<f64>>> = None;
                for part in parts {
                    let part = part.values(of)?;
                    let both = |(a, b): (Option<f64>, Option<f64>)| {
                        a.zip(b).map(|(a, b)| extreme.of(a, b))
                    };
                    // A single value is compared with itself, for its magnitude.
                    let before = values.unwrap_or_else(|| part.clone());
                    values = Some(before.into_iter().zip(part).map(both).collect());
                }
                Ok(values.unwrap_or_default())
            }
            Self::Least(least) => least.values(of),
        }
    }
}

#[cfg(test)]
mod tests;
