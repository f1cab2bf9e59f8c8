//! What the figures over time share: series made ready to draw, and the data
//! file of what was drawn.

use crate::view::Trace;

use super::axis::range;
use super::csv::{Cell, Csv};
use super::decimate::{Sample, min_max, pieces};

/// Samples that all series of one figure may keep together; about ten bytes
/// of SVG each, twice where two panels show a series.
const BUDGET: usize = 9000;
/// Columns of the picture: more samples per series cannot be seen.
const COLUMNS: usize = 720;

/// A series ready to draw.
pub(super) struct Prepared<'a> {
    /// Where it comes from.
    pub(super) trace: &'a Trace,
    /// What kind of value it is, for the data file.
    pub(super) kind: &'static str,
    /// The lines that are drawn, in the order of time.
    pub(super) lines: Vec<Vec<Sample>>,
}

impl Prepared<'_> {
    /// All samples that are drawn.
    pub(super) fn samples(&self) -> impl Iterator<Item = Sample> {
        self.lines.iter().flatten().copied()
    }
}

/// Makes series short enough to draw; those without two samples in a row
/// fall away. `panels` says how often each is drawn.
pub(super) fn prepare<'a>(
    traces: &[(&'static str, &'a Trace)],
    panels: usize,
) -> Vec<Prepared<'a>> {
    let whole: Vec<_> = traces
        .iter()
        .map(|&(kind, trace)| (kind, trace, pieces(&trace.samples)))
        .filter(|(_, _, lines)| !lines.is_empty())
        .collect();
    let times = whole.iter().flat_map(|(_, _, lines)| lines.iter().flatten());
    let Some((from, to)) = range(times.map(|(time, _)| *time)) else {
        return Vec::new();
    };
    let share = BUDGET / panels.max(1) / (2 * whole.len());
    let columns = share.clamp(60, COLUMNS);
    whole
        .into_iter()
        .map(|(kind, trace, lines)| Prepared {
            trace,
            kind,
            lines: lines.iter().map(|line| min_max(line, from, to, columns)).collect(),
        })
        .collect()
}

/// First and last time of all series.
pub(super) fn times(prepared: &[Prepared<'_>]) -> (f64, f64) {
    range(prepared.iter().flat_map(Prepared::samples).map(|s| s.0)).unwrap_or((0.0, 1.0))
}

/// The value that a share of the samples does not exceed.
pub(super) fn quantile(samples: impl Iterator<Item = f64>, share: f64) -> Option<f64> {
    let mut values: Vec<f64> = samples.collect();
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    values.get((last as f64 * share).round() as usize).copied()
}

/// Schemes in the order in which they first appear.
pub(super) fn schemes<'a>(prepared: &[Prepared<'a>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for series in prepared {
        if !names.contains(&series.trace.scheme.as_str()) {
            names.push(&series.trace.scheme);
        }
    }
    names
}

/// Data file of what is drawn. `subject` is what the series belong to: a
/// queue or a flow.
pub(super) fn table(subject: &str, prepared: &[Prepared<'_>]) -> String {
    let mut csv = Csv::new(&["scheme", subject, "series", "unit", "time (s)", "value"]);
    for series in prepared {
        for (time, value) in series.samples() {
            csv.row([
                Cell::from(series.trace.scheme.as_str()),
                series.trace.name.as_str().into(),
                series.kind.into(),
                series.trace.unit.as_str().into(),
                time.into(),
                value.into(),
            ]);
        }
    }
    csv.finish()
}

/// The end of a caption: which run the series come from.
pub(super) fn of_run(run: &str) -> String {
    if run.is_empty() { String::new() } else { format!(" Run: {run}.") }
}
