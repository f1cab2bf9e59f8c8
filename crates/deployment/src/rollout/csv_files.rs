//! The rows of a rollout as CSV.

use lowtide_output::csv;

use super::effect::Effect;
use super::goodput::GoodputRow;
use super::longest_queue::LongestQueueRow;
use super::queries::QueryClassRow;
use super::rollout_row::RolloutRow;
use super::statistics::Percentiles;
use crate::estimate::{Estimate, csv_cells};

/// Reads one percentile.
type ReadPercentile = fn(&Percentiles) -> Option<Estimate>;

/// Names and readers of the percentiles.
const PERCENTILES: [(&str, ReadPercentile); 4] =
    [("p50", |p| p.p50), ("p95", |p| p.p95), ("p99", |p| p.p99), ("p999", |p| p.p999)];

/// Cells of a row, its percentiles, and its effect.
struct CsvRow {
    cells: Vec<String>,
    percentiles: [Option<Percentiles>; 3],
    effect: Option<Effect>,
}

/// Returns `deployment.csv`.
pub(super) fn flows(rows: &[RolloutRow]) -> String {
    let head = ["share_percent", "moved_hosts", "pair", "sizes", "flows", "unfinished", "failed"];
    let row = |row: &RolloutRow| CsvRow {
        cells: vec![
            row.share_percent.to_string(),
            row.moved_hosts.to_string(),
            row.pair.to_owned(),
            row.sizes.clone(),
            row.flows.to_string(),
            row.unfinished.to_string(),
            row.failed.to_string(),
        ],
        percentiles: [Some(row.slowdown), row.before, row.ratio],
        effect: row.effect,
    };
    text(&head, "slowdown", rows.iter().map(row))
}

/// Returns `deployment-queries.csv`.
pub(super) fn queries(rows: &[QueryClassRow]) -> String {
    let head =
        ["share_percent", "moved_hosts", "group", "client", "queries", "unfinished", "failed"];
    let row = |row: &QueryClassRow| CsvRow {
        cells: vec![
            row.share_percent.to_string(),
            row.moved_hosts.to_string(),
            row.group.clone(),
            row.client.to_owned(),
            row.queries.to_string(),
            row.unfinished.to_string(),
            row.failed.to_string(),
        ],
        percentiles: [Some(row.qct_ms), row.before, row.ratio],
        effect: row.effect,
    };
    text(&head, "qct_ms", rows.iter().map(row))
}

/// Returns the heads of an estimate's three columns.
fn estimate_columns(name: &str) -> [String; 3] {
    [name.to_owned(), format!("{name}_ci95_low"), format!("{name}_ci95_high")]
}

/// Writes rows of `names`, then of estimates.
fn estimates<const N: usize>(
    names: &[&str],
    measures: [&str; N],
    rows: impl Iterator<Item = (Vec<String>, [Option<Estimate>; N])>,
) -> String {
    let mut columns: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    columns.extend(measures.into_iter().flat_map(estimate_columns));
    let mut text = csv::line(columns.iter().map(String::as_str));
    for (mut cells, values) in rows {
        cells.extend(values.into_iter().flat_map(csv_cells));
        text.push_str(&csv::line(cells.iter().map(String::as_str)));
    }
    text
}

/// Returns `deployment-goodput.csv`.
pub(super) fn goodput(rows: &[GoodputRow]) -> String {
    let row = |row: &GoodputRow| {
        let cells = vec![
            row.share_percent.to_string(),
            row.moved_hosts.to_string(),
            row.pair.to_owned(),
            row.of.name().to_owned(),
            row.seeds.to_string(),
        ];
        (cells, [Some(row.goodput_mbps), row.before_mbps])
    };
    let names = ["share_percent", "moved_hosts", "pair", "of", "seeds"];
    estimates(&names, ["goodput_mbps", "before_mbps"], rows.iter().map(row))
}

/// Returns `deployment-queues.csv`.
pub(super) fn longest_queues(rows: &[LongestQueueRow]) -> String {
    let row = |row: &LongestQueueRow| {
        let (queue, seeds) = row.most_frequent();
        let cells = vec![
            row.share_percent.to_string(),
            row.moved_hosts.to_string(),
            queue.to_owned(),
            seeds.to_string(),
        ];
        (cells, [row.mean_packets, row.p99_packets])
    };
    let names = ["share_percent", "moved_hosts", "queue", "seeds"];
    estimates(&names, ["mean_packets", "p99_packets"], rows.iter().map(row))
}

/// Writes rows whose percentiles are those of `measure`, of the time before, and of their ratio.
fn text(head: &[&str], measure: &str, rows: impl Iterator<Item = CsvRow>) -> String {
    let mut columns: Vec<String> = head.iter().map(|name| (*name).to_owned()).collect();
    for of in [measure, "before", "ratio"] {
        for (name, _) in PERCENTILES {
            columns.extend(estimate_columns(&format!("{of}_{name}")));
        }
    }
    columns.push("effect".to_owned());
    let mut text = csv::line(columns.iter().map(String::as_str));
    for CsvRow { mut cells, percentiles, effect } in rows {
        for of in percentiles {
            for (_, read) in PERCENTILES {
                cells.extend(csv_cells(of.as_ref().and_then(read)));
            }
        }
        cells.push(effect.map_or("", Effect::name).replace(' ', "-"));
        text.push_str(&csv::line(cells.iter().map(String::as_str)));
    }
    text
}
