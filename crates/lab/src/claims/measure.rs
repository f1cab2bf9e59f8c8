//! What a claim measures: a metric of the summary, or a column of a result table, the rows that count
//! and what becomes of them.
//!
//! Contract: one value per seed. Rows of two runs of one seed never mix in silence: the filters must
//! leave one scheme and one point of the sweep. A seed without rows has no value.

mod metric;
mod reduce;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use lowtide_record::{Frame, FrameValues, Point, read_frame};
use lowtide_units::{parse_bytes, parse_duration, parse_packets, parse_rate};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use toml::{Table, Value};

use super::rates::RatesOf;
use super::source::Source;
use super::windows::WindowsOf;

pub(super) use metric::Metric;
pub(crate) use reduce::Reduce;

/// A value per seed.
#[derive(Clone, PartialEq, Debug)]
pub enum Measure {
    /// A metric that the summary has.
    Metric(Metric),
    /// Rows of a table.
    Rows(Rows),
    /// Throughput over time.
    Rates(RatesOf),
    /// What senders hear against the queue.
    Windows(WindowsOf),
    /// The first over the second.
    Ratio(Box<[Measure; 2]>),
    /// The first less the second.
    Difference(Box<[Measure; 2]>),
    /// The sum.
    Sum(Vec<Measure>),
}

/// Rows of a table and one number of them.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    /// The table, as `flows`.
    pub table: String,
    /// The column; of `count` any.
    pub column: String,
    /// Another column that it is divided by, row by row: `fct_ps` over `ideal_ps` is the slowdown. A row in
    /// which it is null or zero has no value.
    #[serde(default)]
    pub over: Option<String>,
    /// Another column of the same unit that is taken off it, row by row: `computed_ns` less `actual_ns` is the
    /// error.
    #[serde(default)]
    pub less: Option<String>,
    /// How much each row counts in a mean or a deviation: of a histogram the column of its counts.
    #[serde(default)]
    pub weight: Option<String>,
    /// The rows that count: a value, or from and to, with units as in scenarios.
    #[serde(default)]
    pub r#where: BTreeMap<String, Filter>,
    /// Of a table over time: only rows at whole multiples of this, as a paper samples.
    #[serde(default)]
    pub every: Option<String>,
    /// What becomes of them.
    pub reduce: Reduce,
    /// How much of the column makes one of the claim's unit: 1448 for segments of so many bytes.
    #[serde(default = "one")]
    pub per: f64,
    /// What is added to the result, in the claim's unit: to a queue what a packet takes where nothing waits.
    #[serde(default)]
    pub plus: f64,
}

/// The column of the time in tables over time.
pub(super) const TIME: &str = "time_ps";

const fn one() -> f64 {
    1.0
}

/// Which values of a column count.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
pub enum Filter {
    /// Text, or a number with its unit.
    Text(String),
    /// Yes or no.
    Flag(bool),
    /// A number in the column's unit.
    Number(f64),
    /// From and to.
    Range {
        /// Not before.
        #[serde(default)]
        from: Option<Box<Filter>>,
        /// Not after.
        #[serde(default)]
        to: Option<Box<Filter>>,
    },
}

impl<'de> Deserialize<'de> for Measure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = Table::deserialize(deserializer)?;
        of_table(table).map_err(D::Error::custom)
    }
}

fn of_table(mut table: Table) -> Result<Measure, String> {
    let parts = |value: Value| -> Result<Vec<Measure>, String> {
        let Value::Array(items) = value else { return Err("expected a list of measures".into()) };
        let part = |item| match item {
            Value::Table(table) => of_table(table),
            _ => Err("a part of a measure is a table".to_owned()),
        };
        items.into_iter().map(part).collect()
    };
    let pair = |value: Value| -> Result<Box<[Measure; 2]>, String> {
        let pair: [Measure; 2] =
            parts(value)?.try_into().map_err(|_| "expected two measures".to_owned())?;
        Ok(Box::new(pair))
    };
    for (name, of) in
        [("ratio", Measure::Ratio as fn(_) -> _), ("difference", Measure::Difference as fn(_) -> _)]
    {
        if let Some(value) = table.remove(name) {
            return alone(name, &table).and_then(|()| pair(value)).map(of);
        }
    }
    if let Some(value) = table.remove("sum") {
        return alone("sum", &table).and_then(|()| parts(value)).map(Measure::Sum);
    }
    if table.contains_key("rates") {
        let rates: RatesOf =
            Value::Table(table).try_into().map_err(|e: toml::de::Error| e.to_string())?;
        return rates.check().map(|()| Measure::Rates(rates));
    }
    if table.contains_key("windows") {
        let windows: WindowsOf =
            Value::Table(table).try_into().map_err(|e: toml::de::Error| e.to_string())?;
        return windows.check().map(|()| Measure::Windows(windows));
    }
    if table.contains_key("metric") {
        let metric: Metric =
            Value::Table(table).try_into().map_err(|e: toml::de::Error| e.to_string())?;
        return metric.check().map(|()| Measure::Metric(metric));
    }
    let rows: Rows = Value::Table(table).try_into().map_err(|e: toml::de::Error| e.to_string())?;
    rows.check().map(Measure::Rows)
}

fn alone(name: &str, rest: &Table) -> Result<(), String> {
    rest.keys().next().map_or(Ok(()), |key| Err(format!("`{key}` does not go with `{name}`")))
}

impl Measure {
    /// What it is made of: measures that are no sum, ratio or difference.
    pub(super) fn leaves(&self) -> Vec<&Self> {
        match self {
            Self::Ratio(pair) | Self::Difference(pair) => {
                pair.iter().flat_map(Self::leaves).collect()
            }
            Self::Sum(parts) => parts.iter().flat_map(Self::leaves).collect(),
            leaf => vec![leaf],
        }
    }

    /// Of a leaf, the scheme that it names.
    pub(super) fn scheme(&self) -> Option<&str> {
        match self {
            Self::Metric(m) => m.scheme.as_deref(),
            Self::Rates(r) => r.scheme.as_deref(),
            Self::Windows(w) => w.scheme.as_deref(),
            Self::Rows(rows) => rows.r#where.get("scheme").and_then(Filter::text),
            _ => None,
        }
    }

    /// Of a leaf, the values of swept keys that it names; of rows also those of other columns of text.
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

    /// Whether one of the points is that of this leaf.
    pub(super) fn is_at(&self, points: &[Point]) -> bool {
        let at = self.at();
        let is = |point: &Point| {
            point.keys().all(|key| {
                let wanted = at.iter().find(|(k, _)| *k == key);
                wanted.is_none_or(|(_, value)| point.get(key) == Some(value))
            })
        };
        points.iter().any(is)
    }

    /// The same at one more value of a swept key.
    pub(super) fn with(&self, key: &str, value: &str) -> Self {
        let pair =
            |pair: &[Self; 2]| Box::new([pair[0].with(key, value), pair[1].with(key, value)]);
        let mut one = self.clone();
        match &mut one {
            Self::Metric(Metric { at, .. })
            | Self::Rates(RatesOf { at, .. })
            | Self::Windows(WindowsOf { at, .. }) => {
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
        }
        one
    }

    /// One value per seed of `seeds`.
    pub(crate) fn values(&self, of: Source<'_>) -> Result<Vec<Option<f64>>, String> {
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
        }
    }
}

impl Rows {
    fn values(&self, of: Source<'_>) -> Result<Vec<Option<f64>>, String> {
        self.of_frame(&self.frame(of, None)?, of.seeds)
    }

    /// The columns that it takes beside its own.
    pub(super) fn beside(&self) -> impl Iterator<Item = &String> {
        self.over.iter().chain(&self.less).chain(&self.weight)
    }

    /// What contradicts itself.
    fn check(self) -> Result<Self, String> {
        if self.plus.abs() > 0.0 && !self.reduce.is_a_value() {
            return Err("`plus` goes with a mean, a percentile or one of the values".to_owned());
        }
        match self.reduce {
            _ if self.weight.is_none() => Ok(self),
            Reduce::Mean | Reduce::Sd => Ok(self),
            _ => Err("`weight` goes with `reduce = \"mean\"` or `\"sd\"`".to_owned()),
        }
    }

    /// The columns that it needs, and one more.
    fn frame(&self, of: Source<'_>, also: Option<&str>) -> Result<Frame, String> {
        let path = of.dir.table(&self.table).map_err(|e| e.to_string())?;
        let mut names: Vec<&str> = vec!["run", "seed", &self.column];
        names.extend(self.r#where.keys().map(String::as_str));
        names.extend(self.every.as_ref().map(|_| TIME));
        names.extend(self.beside().map(String::as_str));
        names.extend(also);
        read_frame(&path, &names).map_err(|e| e.to_string())
    }

    /// Every value that counts, beside that of the column `x` (zero without it), for all seeds, in the
    /// order of the table.
    pub(super) fn all(&self, of: Source<'_>, x: Option<&str>) -> Result<Vec<(f64, f64)>, String> {
        let frame = self.frame(of, x)?;
        let keep = self.kept(&frame)?;
        let numbers = |name: &str| match &self.column(&frame, name)?.values {
            FrameValues::Numbers(values) => Ok(values),
            FrameValues::Texts(_) => Err(format!("the column `{name}` holds no numbers")),
        };
        let (of_seed, ys) = (numbers("seed")?, numbers(&self.column)?);
        let xs = x.map(numbers).transpose()?;
        let less = self.less.as_deref().map(numbers).transpose()?;
        let wanted = |i: &usize| {
            keep[*i]
                && of_seed[*i].is_some_and(|s| of.seeds.iter().any(|w| (s - *w as f64).abs() < 0.5))
        };
        let y = |i: usize| Some(ys[i]? - less.map_or(Some(0.0), |less| less[i])?);
        let pair = |i: usize| Some((xs.map_or(Some(0.0), |x| x[i])?, y(i)? / self.per + self.plus));
        Ok((0..frame.rows()).filter(wanted).filter_map(pair).collect())
    }

    fn of_frame(&self, frame: &Frame, seeds: &[u64]) -> Result<Vec<Option<f64>>, String> {
        let keep = self.kept(frame)?;
        let numbers = |name: &str| match &self.column(frame, name)?.values {
            FrameValues::Numbers(values) => Ok(values),
            FrameValues::Texts(_) => Err(format!("the column `{name}` holds no numbers")),
        };
        let (runs, of_seed) = (numbers("run")?, numbers("seed")?);
        let values = match self.reduce {
            Reduce::Count => runs,
            _ => numbers(&self.column)?,
        };
        let over = self.over.as_deref().map(numbers).transpose()?;
        let less = self.less.as_deref().map(numbers).transpose()?;
        let weight = self.weight.as_deref().map(numbers).transpose()?;
        let value_at = |i: usize| {
            let value = values[i]? - less.map_or(Some(0.0), |less| less[i])?;
            match over {
                None => Some(value),
                Some(over) => over[i].filter(|o| o.abs() > 0.0).map(|o| value / o),
            }
        };
        let value = |seed: &u64| {
            let mut run = None;
            let (mut found, mut weights) = (Vec::new(), Vec::new());
            for i in (0..frame.rows()).filter(|&i| keep[i] && of_seed[i] == Some(*seed as f64)) {
                if run.is_some_and(|r| r != runs[i]) {
                    return Err(format!(
                        "its rows of `{}` are of several runs: say which scheme and which point",
                        self.table
                    ));
                }
                run = Some(runs[i]);
                let weighed = weight.map_or(Some(1.0), |w| w[i]);
                if let (Some(value), Some(weighed)) = (value_at(i), weighed) {
                    found.push(value);
                    weights.push(weighed);
                }
            }
            let one = match weight {
                None => self.reduce.of(found),
                Some(_) => self.reduce.weighed(&found, &weights),
            };
            Ok(one.map(|v| v / self.per + self.plus))
        };
        seeds.iter().map(value).collect()
    }

    fn column<'a>(
        &self,
        frame: &'a Frame,
        name: &str,
    ) -> Result<&'a lowtide_record::FrameColumn, String> {
        frame
            .column(name)
            .ok_or_else(|| format!("the table `{}` has no column `{name}`", self.table))
    }

    fn kept(&self, frame: &Frame) -> Result<Vec<bool>, String> {
        let mut keep = vec![true; frame.rows()];
        for (name, filter) in &self.r#where {
            let column = self.column(frame, name)?;
            match &column.values {
                FrameValues::Texts(texts) => {
                    let Filter::Text(wanted) = filter else {
                        return Err(format!("the column `{name}` is text"));
                    };
                    for (keep, text) in keep.iter_mut().zip(texts) {
                        *keep &= text.as_ref() == Some(wanted);
                    }
                }
                FrameValues::Numbers(numbers) => {
                    let picked =
                        filter.picked(&column.unit).map_err(|e| format!("`{name}`: {e}"))?;
                    for (keep, number) in keep.iter_mut().zip(numbers) {
                        *keep &= number.is_some_and(|n| picked.contains(&n));
                    }
                }
            }
        }
        if let Some(every) = &self.every {
            let step = parse_duration(every).map_err(|e| format!("`every`: {e}"))?.as_ps() as f64;
            let FrameValues::Numbers(times) = &self.column(frame, TIME)?.values else {
                return Err(format!("the column `{TIME}` holds no numbers"));
            };
            for (keep, time) in keep.iter_mut().zip(times) {
                *keep &= time.is_some_and(|t| (t % step).abs() < 0.5);
            }
        }
        Ok(keep)
    }
}

impl Filter {
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether its values are of a column in `unit`. Any text may be one of a column without unit.
    pub(super) fn fits(&self, unit: &str) -> Result<(), String> {
        match self {
            Self::Text(_) if unit.is_empty() => Ok(()),
            one => one.picked(unit).map(drop),
        }
    }

    /// What it picks, in the column's unit.
    fn picked(&self, unit: &str) -> Result<RangeInclusive<f64>, String> {
        match self {
            Self::Range { from, to } => {
                let end = |end: &Option<Box<Self>>, none| {
                    end.as_ref().map_or(Ok(none), |e| e.number(unit))
                };
                Ok(end(from, f64::NEG_INFINITY)?..=end(to, f64::INFINITY)?)
            }
            one => one.number(unit).map(|n| n..=n),
        }
    }

    fn number(&self, unit: &str) -> Result<f64, String> {
        match self {
            Self::Number(n) => Ok(*n),
            Self::Flag(yes) => Ok(f64::from(u8::from(*yes))),
            Self::Range { .. } => Err("a range within a range".to_owned()),
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

#[cfg(test)]
mod tests;
