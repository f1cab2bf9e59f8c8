//! The tables of a rollout, for terminal and page; they fit 80 columns.

use std::collections::BTreeSet;

use lowtide_lab::{ShownComparison, ShownEstimate};
use lowtide_scenario::{HostDraw, MovedSides};
use lowtide_stats::LEAST_SEEDS;

use super::delivered::GoodputOf;
use super::goodput::GoodputRow;
use super::longest_queue::LongestQueueRow;
use super::outcome::Outcome;
use super::result::RolloutResult;
use super::rows::{ALL_SIZES, RolloutRow};
use super::who_pays::percent;
use crate::estimate::value;
use crate::text_table::TextTable;

/// Describes the experiment in one line.
pub fn describe(result: &RolloutResult) -> String {
    let moves = match result.moves {
        MovedSides::Both => "both sides move",
        MovedSides::Senders => "only the sender side moves",
        MovedSides::Receivers => "only the receiver side moves",
    };
    let draw = match result.draw {
        HostDraw::Random => "drawn one by one",
        HostDraw::Rack => "drawn by rack",
    };
    let seeds = if result.seeds == 1 { "seed" } else { "seeds" };
    format!("{} hosts, {draw} by the seed; {moves}; {} {seeds}", result.hosts, result.seeds)
}

/// Returns the head of a column with an interval, or the range of fewer than five seeds.
fn spread(name: &str, result: &RolloutResult) -> String {
    let of = if result.seeds < LEAST_SEEDS { "seeds" } else { "95 %" };
    format!("{name} ({of})")
}

fn texts(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Columns of the percentiles of flows, after the share.
const FLOW_COLUMNS: [&str; 7] = ["pair", "flows", "incomplete", "p50", "p95", "p99", "p99.9"];

/// Columns of the percentiles of queries.
const QUERY_COLUMNS: [&str; 6] = ["client", "queries", "incomplete", "p50", "p95", "p99"];

/// A row: its share, name and values.
type NamedOutcome<'a> = (f64, &'a str, &'a Outcome);

/// Returns a table of comparisons by share and `name`.
fn comparisons<'a>(
    title: String,
    [name, ratio]: [&str; 2],
    rows: impl Iterator<Item = NamedOutcome<'a>>,
) -> TextTable {
    let row = |(share, name, outcome): NamedOutcome<'_>| {
        let (percentile, of) = outcome.judged()?;
        let verdict = outcome.verdict?.name();
        let cells = [percentile, &value(&of.b), &value(&of.a), &of.ratio_text(), verdict];
        Some([&percent(share), name].into_iter().chain(cells).map(str::to_owned).collect())
    };
    let head = texts(&["moved", name, "of", "after", "before", ratio, "verdict"]);
    TextTable { title, head, names: 2, rows: rows.filter_map(row).collect() }
}

/// Returns a table of percentiles by share, whose other columns have the names of `head`.
fn percentiles<'a>(
    title: String,
    head: &[&str],
    rows: impl Iterator<Item = NamedOutcome<'a>>,
) -> TextTable {
    let row = |(share, name, of): NamedOutcome<'_>| {
        let counts = [of.count, of.unfinished + of.failed].map(|n| n.to_string());
        let names = [percent(share), name.to_owned()].into_iter();
        let all = names.chain(counts).chain(of.percentiles.all().map(value));
        all.take(1 + head.len()).collect()
    };
    let rows = rows.map(row).collect();
    TextTable { title, head: texts(&[&["moved"], head].concat()), names: 2, rows }
}

fn of_pairs(result: &RolloutResult) -> impl Iterator<Item = NamedOutcome<'_>> {
    all_sizes(result).map(|r| (r.share_percent, r.pair, &r.outcome))
}

fn of_clients<'a>(
    result: &'a RolloutResult,
    group: &'a str,
) -> impl Iterator<Item = NamedOutcome<'a>> {
    let rows = result.queries.iter().filter(move |r| r.group == group);
    rows.map(|r| (r.share_percent, r.client, &r.outcome))
}

fn all_sizes(result: &RolloutResult) -> impl Iterator<Item = &RolloutRow> {
    result.rows.iter().filter(|r| r.sizes == ALL_SIZES)
}

/// The tables by content.
pub(super) struct Tables {
    pub(super) effects: TextTable,
    pub(super) percentiles: TextTable,
    pub(super) by_size: TextTable,
    /// Empty without queries.
    pub(super) queries: Vec<TextTable>,
    /// Empty without such flows.
    pub(super) goodput: Vec<TextTable>,
    pub(super) longest_queues: TextTable,
    pub(super) connections: TextTable,
}

impl Tables {
    pub(super) fn of(result: &RolloutResult) -> Self {
        let groups: BTreeSet<&str> = result.queries.iter().map(|r| r.group.as_str()).collect();
        let (seeds, ratio) = (result.seeds, spread("ratio", result));
        let of_group = |group| {
            let title = format!("{group}: query completion time, ms, and that before the move");
            let all = format!("{group}: query completion time of {seeds} seeds, ms");
            [
                comparisons(title, ["client", &ratio], of_clients(result, group)),
                percentiles(all, &QUERY_COLUMNS, of_clients(result, group)),
            ]
        };
        let title = "Slowdown, and that of the same flows before the move".to_owned();
        let all = format!("Slowdown of all flows of {seeds} seeds");
        Self {
            effects: comparisons(title, ["pair", &ratio], of_pairs(result)),
            percentiles: percentiles(all, &FLOW_COLUMNS, of_pairs(result)),
            by_size: by_size(result),
            queries: groups.into_iter().flat_map(of_group).collect(),
            goodput: GoodputOf::ALL.into_iter().map(|of| goodput(result, of)).collect(),
            longest_queues: longest_queues(result),
            connections: connections(result),
        }
    }
}

/// Returns all tables that have values.
pub fn tables(result: &RolloutResult) -> Vec<TextTable> {
    let Tables { effects, percentiles, by_size, queries, goodput, longest_queues, connections } =
        Tables::of(result);
    let mut out = vec![effects, percentiles, by_size];
    out.extend(queries.into_iter().chain(goodput).chain([longest_queues, connections]));
    out.retain(|table| !table.rows.is_empty() && table.head.len() > table.names);
    out
}

fn by_size(result: &RolloutResult) -> TextTable {
    let sizes: Vec<&str> =
        result.sizes.iter().map(String::as_str).filter(|name| *name != ALL_SIZES).collect();
    // `10 kB-100 kB` has the head `to 100 kB`, so that the table fits.
    let head = |name: &str| match name.split_once('-') {
        Some((from, "")) => format!("> {from}"),
        Some((_, to)) => format!("to {to}"),
        None => name.to_owned(),
    };
    let row = |r: &RolloutRow| {
        let of_size = |sizes: &str| {
            let found = result
                .rows
                .iter()
                .find(|o| o.sizes == sizes && o.pair == r.pair && o.moved_hosts == r.moved_hosts);
            found.map_or_else(|| "no flows".to_owned(), |o| value(&o.outcome.percentiles.p99))
        };
        let names = [percent(r.share_percent), r.pair.to_owned()];
        names.into_iter().chain(sizes.iter().map(|s| of_size(s))).collect()
    };
    TextTable {
        title: "99th percentile of the slowdown by flow size".to_owned(),
        head: texts(&["moved", "pair"]).into_iter().chain(sizes.iter().map(|s| head(s))).collect(),
        names: 2,
        rows: all_sizes(result).map(row).collect(),
    }
}

fn goodput(result: &RolloutResult, of: GoodputOf) -> TextTable {
    let mut head = texts(&["moved", "pair", "goodput", "before", &spread("ratio", result)]);
    // All flows of a pair together have no verdict.
    head.extend((of == GoodputOf::UnlimitedFlow).then(|| "verdict".to_owned()));
    let row = |r: &GoodputRow| {
        let compared = r.comparison.as_ref();
        let cells = [
            percent(r.share_percent),
            r.pair.to_owned(),
            value(&r.goodput_mbps),
            compared.map_or_else(String::new, |of| value(&of.a)),
            compared.map_or_else(String::new, ShownComparison::ratio_text),
            r.verdict.map_or_else(String::new, |of| of.name().to_owned()),
        ];
        cells.into_iter().take(head.len()).collect()
    };
    let title = match of {
        GoodputOf::Pair => "Goodput of all flows of a pair, Mbit/s, and before",
        GoodputOf::UnlimitedFlow => "Goodput of one unlimited flow, Mbit/s, and before",
    };
    TextTable {
        title: title.to_owned(),
        names: 2,
        rows: result.goodput.iter().filter(|r| r.of == of).map(row).collect(),
        head,
    }
}

fn longest_queues(result: &RolloutResult) -> TextTable {
    let row = |r: &LongestQueueRow| {
        let (name, seeds) = r.most_frequent();
        let all: usize = r.queues.values().sum();
        let queue =
            if seeds == all { name.to_owned() } else { format!("{name} ({seeds} of {all})") };
        let lengths = [&r.mean_packets, &r.p99_packets].map(ShownEstimate::text);
        [percent(r.share_percent), queue].into_iter().chain(lengths).collect()
    };
    TextTable {
        title: "Longest queue at a switch, packets".to_owned(),
        head: texts(&["moved", "queue (seeds)", &spread("mean", result), &spread("p99", result)]),
        names: 2,
        rows: result.longest_queues.iter().map(row).collect(),
    }
}

fn connections(result: &RolloutResult) -> TextTable {
    let rows = result.connections.iter().map(|c| {
        let ran = format!("{}, ECN {}", c.transport.cc_used, c.transport.ecn_mode);
        let fallback =
            if c.fell_back { format!("instead of {}", c.transport.cc) } else { String::new() };
        vec![
            percent(c.share_percent),
            c.pair.to_owned(),
            ran,
            fallback,
            format!("{} of {}", c.connections, c.of),
        ]
    });
    TextTable {
        title: "Connections by what they ran, answers of queries included".to_owned(),
        head: texts(&["moved", "pair", "ran", "fallback", "connections"]),
        names: 4,
        rows: rows.collect(),
    }
}
