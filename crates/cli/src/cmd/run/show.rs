//! Results of a plan on the terminal: verdict, tails, means, queues.
//!
//! Contract: tables fit 80 columns. The numbers are those of the report, `summary.json` and
//! `tails.csv`.

use lowtide_lab::summary::DROP_KINDS;
use lowtide_lab::{CompletedExperiment, SummaryRow};
use lowtide_record::SweepPoint;
use lowtide_scenario::RunPlan;

use super::point::values;
use super::{MAX_REMARKS, tails};
use crate::error::CommandError;
use crate::output::Output;

pub(in crate::cmd) fn show(
    plan: &RunPlan,
    finished: &CompletedExperiment,
    out: Output,
) -> Result<(), CommandError> {
    if out.json {
        return out.json(&finished.results.envelope(&finished.manifest));
    }
    let rows = &finished.results.summary;
    let transports = finished.transports();
    let labels: Vec<&str> = plan.schemes.iter().map(|s| transports.label(s)).collect();
    let points = finished.shown_points();
    let answer = finished.answer();
    if let Some(sentence) = &answer {
        out.paragraph(sentence)?;
        tails::show(&points, finished, out)?;
    }
    for sentence in finished.comparison() {
        out.paragraph(&sentence)?;
    }
    out.paragraph(&finished.counted())?;
    if answer.is_none() {
        tails::show(&points, finished, out)?;
    }
    transfers(plan, &points, rows, &labels, out)?;
    queues(plan, &points, rows, &labels, out)?;
    if let Some(more @ 1..) = plan.points.len().checked_sub(points.len()) {
        out.text(&format!("{more} more points are in the report"))?;
    }
    let ran: Vec<String> =
        transports.ran().map(|(scheme, ran)| format!("{scheme}: {ran}")).collect();
    out.paragraph(&format!("ran {}", ran.join("; ")))?;
    for mismatch in &transports.mismatches {
        out.text(&format!("note: {}", mismatch.text))?;
    }
    for shared in &finished.manifest.shared {
        out.paragraph(&shared.sentence())?;
    }
    let unfinished = finished.results.unfinished();
    if unfinished > 0 {
        out.text(&format!("{unfinished} flows were unfinished when their run ended"))?;
    }
    let findings = &finished.results.findings;
    for finding in findings.iter().take(MAX_REMARKS) {
        out.paragraph(&format!("- {}", finding.sentence()))?;
    }
    if let Some(more @ 1..) = findings.len().checked_sub(MAX_REMARKS) {
        out.text(&format!("and {more} more in summary.json"))?;
    }
    out.text(&format!(
        "digest {}\nreport {}",
        finished.results.digest,
        finished.dir.join("report.html").display()
    ))
}

/// Prints lines of each group and point, one column per scheme: completion times of queries,
/// transfer times of flows with a size, goodput of others. If some did not complete, the mean is
/// missing; percentiles that they cannot change and a lower bound of the mean replace it.
fn transfers(
    plan: &RunPlan,
    points: &[&SweepPoint],
    rows: &[SummaryRow],
    labels: &[&str],
    out: Output,
) -> Result<(), CommandError> {
    let mut groups: Vec<&str> = rows.iter().filter_map(|r| r.subject.group.as_deref()).collect();
    groups.dedup();
    groups.sort_unstable();
    groups.dedup();
    let mut cells = Vec::new();
    for group in groups {
        for point in points {
            let line = |metric: &str| {
                let of_scheme = |scheme: &String| {
                    rows.iter().find(|r| {
                        r.subject.is_group_metric(group, metric)
                            && r.subject.scheme == *scheme
                            && r.subject.point == **point
                    })
                };
                let found: Vec<Option<&SummaryRow>> = plan.schemes.iter().map(of_scheme).collect();
                found.iter().flatten().any(|r| r.mean.is_some()).then_some(found)
            };
            let mut lines = Vec::new();
            for times in ["qct_ms", "fct_ms"] {
                let mean = format!("{times}.mean");
                let whole = line(&mean);
                let censored =
                    whole.as_ref().is_none_or(|w| w.iter().flatten().any(|r| r.mean.is_none()));
                lines.extend(whole.map(|found| (mean, found)));
                let more = CENSORED.iter().filter(|_| censored);
                let more = more.map(|metric| format!("{times}.{metric}"));
                lines.extend(more.filter_map(|metric| line(&metric).map(|found| (metric, found))));
                if !lines.is_empty() {
                    break;
                }
            }
            if lines.is_empty() {
                lines.extend(line("goodput_mbps").map(|found| ("goodput_mbps".to_owned(), found)));
            }
            for (metric, found) in lines {
                let mut line = vec![group.to_string(), values(&point.0), name(&metric).to_string()];
                line.extend(found.into_iter().map(|r| r.map_or_else(|| "–".to_string(), value)));
                cells.push(line);
            }
        }
    }
    table(labels, &["flows", "point", "metric"], &cells, out)
}

/// Metrics printed in place of a mean that unfinished flows or queries leave undefined.
const CENSORED: [&str; 4] = ["p50", "p95", "p99", "mean_at_least"];

/// Prints the switch queue with the largest mean length, at each point.
fn queues(
    plan: &RunPlan,
    points: &[&SweepPoint],
    rows: &[SummaryRow],
    labels: &[&str],
    out: Output,
) -> Result<(), CommandError> {
    let mean = |r: &&SummaryRow| r.subject.metric == "mean_packets" && r.mean.is_some();
    let longest = rows
        .iter()
        .filter(|r| r.subject.queue.is_some() && r.subject.class.is_none())
        .filter(mean)
        .max_by(|a, b| a.mean.unwrap_or_default().total_cmp(&b.mean.unwrap_or_default()));
    let Some(queue) = longest.and_then(|r| r.subject.queue.as_deref()) else { return Ok(()) };
    let shown = [&["mean_packets", "p99_packets", "drops"], &DROP_KINDS[..]].concat();
    let at_queue = |row: &SummaryRow, metric: &str| row.subject.is_queue_metric(queue, metric);
    let cells = metric_lines(plan, points, rows, &shown, &at_queue);
    out.text(&format!("queue at {queue}"))?;
    table(labels, &["point", "metric"], &cells, out)?;
    let total = |of: &dyn Fn(&SummaryRow, &str) -> bool| {
        rows.iter().filter(|r| of(r, "drops")).filter_map(|r| r.mean).sum::<f64>()
    };
    let in_network = |row: &SummaryRow, metric: &str| row.subject.is_run_metric(metric);
    if total(&in_network) <= total(&at_queue) {
        return Ok(());
    }
    let shown = [&["drops"], &DROP_KINDS[..]].concat();
    out.text("the whole network")?;
    table(labels, &["point", "metric"], &metric_lines(plan, points, rows, &shown, &in_network), out)
}

/// Returns a line per point and metric, a column per scheme. A kind of drops of which a point has
/// none has no line.
fn metric_lines(
    plan: &RunPlan,
    points: &[&SweepPoint],
    rows: &[SummaryRow],
    metrics: &[&str],
    of: &dyn Fn(&SummaryRow, &str) -> bool,
) -> Vec<Vec<String>> {
    let mut cells = Vec::new();
    for point in points {
        for &metric in metrics {
            let find = |scheme: &String| {
                rows.iter().find(|r| {
                    of(r, metric) && r.subject.scheme == *scheme && r.subject.point == **point
                })
            };
            let found: Vec<Option<&SummaryRow>> = plan.schemes.iter().map(find).collect();
            let none = found.iter().flatten().all(|r| r.mean == Some(0.0));
            if DROP_KINDS.contains(&metric) && none {
                continue;
            }
            let mut line = vec![values(&point.0), name(metric).to_string()];
            line.extend(found.into_iter().map(|r| r.map_or_else(|| "–".to_string(), value)));
            cells.push(line);
        }
    }
    cells
}

fn table(
    labels: &[&str],
    lead: &[&str],
    cells: &[Vec<String>],
    out: Output,
) -> Result<(), CommandError> {
    if cells.is_empty() {
        return Ok(());
    }
    let header: Vec<&str> = lead.iter().chain(labels).copied().collect();
    let right: Vec<usize> = (lead.len()..header.len()).collect();
    out.narrow_table(&header, &right, cells)
}

fn name(metric: &str) -> &str {
    match metric {
        "qct_ms.mean" => "query completion, ms",
        "qct_ms.p50" => "query completion, median, ms",
        "qct_ms.p95" => "query completion, p95, ms",
        "qct_ms.p99" => "query completion, p99, ms",
        "qct_ms.mean_at_least" => "query completion, mean at least, ms",
        "fct_ms.mean" => "transfer time, ms",
        "fct_ms.p50" => "transfer time, median, ms",
        "fct_ms.p95" => "transfer time, p95, ms",
        "fct_ms.p99" => "transfer time, p99, ms",
        "fct_ms.mean_at_least" => "transfer time, mean at least, ms",
        "goodput_mbps" => "goodput, Mbit/s",
        "mean_packets" => "mean, packets",
        "p99_packets" => "p99, packets",
        "drops" => "drops",
        "overflow_drops" => "- by a full buffer",
        "aqm_drops" => "- by the AQM",
        "random_losses" => "- lost at random",
        "link_down_drops" => "- link down",
        "no_route_drops" => "- no route",
        other => other,
    }
}

/// Formats the mean with half of its confidence interval.
fn value(row: &SummaryRow) -> String {
    let Some(mean) = row.mean else { return "–".to_string() };
    let digits = if mean.abs() >= 100.0 { 1 } else { 2 };
    match row.ci95 {
        Some([low, high]) => format!("{mean:.digits$} ± {:.digits$}", (high - low) / 2.0),
        None => format!("{mean:.digits$}"),
    }
}
