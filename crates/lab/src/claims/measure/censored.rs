//! What did not end before the run did: a flow or a query without a completion time.
//!
//! Contract: it never leaves a statistic in silence, as in the summary. It would have taken as long as it had been
//! there, or longer, and what failed takes for ever; a value that this could move is no value.

use lowtide_record::DataFrame;

use super::reduce::Reduce;
use crate::claims::columns::{numbers, texts};

/// Columns that only a flow or a query has that completed, and the one from which their time counts; moments count
/// from the start of the run.
const COMPLETIONS: [(&str, Option<&str>); 5] = [
    ("fct_ps", Some("start_ps")),
    ("transfer_ps", Some("established_ps")),
    ("qct_ps", Some("start_ps")),
    ("delivered_ps", None),
    ("end_ps", None),
];

/// The columns of a table that say what was cut off.
pub(super) fn censoring_columns(table: &str) -> &'static [&'static str] {
    match table {
        "flows" => &["status", "start_ps", "established_ps", "size_bytes"],
        "queries" => &["status", "start_ps"],
        _ => &[],
    }
}

/// The least that each row's `column` can have been, where the end of its run left it empty; `None` where the
/// row has its value, and of a flow that has no end. Nothing at all of a column that no end of a run leaves
/// empty. `ended_ps` is when the run of each row ended.
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
        // What did not even begin took no time yet.
        let begun = begins.map_or(Some(0.0), |begins| begins[i]);
        Some(begun.map_or(0.0, |begun| (ended_ps(i) - begun).max(0.0)))
    };
    Ok(Some((0..frame.rows()).map(one).collect()))
}

/// One number of values of which some are known only to lie between `least` and `most`; nothing where it hangs
/// on where.
pub(super) fn reduce_bounds(reduce: Reduce, least: Vec<f64>, most: Vec<f64>) -> Option<f64> {
    let value = reduce.of(most)?;
    (value.is_finite() && reduce.of(least) == Some(value)).then_some(value)
}
