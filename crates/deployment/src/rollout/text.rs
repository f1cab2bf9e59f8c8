//! The tables of a rollout, for terminal and page; they fit 80 columns.

use std::collections::BTreeSet;

use lowtide_scenario::{HostDraw, MovedSides};

use super::delivered::GoodputOf;
use super::goodput::GoodputRow;
use super::longest_queue::LongestQueueRow;
use super::queries::QueryClassRow;
use super::result::RolloutResult;
use super::rollout_row::{ALL_SIZES, RolloutRow};
use super::who_pays::percent;
use crate::estimate::{Estimate, P99_FLOWS, number, reason, with_interval as shown};
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

fn texts(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A value, or the reason of its absence.
fn value(estimate: Option<Estimate>, flows: usize, needed: usize) -> String {
    estimate.map_or_else(|| reason(flows, needed), |e| number(e.value))
}

/// A value with its interval.
fn with_interval(estimate: Option<Estimate>, flows: usize, needed: usize) -> String {
    estimate.map_or_else(|| reason(flows, needed), shown)
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
        let of_group = |group| [query_effects(result, group), query_percentiles(result, group)];
        Self {
            effects: effects(result),
            percentiles: percentiles(result),
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

fn of_group<'a>(
    result: &'a RolloutResult,
    group: &'a str,
) -> impl Iterator<Item = &'a QueryClassRow> {
    result.queries.iter().filter(move |r| r.group == group)
}

fn query_effects(result: &RolloutResult, group: &str) -> TextTable {
    let row = |r: &QueryClassRow| {
        vec![
            percent(r.share_percent),
            r.client.to_owned(),
            with_interval(r.qct_ms.p99, r.queries, P99_FLOWS),
            r.before.map_or_else(String::new, |b| value(b.p99, r.queries, P99_FLOWS)),
            r.ratio.map_or_else(String::new, |q| with_interval(q.p99, r.queries, P99_FLOWS)),
            r.effect.map_or_else(String::new, |e| e.name().to_owned()),
        ]
    };
    TextTable {
        title: format!("{group}: 99th percentile of the query completion time, ms, and before"),
        head: texts(&["moved", "client", "p99 [95 %]", "before", "ratio [95 %]", "effect"]),
        names: 2,
        rows: of_group(result, group).map(row).collect(),
    }
}

fn query_percentiles(result: &RolloutResult, group: &str) -> TextTable {
    let row = |r: &QueryClassRow| {
        let of = |e, needed| value(e, r.queries, needed);
        vec![
            percent(r.share_percent),
            r.client.to_owned(),
            r.queries.to_string(),
            (r.unfinished + r.failed).to_string(),
            of(r.qct_ms.p50, 2),
            of(r.qct_ms.p95, 20),
            of(r.qct_ms.p99, P99_FLOWS),
        ]
    };
    TextTable {
        title: format!("{group}: query completion time of {} seeds, ms", result.seeds),
        head: texts(&["moved", "client", "queries", "incomplete", "p50", "p95", "p99"]),
        names: 2,
        rows: of_group(result, group).map(row).collect(),
    }
}

fn effects(result: &RolloutResult) -> TextTable {
    let row = |r: &RolloutRow| {
        vec![
            percent(r.share_percent),
            r.pair.to_owned(),
            with_interval(r.slowdown.p99, r.flows, P99_FLOWS),
            r.before.map_or_else(String::new, |b| value(b.p99, r.flows, P99_FLOWS)),
            r.ratio.map_or_else(String::new, |q| with_interval(q.p99, r.flows, P99_FLOWS)),
            r.effect.map_or_else(String::new, |e| e.name().to_owned()),
        ]
    };
    TextTable {
        title: "99th percentile of the slowdown, and over that of the same flows before the move"
            .to_owned(),
        head: texts(&["moved", "pair", "p99 [95 %]", "before", "ratio [95 %]", "effect"]),
        names: 2,
        rows: all_sizes(result).map(row).collect(),
    }
}

fn percentiles(result: &RolloutResult) -> TextTable {
    let row = |r: &RolloutRow| {
        let of = |e, needed| value(e, r.flows, needed);
        vec![
            percent(r.share_percent),
            r.pair.to_owned(),
            r.flows.to_string(),
            (r.unfinished + r.failed).to_string(),
            of(r.slowdown.p50, 2),
            of(r.slowdown.p95, 20),
            of(r.slowdown.p99, P99_FLOWS),
            of(r.slowdown.p999, 1000),
        ]
    };
    TextTable {
        title: format!("Slowdown of all flows of {} seeds", result.seeds),
        head: texts(&["moved", "pair", "flows", "incomplete", "p50", "p95", "p99", "p99.9"]),
        names: 2,
        rows: all_sizes(result).map(row).collect(),
    }
}

fn by_size(result: &RolloutResult) -> TextTable {
    let mut sizes: Vec<&str> = Vec::new();
    for row in result.rows.iter().filter(|r| r.sizes != ALL_SIZES) {
        if !sizes.contains(&row.sizes.as_str()) {
            sizes.push(&row.sizes);
        }
    }
    sizes.sort_by_key(|name| {
        result.pairs.iter().position(|p| p.sizes == **name).unwrap_or(usize::MAX)
    });
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
            found.map_or_else(
                || "no flows".to_owned(),
                |o| value(o.slowdown.p99, o.flows, P99_FLOWS),
            )
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
    let row = |r: &GoodputRow| {
        vec![
            percent(r.share_percent),
            r.pair.to_owned(),
            shown(r.goodput_mbps),
            r.before_mbps.map_or_else(String::new, shown),
        ]
    };
    let title = match of {
        GoodputOf::Pair => "Goodput of all flows of a pair, Mbit/s, and before",
        GoodputOf::UnlimitedFlow => "Goodput of one unlimited flow, Mbit/s, and before",
    };
    TextTable {
        title: title.to_owned(),
        head: texts(&["moved", "pair", "goodput [95 %]", "before [95 %]"]),
        names: 2,
        rows: result.goodput.iter().filter(|r| r.of == of).map(row).collect(),
    }
}

fn longest_queues(result: &RolloutResult) -> TextTable {
    let row = |r: &LongestQueueRow| {
        let (name, seeds) = r.most_frequent();
        let all: usize = r.queues.values().sum();
        let queue =
            if seeds == all { name.to_owned() } else { format!("{name} ({seeds} of {all})") };
        let length = |estimate: Option<Estimate>| estimate.map_or_else(String::new, shown);
        vec![percent(r.share_percent), queue, length(r.mean_packets), length(r.p99_packets)]
    };
    TextTable {
        title: "Longest queue at a switch, packets".to_owned(),
        head: texts(&["moved", "queue (seeds)", "mean [95 %]", "p99 [95 %]"]),
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
