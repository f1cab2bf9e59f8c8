//! Figures of the network beside a comparison: timeouts, drops, the longest queue and its line.
//! They are not verdicts.

use std::cmp::Ordering;

use lowtide_record::SweepPoint;
use lowtide_stats::significant;

use crate::summary::SummaryRow;

/// Relative difference from which on a figure is shown.
const LEAST_DIFFERENCE: f64 = 0.05;

/// Returns the rows of one scheme at one point.
pub(crate) fn rows_of<'a>(
    summary: &'a [SummaryRow],
    scheme: &str,
    point: &SweepPoint,
) -> Vec<&'a SummaryRow> {
    let of = |r: &&SummaryRow| r.subject.scheme == *scheme && r.subject.point == *point;
    summary.iter().filter(of).collect()
}

/// Returns the means of B and A that differ: timeouts, drops, the longest queue and its link.
pub(crate) fn differing_figures(a: &[&SummaryRow], b: &[&SummaryRow]) -> Vec<String> {
    let total = |rows: &[&SummaryRow], metric: &str| {
        let of = rows.iter().filter(|r| r.subject.metric == metric && r.subject.queue.is_none());
        of.map(|r| r.estimate.value).sum::<Option<f64>>()
    };
    let queue = a.iter().chain(b).filter(|r| r.subject.class.is_none());
    let longest = queue
        .filter(|r| r.subject.metric == "mean_packets" && r.subject.queue.is_some())
        .max_by(|a, b| a.estimate.value.partial_cmp(&b.estimate.value).unwrap_or(Ordering::Equal))
        .and_then(|r| r.subject.queue.as_deref());
    let at_queue = |rows: &[&SummaryRow], metric: &str| {
        let queue = longest?;
        rows.iter().find(|r| r.subject.is_queue_metric(queue, metric))?.estimate.value
    };
    let mut parts = Vec::new();
    let mut add = |what: &str, values: [Option<f64>; 2], scale: f64, unit: &str| {
        let [Some(a), Some(b)] = values else { return };
        if (a - b).abs() > LEAST_DIFFERENCE * a.abs().max(b.abs()) {
            let [a, b] = [a, b].map(|value| significant(value * scale));
            parts.push(format!("{what} {b} against {a}{unit}"));
        }
    };
    let late = [a, b].map(|rows| total(rows, "timeout_fraction"));
    add("queries with a timeout", late, 100.0, " %");
    add("timeouts", [a, b].map(|rows| total(rows, "rto_count")), 1.0, " in a run");
    add("drops", [a, b].map(|rows| total(rows, "drops")), 1.0, " in a run");
    if let Some(queue) = longest {
        let mean = [a, b].map(|rows| at_queue(rows, "mean_packets"));
        add(&format!("mean queue at {queue}"), mean, 1.0, " packets");
        let used = [a, b].map(|rows| at_queue(rows, "utilisation"));
        add("utilisation of its link", used, 100.0, " %");
    }
    parts
}
