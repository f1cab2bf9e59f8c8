//! The tables by share, for terminal and page; they fit 80 columns.

use super::result::{ShareClass, SharePoint, ShareResult};
use crate::estimate::{Estimate, P99_FLOWS, reason, with_interval};
use crate::request::MovedEnds;
use crate::text_table::TextTable;

/// Describes the experiment in one line.
pub fn describe(result: &ShareResult) -> String {
    let ends = match result.moves {
        MovedEnds::Both => "both ends move",
        MovedEnds::Senders => "only senders move",
        MovedEnds::Receivers => "only receivers move",
    };
    let seeds = if result.seeds == 1 { "seed" } else { "seeds" };
    format!("{} host pairs, {ends}; {} {seeds}", result.hosts, result.seeds)
}

/// Says what the values and their intervals are.
pub fn method(result: &ShareResult) -> String {
    if result.seeds == 1 {
        return "One seed has no intervals; --seeds 10 gives them.".to_owned();
    }
    "Percentiles of completion times are those of all seeds' flows together; other values are means \
     over seeds. In brackets: 95 % intervals over seeds. A value without one is equal for all \
     seeds, has too few seeds or flows, or has flows that did not complete."
        .to_owned()
}

/// Text of an absent value: the class has no hosts, or nothing was measured.
const NONE: &str = "\u{2013}";

/// Reads one value of a class.
type ReadClass = fn(&ShareClass) -> String;

fn shown(estimate: Option<Estimate>) -> String {
    estimate.map_or_else(|| NONE.to_owned(), with_interval)
}

fn mean_fct(class: &ShareClass) -> String {
    match (class.fct_ms_mean, class.fct_ms_mean_at_least) {
        (None, Some(least)) => format!("\u{2265} {}", with_interval(least)),
        (mean, _) => shown(mean),
    }
}

fn percentile(estimate: Option<Estimate>, flows: usize, needed: usize) -> String {
    match estimate {
        None if flows > 0 => reason(flows, needed),
        _ => shown(estimate),
    }
}

/// Returns all tables, one per question.
pub fn tables(result: &ShareResult) -> Vec<TextTable> {
    let completion: [(&str, ReadClass); 3] = [
        ("mean [95 %]", mean_fct),
        ("p50 [95 %]", |c| percentile(c.fct_ms_p50, c.flows, 2)),
        ("p99 [95 %]", |c| percentile(c.fct_ms_p99, c.flows, P99_FLOWS)),
    ];
    let signals: [(&str, ReadClass); 3] = [
        ("CE, % of bytes", |c| shown(c.marked_fraction.map(|e| e.scaled(100.0)))),
        ("timeouts", |c| shown(c.rto_count)),
        ("retransmitted, kB", |c| shown(c.retx_bytes.map(|e| e.scaled(1e-3)))),
    ];
    let mut out = vec![goodput(result)];
    for (i, scheme) in result.schemes().into_iter().enumerate() {
        let title = format!("Completion time of the finite flows of {scheme} hosts, ms");
        out.push(of_class(result, i, title, &completion));
    }
    out.push(queue(result));
    out.push(losses(result));
    for (i, scheme) in result.schemes().into_iter().enumerate() {
        let title = format!("Congestion signals of {scheme} hosts in a run [95 %]");
        out.push(of_class(result, i, title, &signals));
    }
    out
}

/// A table with a row per number of hosts moved.
fn table(
    result: &ShareResult,
    title: String,
    head: &[&str],
    row: impl Fn(&SharePoint) -> Vec<String>,
) -> TextTable {
    let moved = |p: &SharePoint| format!("{} of {}", p.moved_hosts, result.hosts);
    let line = |p| std::iter::once(moved(p)).chain(row(p)).collect();
    TextTable {
        title,
        head: std::iter::once("moved").chain(head.iter().copied()).map(str::to_owned).collect(),
        names: 1,
        rows: result.points.iter().map(line).collect(),
    }
}

fn goodput(result: &ShareResult) -> TextTable {
    let title = "Goodput per host, Mbit/s [95 %]".to_owned();
    table(result, title, &result.schemes(), |p| {
        let of = |class: Option<&ShareClass>| shown(class.and_then(|c| c.goodput_mbps_per_host));
        p.classes().map(|(_, class)| of(class)).into()
    })
}

/// A table of class number `i`; points without such hosts are left out.
fn of_class(
    result: &ShareResult,
    i: usize,
    title: String,
    columns: &[(&str, ReadClass)],
) -> TextTable {
    let head: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let cells = |p: &SharePoint| {
        let (_, class) = p.classes()[i];
        columns.iter().map(|(_, read)| class.map_or_else(String::new, read)).collect()
    };
    let mut out = table(result, title, &head, cells);
    let has_hosts: Vec<bool> = result.points.iter().map(|p| p.classes()[i].1.is_some()).collect();
    let mut kept = has_hosts.into_iter();
    out.rows.retain(|_| kept.next().unwrap_or(true));
    out
}

fn queue(result: &ShareResult) -> TextTable {
    let title = "Queue at the bottleneck, packets [95 %]".to_owned();
    table(result, title, &["mean", "median", "p99"], |p| {
        [p.queue.mean_packets, p.queue.p50_packets, p.queue.p99_packets].map(shown).into()
    })
}

fn losses(result: &ShareResult) -> TextTable {
    let title = "Packets marked and dropped at the bottleneck in a run [95 %]".to_owned();
    table(result, title, &["marked", "dropped", "buffer full", "AQM"], |p| {
        let q = &p.queue;
        [q.marks, q.drops, q.overflow_drops, q.aqm_drops].map(shown).into()
    })
}
