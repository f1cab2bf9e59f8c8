//! Tables of tails: percentiles by size class at every point.

use lowtide_rows::HostRange;

use super::{HtmlTable, dash, grid};
use crate::facts::RunFacts;
use crate::naming::title;
use crate::plots::{PlotInput, ReportSection, classed_sets};
use crate::tails::{FlowSet, PERCENTILES, TailMetric, TailRow, all_classes, flow_sets};

/// Returns a table per group and metric. Those of completion times are minor where the slowdown of
/// size classes says more.
pub(super) fn tables(source: PlotInput<'_>) -> Vec<HtmlTable> {
    let rows = &source.results.tails;
    let mut sets: Vec<(&str, TailMetric)> = Vec::new();
    for row in rows {
        if !sets.contains(&(&row.group, row.metric)) {
            sets.push((&row.group, row.metric));
        }
    }
    sets.sort_by_key(|(_, metric)| metric.is_of_flows());
    let mut out: Vec<HtmlTable> = sets
        .into_iter()
        .map(|(group, metric)| {
            let of: Vec<&TailRow> =
                rows.iter().filter(|r| r.group == group && r.metric == metric).collect();
            table(source, group, metric, &of)
        })
        .collect();
    out.extend(medians(source));
    out
}

/// Returns a table per group with size classes: its medians by size, at the point shown.
fn medians(source: PlotInput<'_>) -> Vec<HtmlTable> {
    let runs: Vec<&RunFacts> = source.at_point().collect();
    let classes = all_classes(&source.results.runs);
    let groups = classed_sets(&flow_sets(&runs, &classes));
    let point = source.point();
    let table = |sets: &Vec<FlowSet<'_>>| {
        let rows = sets.iter().map(|set| {
            let cells = source.manifest.schemes.iter().map(|scheme| {
                let of = |r: &&TailRow| r.scheme == *scheme && r.point == point && set.has(r);
                source.results.tails.iter().find(of).map_or_else(dash, |row| row.p50.text())
            });
            std::iter::once(set.class.unwrap_or_default().to_owned()).chain(cells).collect()
        });
        let title = format!("Median {} of group {}", sets[0].metric.title(), sets[0].group);
        grid(source, ReportSection::Fairness, &title, rows.collect())
    };
    groups.iter().map(table).collect()
}

fn table(source: PlotInput<'_>, group: &str, metric: TailMetric, rows: &[&TailRow]) -> HtmlTable {
    let classed = rows.iter().any(|r| r.class.is_some());
    let unit = match metric {
        TailMetric::Slowdown => String::new(),
        _ => format!(" ({})", metric.unit()),
    };
    let mut head: Vec<String> = point_keys(source);
    head.extend(["Flow size", "Scheme", "Flows", "Unfinished", "Failed"].map(str::to_owned));
    head.extend(PERCENTILES.map(|q| q.name().to_owned()));
    let cells = ordered(source, rows).into_iter().map(|row| {
        let mut cells: Vec<String> =
            row.point.0.iter().map(|(_, v)| HostRange::value_text(v)).collect();
        cells.extend([row.sizes(), row.scheme.clone(), row.flows.to_string(), cut_off(row)]);
        cells.push(row.failed.to_string());
        cells.extend(row.percentiles().map(|(_, found)| found.text()));
        cells
    });
    HtmlTable {
        question: ReportSection::ShortFlows,
        minor: classed == (metric == TailMetric::FctMs),
        title: format!("Tail of the {} of group {group}{unit}", metric.title()),
        head,
        rows: cells.collect(),
    }
}

/// Returns the titles of the swept keys.
fn point_keys(source: PlotInput<'_>) -> Vec<String> {
    source.point().keys().map(title).collect()
}

/// Returns rows by point, then by size, then by scheme.
fn ordered<'a>(source: PlotInput<'_>, rows: &[&'a TailRow]) -> Vec<&'a TailRow> {
    let mut sizes: Vec<&Option<String>> = Vec::new();
    for row in rows {
        if !sizes.contains(&&row.class) {
            sizes.push(&row.class);
        }
    }
    let place = |row: &&TailRow| {
        let point = source.manifest.points.iter().position(|p| *p == row.point);
        (point, sizes.iter().position(|s| **s == row.class), source.style(&row.scheme))
    };
    let mut rows = rows.to_vec();
    rows.sort_by_key(place);
    rows
}

/// Returns the number of unfinished flows with their reasons.
fn cut_off(row: &TailRow) -> String {
    let reasons: Vec<String> = row.blocked_on.iter().map(|(why, n)| format!("{n} {why}")).collect();
    if reasons.is_empty() {
        row.unfinished.to_string()
    } else {
        format!("{} ({})", row.unfinished, reasons.join(", "))
    }
}
