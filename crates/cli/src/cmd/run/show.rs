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
        return out.json(&finished.json());
    }
    let rows = &finished.results.summary;
    let transports = finished.transports();
    let labels: Vec<&str> = plan.schemes.iter().map(|s| transports.label(s)).collect();
    let points = finished.shown_points();
    let headline = finished.headline();
    for sentence in headline.all() {
        out.paragraph(sentence)?;
    }
    out.paragraph(&finished.counted())?;
    tails::show(&points, (finished, &headline), out)?;
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

/// Prints lines of each group and point, one column per scheme: completion times of queries, step
/// times of collectives, transfer times of flows with a size, goodput of others. If some did not
/// complete, the mean is a lower bound.
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
                let bounded =
                    |r: &&SummaryRow| r.estimate.value.is_some() || r.estimate.between.is_some();
                found.iter().flatten().any(bounded).then_some(found)
            };
            let metrics = ["qct_ms.mean", "step_ms.mean", "fct_ms.mean", "goodput_mbps"];
            let first = metrics.into_iter().find_map(|m| line(m).map(|found| (m, found)));
            let lines = first.into_iter();
            for (metric, found) in lines {
                let mut line = vec![group.to_string(), values(&point.0), name(metric).to_string()];
                line.extend(
                    found
                        .into_iter()
                        .map(|r| r.map_or_else(|| "–".to_string(), |r| r.estimate.text())),
                );
                cells.push(line);
            }
        }
    }
    table(labels, &["flows", "point", "metric"], &cells, out)
}

/// Prints the switch queue with the largest mean length, at each point.
fn queues(
    plan: &RunPlan,
    points: &[&SweepPoint],
    rows: &[SummaryRow],
    labels: &[&str],
    out: Output,
) -> Result<(), CommandError> {
    let mean = |r: &&SummaryRow| r.subject.metric == "mean_packets" && r.estimate.value.is_some();
    let longest = rows
        .iter()
        .filter(|r| r.subject.queue.is_some() && r.subject.class.is_none())
        .filter(mean)
        .max_by(|a, b| {
            let [a, b] = [a, b].map(|row| row.estimate.value.unwrap_or_default());
            a.total_cmp(&b)
        });
    let Some(queue) = longest.and_then(|r| r.subject.queue.as_deref()) else { return Ok(()) };
    let shown = [&["mean_packets", "p99_packets", "drops"], &DROP_KINDS[..]].concat();
    let at_queue = |row: &SummaryRow, metric: &str| row.subject.is_queue_metric(queue, metric);
    let cells = metric_lines(plan, points, rows, &shown, &at_queue);
    out.text(&format!("queue at {queue}"))?;
    table(labels, &["point", "metric"], &cells, out)?;
    let total = |of: &dyn Fn(&SummaryRow, &str) -> bool| {
        rows.iter().filter(|r| of(r, "drops")).filter_map(|r| r.estimate.value).sum::<f64>()
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
            let none = found.iter().flatten().all(|r| r.estimate.value == Some(0.0));
            if DROP_KINDS.contains(&metric) && none {
                continue;
            }
            let mut line = vec![values(&point.0), name(metric).to_string()];
            line.extend(
                found.into_iter().map(|r| r.map_or_else(|| "–".to_string(), |r| r.estimate.text())),
            );
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
        "step_ms.mean" => "step time, ms",
        "fct_ms.mean" => "transfer time, ms",
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
