//! Tables about switches: the queue with the longest mean, the longest queues side by side, their
//! classes, buffer pools, and the drops of the whole network.
//!
//! Contract: of many queues only some are shown; the title states their number and where all are
//! listed.

use std::collections::BTreeMap;

use lowtide_charts::number;

use super::{HtmlTable, at_point, dash, grid};
use crate::plots::{PlotInput, ReportSection, longest_queue};
use crate::queues::QueueFacts;
use crate::summary::SummaryRow;

/// Limit on the rows of queues and of buffer pools.
const MAX_ROWS: usize = 12;

pub(super) fn grids(source: PlotInput<'_>) -> Vec<HtmlTable> {
    let mut out = Vec::new();
    if let Some(queue) = longest_queue(source) {
        out.push(longest(source, queue));
        out.extend(classes(source, queue));
    }
    out.extend(longest_queues(source));
    out.extend(buffer_pools(source));
    out.extend(network_drops(source));
    // The first one answers the question; the others are collapsed.
    out.iter_mut().skip(1).for_each(|table| table.minor = true);
    out
}

/// Returns a table of the queue with the longest mean.
fn longest(source: PlotInput<'_>, queue: &str) -> HtmlTable {
    const METRICS: [(&str, &str); 11] = [
        ("mean_packets", "mean"),
        ("p50_packets", "median"),
        ("p99_packets", "99 %"),
        ("p999_packets", "99.9 %"),
        ("max_packets", "longest"),
        ("marks", "marked packets"),
        ("drops", "dropped packets"),
        ("overflow_drops", "of these, by a full buffer"),
        ("aqm_drops", "of these, by the AQM"),
        ("random_losses", "of these, lost at random"),
        ("link_down_drops", "of these, lost with the link"),
    ];
    // Counts that are zero for all queues are not in the summary.
    let some = |metric: &str| {
        let of = |r: &&SummaryRow| r.subject.is_queue_metric(queue, metric);
        source.results.summary.iter().any(|r| of(&r))
    };
    let rows = METRICS.iter().filter(|(metric, _)| some(metric)).map(|(metric, name)| {
        let of = |r: &SummaryRow| r.subject.is_queue_metric(queue, metric);
        at_point(source, (*name).to_owned(), &of)
    });
    grid(
        source,
        ReportSection::Queue,
        &format!("Queue at {queue}, packets over time"),
        rows.collect(),
    )
}

/// Returns a table of the queue's classes, if it has any.
fn classes(source: PlotInput<'_>, queue: &str) -> Option<HtmlTable> {
    const METRICS: [(&str, &str); 7] = [
        ("packets", "packets"),
        ("mean_packets", "mean queue"),
        ("p99_packets", "99 %"),
        ("marks", "marked"),
        ("drops", "dropped"),
        ("overflow_drops", "dropped by a full buffer"),
        ("aqm_drops", "dropped by the AQM"),
    ];
    let first = source.at_point().next()?.queue(queue)?;
    // Kinds of drops that no class has are not in the summary.
    let some = |metric: &str| {
        let of = |r: &SummaryRow| r.subject.class.is_some() && r.subject.metric == metric;
        source.results.summary.iter().any(|r| r.subject.queue.is_some() && of(r))
    };
    let metrics: Vec<_> = METRICS.iter().filter(|(metric, _)| some(metric)).collect();
    let rows: Vec<Vec<String>> = first
        .classes
        .iter()
        .flat_map(|class| metrics.iter().map(move |metric| (&class.name, *metric)))
        .map(|(class, (metric, name))| {
            let of = |r: &SummaryRow| {
                r.subject.queue.as_deref() == Some(queue)
                    && r.subject.class.as_ref() == Some(class)
                    && r.subject.metric == *metric
            };
            at_point(source, format!("{class}, {name}"), &of)
        })
        .collect();
    let title = format!("Classes of the queue at {queue}, packets");
    (!rows.is_empty()).then(|| grid(source, ReportSection::Queue, &title, rows))
}

/// Returns a table of the queues with the longest means over seeds and schemes, if there are
/// several.
fn longest_queues(source: PlotInput<'_>) -> Option<HtmlTable> {
    let mut found: BTreeMap<&str, (f64, Vec<&QueueFacts>)> = BTreeMap::new();
    for queue in source.at_point().flat_map(|run| &run.queues) {
        let entry = found.entry(&queue.name).or_default();
        entry.0 += queue.mean_packets.unwrap_or_default();
        entry.1.push(queue);
    }
    let all = found.len();
    let mut found: Vec<(&str, (f64, Vec<&QueueFacts>))> = found.into_iter().collect();
    found.sort_by(|a, b| b.1.0.total_cmp(&a.1.0).then(a.0.cmp(b.0)));
    found.truncate(MAX_ROWS);
    if found.len() < 2 {
        return None;
    }
    let rows = found.iter().map(|(name, _)| {
        let cells = source.manifest.schemes.iter().map(|scheme| {
            let runs = source.at_point().filter(|r| r.key.scheme == *scheme);
            let queues: Vec<&QueueFacts> = runs.filter_map(|r| r.queue(name)).collect();
            cell(&queues)
        });
        std::iter::once((*name).to_owned()).chain(cells).collect()
    });
    let what = "mean packets; longest; share of the time that the line is busy; marked and dropped packets";
    let title = if all > found.len() {
        format!(
            "The {} longest of {all} queues at switches ({what}); {} are left out, \
             the table queues has all",
            found.len(),
            all - found.len()
        )
    } else {
        format!("Queues at switches ({what})")
    };
    Some(grid(source, ReportSection::Queue, &title, rows.collect()))
}

/// Formats the metrics of one queue, as means over the seeds.
fn cell(queues: &[&QueueFacts]) -> String {
    let mean = |read: fn(&QueueFacts) -> Option<f64>| {
        let values: Option<Vec<f64>> = queues.iter().map(|q| read(q)).collect();
        values.filter(|v| !v.is_empty()).map(|v| v.iter().sum::<f64>() / v.len() as f64)
    };
    let Some(length) = mean(|q| q.mean_packets) else { return dash() };
    let shown = |value: Option<f64>| value.map_or_else(dash, number);
    format!(
        "{}; {}; {} %; {} / {}",
        shown(Some((length * 1000.0).round() / 1000.0)),
        shown(mean(|q| q.max_packets.map(f64::from))),
        shown(mean(|q| q.utilisation).map(|u| (u * 1000.0).round() / 10.0)),
        shown(mean(|q| Some(q.marks as f64))),
        shown(mean(|q| Some(q.drops as f64))),
    )
}

/// Returns a table of the peak use of shared buffer pools, the fullest first.
fn buffer_pools(source: PlotInput<'_>) -> Option<HtmlTable> {
    let mut peaks: BTreeMap<&str, u64> = BTreeMap::new();
    for pool in source.at_point().flat_map(|run| &run.buffer_pools) {
        let peak = peaks.entry(&pool.name).or_default();
        *peak = pool.peak_bytes.max(*peak);
    }
    let all = peaks.len();
    let mut peaks: Vec<(&str, u64)> = peaks.into_iter().collect();
    peaks.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    peaks.truncate(MAX_ROWS);
    let first = source.at_point().next()?;
    let row = |(name, _): &(&str, u64)| {
        let of = |r: &SummaryRow| {
            r.subject.buffer_pool.as_deref() == Some(name) && r.subject.metric == "peak_bytes"
        };
        let size = first.buffer_pool(name).map_or(0, |m| m.size_bytes);
        at_point(source, format!("{name}, of {size} B"), &of)
    };
    let rows: Vec<Vec<String>> = peaks.iter().map(row).collect();
    let title = if all > rows.len() {
        format!(
            "The {} fullest of {all} buffer pools that queues share, most bytes held; the table buffer_pools has all",
            rows.len()
        )
    } else {
        "Buffer pools that queues share, most bytes held".to_owned()
    };
    (!rows.is_empty()).then(|| grid(source, ReportSection::Queue, &title, rows))
}

/// Returns a table of the packets lost in the whole network, if there are any.
fn network_drops(source: PlotInput<'_>) -> Option<HtmlTable> {
    const METRICS: [(&str, &str); 6] = [
        ("drops", "all"),
        ("overflow_drops", "by full buffers"),
        ("aqm_drops", "by AQMs"),
        ("random_losses", "lost at random"),
        ("link_down_drops", "lost with their link"),
        ("no_route_drops", "without a route"),
    ];
    let of = |r: &SummaryRow, metric: &str| r.subject.is_run_metric(metric);
    // Kinds that no run has are not in the summary.
    let some = |metric: &str| source.results.summary.iter().any(|r| of(r, metric));
    let rows = METRICS.iter().filter(|(metric, _)| some(metric)).map(|(metric, name)| {
        at_point(source, (*name).to_owned(), &|r: &SummaryRow| of(r, metric))
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let title = "Packets dropped in the whole network, hosts included";
    (!rows.is_empty()).then(|| grid(source, ReportSection::Queue, title, rows))
}
