//! Right-censored flows and queries: those without a completion time at the end of the run.
//!
//! Contract: as in the summary, censored values are never dropped silently. Their lower bound is
//! their age at the end of the run; failed ones count as infinite. A statistic that depends on a
//! censored value is `None`.

use lowtide_record::DataFrame;

use super::reduce::Reduce;
use crate::columns::{numbers, texts};

/// Columns that only completed flows or queries have, and the column with their start time; points
/// in time count from the start of the run.
const COMPLETIONS: [(&str, Option<&str>); 5] = [
    ("fct_ps", Some("start_ps")),
    ("transfer_ps", Some("established_ps")),
    ("qct_ps", Some("start_ps")),
    ("delivered_ps", None),
    ("end_ps", None),
];

/// The columns of a table that tell which rows are censored.
pub(super) fn censoring_columns(table: &str) -> &'static [&'static str] {
    match table {
        "flows" => &["status", "start_ps", "established_ps", "size_bytes"],
        "queries" => &["status", "start_ps"],
        _ => &[],
    }
}

/// Lower bounds of `column` for the rows that are right-censored. `None` for rows with a value and
/// for flows of unlimited size; empty for columns that are never censored. `ended_ps` returns the
/// end time of each row's run.
pub(super) fn lower_bounds(
    frame: &DataFrame,
    table: &str,
    column: &str,
    ended_ps: impl Fn(usize) -> f64,
) -> Result<Option<Vec<Option<f64>>>, String> {
    let completion = COMPLETIONS.iter().find(|(name, _)| *name == column);
    let Some((_, begins)) = completion.filter(|_| !censoring_columns(table).is_empty()) else {
        return Ok(None);
    };
    let (values, states) = (numbers(frame, column)?, texts(frame, "status")?);
    let begins = begins.map(|begins| numbers(frame, begins)).transpose()?;
    let sizes = frame.column("size_bytes").map(|_| numbers(frame, "size_bytes")).transpose()?;
    let one = |i: usize| {
        let endless = sizes.is_some_and(|sizes| sizes[i].is_none());
        if values[i].is_some() || endless {
            return None;
        }
        if states[i].as_deref() == Some("failed") {
            return Some(f64::INFINITY);
        }
        // Rows that had not started have a lower bound of zero.
        let begun = begins.map_or(Some(0.0), |begins| begins[i]);
        Some(begun.map_or(0.0, |begun| (ended_ps(i) - begun).max(0.0)))
    };
    Ok(Some((0..frame.rows()).map(one).collect()))
}

/// Reduces values that are known only to be between `least` and `most`; `None` if the result
/// depends on the censored values.
pub(super) fn reduce_bounds(reduce: Reduce, least: Vec<f64>, most: Vec<f64>) -> Option<f64> {
    let value = reduce.of(most)?;
    (value.is_finite() && reduce.of(least) == Some(value)).then_some(value)
}
