//! What did not end before the run did: a flow or a query without a completion time.
//!
//! Contract: it never leaves a statistic in silence, as in the summary. It would have taken as long as it had been
//! there, or longer, and what failed takes for ever; a value that this could move is no value.

use lowtide_record::Frame;

use super::reduce::Reduce;
use crate::claims::columns::{numbers, texts};

/// Columns that only a flow or a query has that completed, and whether they count from its start.
const COMPLETIONS: [(&str, bool); 5] = [
    ("fct_ps", true),
    ("transfer_ps", true),
    ("qct_ps", true),
    ("delivered_ps", false),
    ("end_ps", false),
];

/// Whether the end of a run may leave a column empty.
pub(super) fn cuts(column: &str) -> bool {
    COMPLETIONS.iter().any(|(name, _)| *name == column)
}

/// The columns of a table that say what was cut off.
pub(super) fn columns(table: &str) -> &'static [&'static str] {
    match table {
        "flows" => &["status", "start_ps", "size_bytes"],
        "queries" => &["status", "start_ps"],
        _ => &[],
    }
}

/// The least that each row's `column` can have been, where the end of its run left it empty; `None` where the
/// row has its value, and of a flow that has no end. `ended_ps` is when the run of each row ended.
pub(super) fn least(
    frame: &Frame,
    column: &str,
    ended_ps: impl Fn(usize) -> f64,
) -> Result<Vec<Option<f64>>, String> {
    let from_start = COMPLETIONS.iter().any(|(name, from_start)| *name == column && *from_start);
    let (values, starts) = (numbers(frame, column)?, numbers(frame, "start_ps")?);
    let sizes = frame.column("size_bytes").map(|_| numbers(frame, "size_bytes")).transpose()?;
    let states = texts(frame, "status")?;
    let one = |i: usize| {
        let endless = sizes.is_some_and(|sizes| sizes[i].is_none());
        if values[i].is_some() || endless {
            return None;
        }
        let begun = if from_start { starts[i]? } else { 0.0 };
        let failed = states[i].as_deref() == Some("failed");
        Some(if failed { f64::INFINITY } else { (ended_ps(i) - begun).max(0.0) })
    };
    Ok((0..frame.rows()).map(one).collect())
}

/// One number of values of which some are known only to lie between `least` and `most`; nothing where it hangs
/// on where.
pub(super) fn reduced(reduce: Reduce, least: Vec<f64>, most: Vec<f64>) -> Option<f64> {
    let value = reduce.of(most)?;
    (value.is_finite() && reduce.of(least) == Some(value)).then_some(value)
}
