//! Rows of a table as a measure: filters and a reduction.

use std::collections::BTreeMap;

use lowtide_record::{DataFrame, FrameValues};
use lowtide_units::parse_duration;
use serde::Deserialize;

use super::censored;
use super::filter::Filter;
use super::reduce::Reduce;
use crate::columns::{column, numbers};
use crate::source::RunData;

/// The time column of time-series tables.
pub(crate) const TIME: &str = "time_ps";

/// Filtered rows of a table, reduced to one number.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowsMeasure {
    /// The table, such as `flows`.
    pub table: String,
    /// The column; any column for `count`.
    pub column: String,
    /// Divides by another column, row by row: `fct_ps` over `ideal_ps` is the slowdown. A row
    /// without value if it is null or zero.
    #[serde(default)]
    pub over: Option<String>,
    /// Subtracts another column of the same unit, row by row: `computed_ns` minus `actual_ns` is
    /// the error.
    #[serde(default)]
    pub minus: Option<String>,
    /// Weight of each row in a mean or a deviation: for a histogram its column of counts.
    #[serde(default)]
    pub weight: Option<String>,
    /// Row filters: a value, or from and to, with units as in scenarios.
    #[serde(default)]
    pub r#where: BTreeMap<String, Filter>,
    /// For a time-series table: only rows at multiples of this interval, as a paper samples.
    #[serde(default)]
    pub every: Option<String>,
    /// The reduction.
    pub reduce: Reduce,
    /// Divisor that converts the column to the claim's unit: 1448 for segments of 1448 bytes.
    #[serde(default = "one")]
    pub per: f64,
    /// Constant added to the result, in the claim's unit: for a queueing delay, the delay of an
    /// empty path.
    #[serde(default)]
    pub plus: f64,
}

const fn one() -> f64 {
    1.0
}

/// End time of each run, in ps.
pub(super) type RunEnds = BTreeMap<u32, f64>;

/// Bounds of a row's value; equal if the value is known.
struct CensoredValue {
    lower: f64,
    upper: f64,
    weight: f64,
}

impl RowsMeasure {
    pub(super) fn values(&self, of: RunData<'_>) -> Result<Vec<Option<f64>>, String> {
        self.of_frame(&self.frame(of, None)?, &ends(of), of.seeds)
    }

    /// The columns that it uses beside `column`.
    pub(crate) fn other_columns(&self) -> impl Iterator<Item = &String> {
        self.over.iter().chain(&self.minus).chain(&self.weight)
    }

    /// Checks for contradictory options.
    pub(super) fn check(self) -> Result<Self, String> {
        if self.plus.abs() > 0.0 && !self.reduce.is_location_statistic() {
            return Err("`plus` goes with a mean, a percentile or one of the values".to_owned());
        }
        match self.reduce {
            _ if self.weight.is_none() => Ok(self),
            Reduce::Mean | Reduce::Sd => Ok(self),
            _ => Err("`weight` goes with `reduce = \"mean\"` or `\"sd\"`".to_owned()),
        }
    }

    /// Reads the columns that it needs, and `also`.
    fn frame(&self, of: RunData<'_>, also: Option<&str>) -> Result<DataFrame, String> {
        let mut names: Vec<&str> = vec!["run", "seed", &self.column];
        names.extend(self.r#where.keys().map(String::as_str));
        names.extend(self.every.as_ref().map(|_| TIME));
        names.extend(self.other_columns().map(String::as_str));
        names.extend(censored::censoring_columns(&self.table));
        names.extend(also);
        of.dir.frame(&self.table, &names).map_err(|e| e.to_string())
    }

    /// Returns every selected value with that of column `x` (zero without `x`), for all seeds in
    /// table order. Right-censored values are infinite.
    pub(crate) fn values_with(
        &self,
        of: RunData<'_>,
        x: Option<&str>,
    ) -> Result<Vec<(f64, f64)>, String> {
        let frame = self.frame(of, x)?;
        let keep = self.row_mask(&frame, &ends(of))?;
        let numbers = |name: &str| numbers(&frame, name);
        let (of_seed, ys) = (numbers("seed")?, numbers(&self.column)?);
        let xs = x.map(numbers).transpose()?;
        let minus = self.minus.as_deref().map(numbers).transpose()?;
        let wanted = |i: &usize| {
            keep[*i]
                && of_seed[*i].is_some_and(|s| of.seeds.iter().any(|w| (s - *w as f64).abs() < 0.5))
        };
        let cut = censored::lower_bounds(&frame, &self.table, &self.column, |_| 0.0)?;
        let was_cut = |i: usize| cut.as_ref()?[i].map(|_| f64::INFINITY);
        let y = |i: usize| Some(ys[i].or_else(|| was_cut(i))? - minus.map_or(Some(0.0), |m| m[i])?);
        let pair = |i: usize| Some((xs.map_or(Some(0.0), |x| x[i])?, y(i)? / self.per + self.plus));
        Ok((0..frame.rows()).filter(wanted).filter_map(pair).collect())
    }

    pub(super) fn of_frame(
        &self,
        frame: &DataFrame,
        ends: &RunEnds,
        seeds: &[u64],
    ) -> Result<Vec<Option<f64>>, String> {
        let keep = self.row_mask(frame, ends)?;
        let (runs, of_seed) = (numbers(frame, "run")?, numbers(frame, "seed")?);
        let value_at = self.value_at(frame, ends)?;
        let value = |seed: &u64| {
            let mut run = None;
            let mut found = Vec::new();
            for i in (0..frame.rows()).filter(|&i| keep[i] && of_seed[i] == Some(*seed as f64)) {
                if run.is_some_and(|r| r != runs[i]) {
                    return Err(format!(
                        "its rows of `{}` are of several runs: say which scheme and which point",
                        self.table
                    ));
                }
                run = Some(runs[i]);
                found.extend(value_at(i));
            }
            let most = || found.iter().map(|v| v.upper).collect();
            let least = || found.iter().map(|v| v.lower).collect();
            let one = if self.weight.is_some() {
                let weights: Vec<f64> = found.iter().map(|v| v.weight).collect();
                let most: Vec<f64> = most();
                self.reduce.weighted(&most, &weights).filter(|v| v.is_finite())
            } else if found.iter().all(|v| v.lower.total_cmp(&v.upper).is_eq()) {
                self.reduce.of(most())
            } else {
                censored::reduce_bounds(self.reduce, least(), most())
            };
            Ok(one.map(|v| v / self.per + self.plus))
        };
        seeds.iter().map(value).collect()
    }

    /// The value of a row; `None` if there is nothing to measure.
    fn value_at<'f>(
        &self,
        frame: &'f DataFrame,
        ends: &RunEnds,
    ) -> Result<impl Fn(usize) -> Option<CensoredValue> + use<'f>, String> {
        let numbers = |name: &str| numbers(frame, name);
        let beside = |name: &Option<String>| name.as_deref().map(numbers).transpose();
        let (over, minus, weight) =
            (beside(&self.over)?, beside(&self.minus)?, beside(&self.weight)?);
        let runs = numbers("run")?;
        let least = |name: &String| {
            censored::lower_bounds(frame, &self.table, name, |i| ended(ends, runs[i]))
        };
        let counts = self.reduce == Reduce::Count;
        let values = if counts { runs } else { numbers(&self.column)? };
        let least_value = if counts { None } else { least(&self.column)? };
        let over_cut = self.over.as_ref().map(least).transpose()?.flatten();
        Ok(move |i: usize| {
            // The lower bound of a censored flow is its age at the end of the run.
            let least = || least_value.as_ref().and_then(|least| least[i]);
            let (least, most) = match values[i] {
                Some(value) => (value, value),
                None => (least()?, f64::INFINITY),
            };
            let minus = minus.map_or(Some(0.0), |m| m[i])?;
            let (least, most) = (least - minus, most - minus);
            let (least, most) = match over.map(|over| over[i]) {
                None => (least, most),
                Some(Some(over)) if over.abs() > 0.0 => (least / over, most / over),
                // Divided by a censored time: unbounded.
                Some(None) if over_cut.as_ref().is_some_and(|cut| cut[i].is_some()) => {
                    (0.0, f64::INFINITY)
                }
                Some(_) => return None,
            };
            Some(CensoredValue {
                lower: least,
                upper: most,
                weight: weight.map_or(Some(1.0), |w| w[i])?,
            })
        })
    }

    fn row_mask(&self, frame: &DataFrame, ends: &RunEnds) -> Result<Vec<bool>, String> {
        let mut keep = vec![true; frame.rows()];
        let runs = numbers(frame, "run")?;
        for (name, filter) in &self.r#where {
            let column = column(frame, name)?;
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
                        filter.resolve(&column.unit).map_err(|e| format!("`{name}`: {e}"))?;
                    for ((keep, number), run) in keep.iter_mut().zip(numbers).zip(runs) {
                        *keep &= number.is_some_and(|n| picked.contains(n, ended(ends, *run)));
                    }
                }
            }
        }
        if let Some(every) = &self.every {
            let step = parse_duration(every).map_err(|e| format!("`every`: {e}"))?.as_ps() as f64;
            for (keep, time) in keep.iter_mut().zip(numbers(frame, TIME)?) {
                *keep &= time.is_some_and(|t| (t % step).abs() < 0.5);
            }
        }
        Ok(keep)
    }
}

fn ends(of: RunData<'_>) -> RunEnds {
    of.runs.iter().map(|run| (run.key.run, run.ended_ms * 1e9)).collect()
}

/// End time of a run; zero if it is unknown.
fn ended(ends: &RunEnds, run: Option<f64>) -> f64 {
    run.and_then(|run| ends.get(&(run as u32))).copied().unwrap_or_default()
}
