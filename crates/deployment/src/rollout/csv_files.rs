//! The rows of a rollout as CSV.

use lowtide_lab::{ShownComparison, ShownEstimate};
use lowtide_output::csv;
use lowtide_stats::Verdict;

use super::goodput::GoodputRow;
use super::longest_queue::LongestQueueRow;
use super::outcome::{NAMES, Outcome, Percentiles};
use super::queries::QueryClassRow;
use super::rows::RolloutRow;
use crate::estimate::{ESTIMATE_COLUMNS, RATIO_COLUMNS, csv_cells, ratio_cells};

/// Returns `deployment.csv`, with a line for each percentile.
pub(super) fn flows(rows: &[RolloutRow]) -> String {
    let lines = |row: &RolloutRow| {
        let names = [row.pair.to_owned(), row.sizes.clone()];
        percentile_lines(row.share_percent, row.moved_hosts, names, &row.outcome)
    };
    percentiles(["pair", "sizes"], "slowdown", rows.iter().flat_map(lines))
}

/// Returns `deployment-queries.csv`, with a line for each percentile.
pub(super) fn queries(rows: &[QueryClassRow]) -> String {
    let lines = |row: &QueryClassRow| {
        let names = [row.group.clone(), row.client.to_owned()];
        percentile_lines(row.share_percent, row.moved_hosts, names, &row.outcome)
    };
    percentiles(["group", "client"], "qct_ms", rows.iter().flat_map(lines))
}

/// Writes lines of percentiles of `measure`.
fn percentiles(
    [a, b]: [&str; 2],
    measure: &str,
    lines: impl Iterator<Item = Vec<String>>,
) -> String {
    let names = ["share_percent", "moved_hosts", a, b, "count", "unfinished", "failed"];
    let head = names.into_iter().chain(["percentile"]).map(str::to_owned);
    table(head.chain(comparison_head(measure)), lines)
}

/// Returns the lines of the four percentiles; that of the verdict has it.
fn percentile_lines(
    share_percent: f64,
    moved_hosts: u32,
    [a, b]: [String; 2],
    outcome: &Outcome,
) -> Vec<Vec<String>> {
    let compared = outcome.comparison.as_ref().map(Percentiles::all);
    let judged = outcome.judged().map(|(name, _)| name);
    let line = |(i, (name, value)): (usize, (&str, &ShownEstimate))| {
        let verdict = outcome.verdict.filter(|_| judged == Some(name));
        let counts = [outcome.count, outcome.unfinished, outcome.failed].map(|n| n.to_string());
        let first = [share_percent.to_string(), moved_hosts.to_string(), a.clone(), b.clone()];
        let cells = first.into_iter().chain(counts).chain([name.to_owned()]);
        cells.chain(comparison_cells(value, compared.map(|all| all[i]), verdict)).collect()
    };
    let all = NAMES.into_iter().zip(outcome.percentiles.all());
    all.enumerate().map(line).collect()
}

/// Writes a table.
fn table(head: impl Iterator<Item = String>, rows: impl Iterator<Item = Vec<String>>) -> String {
    let head: Vec<String> = head.collect();
    let all = std::iter::once(head).chain(rows);
    all.map(|row| csv::line(row.iter().map(String::as_str))).collect()
}

fn estimate_head(name: &str) -> impl Iterator<Item = String> {
    ESTIMATE_COLUMNS.into_iter().map(move |part| format!("{name}{part}"))
}

/// Returns the columns of a value, of that before the move, of their ratio and the verdict.
fn comparison_head(measure: &str) -> impl Iterator<Item = String> {
    let more = RATIO_COLUMNS.into_iter().chain(["verdict"]).map(str::to_owned);
    estimate_head(measure).chain(estimate_head("before")).chain(more)
}

fn comparison_cells(
    value: &ShownEstimate,
    of: Option<&ShownComparison>,
    verdict: Option<Verdict>,
) -> impl Iterator<Item = String> {
    let verdict = verdict.map_or_else(String::new, |verdict| verdict.name().to_owned());
    let values = csv_cells(Some(value)).into_iter().chain(csv_cells(of.map(|of| &of.a)));
    values.chain(ratio_cells(of)).chain([verdict])
}

/// Returns `deployment-goodput.csv`.
pub(super) fn goodput(rows: &[GoodputRow]) -> String {
    let row = |row: &GoodputRow| {
        let names = [
            row.share_percent.to_string(),
            row.moved_hosts.to_string(),
            row.pair.to_owned(),
            row.of.name().to_owned(),
            row.seeds.to_string(),
        ];
        let values = comparison_cells(&row.goodput_mbps, row.comparison.as_ref(), row.verdict);
        names.into_iter().chain(values).collect()
    };
    let names = ["share_percent", "moved_hosts", "pair", "of", "seeds"].map(str::to_owned);
    table(names.into_iter().chain(comparison_head("goodput_mbps")), rows.iter().map(row))
}

/// Returns `deployment-queues.csv`.
pub(super) fn longest_queues(rows: &[LongestQueueRow]) -> String {
    let row = |row: &LongestQueueRow| {
        let (queue, seeds) = row.most_frequent();
        let names = [
            row.share_percent.to_string(),
            row.moved_hosts.to_string(),
            queue.to_owned(),
            seeds.to_string(),
        ];
        let lengths = [&row.mean_packets, &row.p99_packets].into_iter();
        names.into_iter().chain(lengths.flat_map(|of| csv_cells(Some(of)))).collect()
    };
    let names = ["share_percent", "moved_hosts", "queue", "seeds"].map(str::to_owned);
    let lengths = ["mean_packets", "p99_packets"].into_iter().flat_map(estimate_head);
    table(names.into_iter().chain(lengths), rows.iter().map(row))
}
