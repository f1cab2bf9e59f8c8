//! What a report shows, as plain data.
//!
//! [`ReportData`] is the whole contract between the results and the pages:
//! the runner fills it, [`figure`](crate::figure) and
//! [`report`](crate::report) read it and nothing else. Every number already
//! stands in the unit that its field or label names; nothing is converted on
//! the way to the page. A value that does not exist is `None` and is shown as
//! "–", never as 0. Order is meaning: schemes, curves, rows and notes appear
//! as they are given here.

use serde::Serialize;

/// Everything that one report shows.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ReportData {
    /// Title of the scenario.
    pub title: String,
    /// What the scenario is about, one paragraph; may be empty.
    pub description: String,
    /// The command that makes these results again.
    pub command: String,
    /// Version of the program that ran.
    pub version: String,
    /// Hash of the resolved scenario, in hexadecimal.
    pub scenario_hash: String,
    /// Digest over all runs, in hexadecimal.
    pub digest: String,
    /// The settings that decide the outcome, most important first.
    pub settings: Vec<Setting>,
    /// Names of the compared schemes. The order fixes their colours; the
    /// first is the one that the others are compared with.
    pub schemes: Vec<String>,
    /// The swept key; `None` when nothing is swept.
    pub sweep: Option<Axis>,
    /// Means over seeds, one curve per traffic group and metric. The first is
    /// the headline of the report.
    pub curves: Vec<Curve>,
    /// Which run the series below come from, for example
    /// `size 800 kB, seed 1`; shown in captions. May be empty.
    pub traced_run: String,
    /// Queue length over time: `name` is the queue, samples in packets.
    pub queue_series: Vec<Trace>,
    /// Horizontal lines that explain the queue, for example the marking
    /// threshold, in packets.
    pub queue_levels: Vec<Level>,
    /// Share of time that a queue was at most so long.
    pub queue_cdf: Vec<Distribution>,
    /// Congestion window over time: `name` is the flow.
    pub cwnd_series: Vec<Trace>,
    /// Slow-start threshold over time, `name` as in `cwnd_series`. An
    /// unlimited threshold is a sample that is not finite; it is not drawn.
    pub ssthresh_series: Vec<Trace>,
    /// DCTCP's alpha over time, from 0 to 1: `name` is the flow.
    pub alpha_series: Vec<Trace>,
    /// One row per scheme, point and traffic group.
    pub summary: Vec<SummaryRow>,
    /// One row per scheme, point and queue.
    pub queues: Vec<QueueRow>,
    /// What a reader must know before believing the figures: unfinished
    /// flows, failed runs, a single seed.
    pub notes: Vec<String>,
}

impl ReportData {
    /// Position of a scheme among [`schemes`](Self::schemes), which fixes its
    /// colour; one past the last for a name that is not listed.
    pub(crate) fn scheme_index(&self, scheme: &str) -> usize {
        self.schemes.iter().position(|name| name == scheme).unwrap_or(self.schemes.len())
    }
}

/// One setting of the scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// Dotted key, for example `switch.mark.threshold`.
    pub name: String,
    /// Value with its unit.
    pub value: String,
    /// Why it has this value or where it comes from; may be empty.
    pub why: String,
}

/// The swept key.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Axis {
    /// What the axis says, without unit, for example `transfer size`.
    pub key: String,
    /// Unit of [`Tick::value`] for the data files, for example `B` or `s`;
    /// empty for a number or a name.
    pub unit: String,
    /// The swept values, in order.
    pub ticks: Vec<Tick>,
    /// Whether the values ask for a logarithmic axis. Ignored when a value is
    /// not positive.
    pub log: bool,
}

/// One swept value.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Tick {
    /// How a person writes it: `800 kB`, `1 ms`.
    pub label: String,
    /// Where it stands on the axis; its position in the list when the value
    /// is not a number.
    pub value: f64,
}

/// One metric of one traffic group, for every scheme.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Curve {
    /// Traffic group, for example `short`.
    pub group: String,
    /// Key of the metric as in `summary.json`, for example `fct_ms.mean`.
    pub metric: String,
    /// What the axis says, without unit, for example `mean transfer time`.
    pub label: String,
    /// Unit of the values, for example `ms`; empty for a bare number.
    pub unit: String,
    /// One line per scheme.
    pub lines: Vec<Line>,
}

/// One scheme in a [`Curve`].
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Line {
    /// Name of the scheme.
    pub scheme: String,
    /// One point per swept value, in order; a single one when nothing is
    /// swept.
    pub points: Vec<Point>,
}

/// One scheme at one swept value, over all seeds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Point {
    /// [`Tick::value`] of the swept value; 0 when nothing is swept.
    pub x: f64,
    /// Mean over seeds; `None` when no seed gave a value.
    pub mean: Option<f64>,
    /// Lower end of the 95 % interval; `None` with one seed or when all
    /// seeds agree.
    pub lo: Option<f64>,
    /// Upper end of the 95 % interval, as [`lo`](Self::lo).
    pub hi: Option<f64>,
    /// Seeds behind the mean.
    pub seeds: u64,
    /// Flows that finished, over all seeds.
    pub complete: u64,
    /// Flows that had not finished when the run ended, over all seeds.
    pub unfinished: u64,
    /// Flows that ended with an error, over all seeds.
    pub failed: u64,
}

impl Point {
    /// The interval, when both ends exist and are finite.
    pub(crate) fn interval(&self) -> Option<(f64, f64)> {
        match (self.lo, self.hi) {
            (Some(lo), Some(hi)) if lo.is_finite() && hi.is_finite() => Some((lo, hi)),
            _ => None,
        }
    }

    /// Whether the mean leaves out flows that did not finish.
    pub(crate) fn is_partial(&self) -> bool {
        self.unfinished > 0 || self.failed > 0
    }
}

/// A value over time in one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Trace {
    /// Name of the scheme.
    pub scheme: String,
    /// The queue or the flow.
    pub name: String,
    /// Unit of the values, for example `packets` or `segments`.
    pub unit: String,
    /// (seconds, value), in the order of time.
    pub samples: Vec<(f64, f64)>,
}

/// A horizontal line with a name.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Level {
    /// For example `K = 20`.
    pub label: String,
    /// Where it stands.
    pub value: f64,
}

/// How long a queue was, by time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Distribution {
    /// Name of the scheme.
    pub scheme: String,
    /// The queue.
    pub name: String,
    /// (packets, share of time with at most so many, 0 to 1), both rising.
    pub points: Vec<(f64, f64)>,
}

/// A row of the table of transfers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SummaryRow {
    /// Name of the scheme.
    pub scheme: String,
    /// The swept value as a person writes it; empty when nothing is swept.
    pub point: String,
    /// Traffic group.
    pub group: String,
    /// Flows over all seeds, finished or not.
    pub flows: u64,
    /// Mean transfer time of the finished flows, ms.
    pub fct_mean_ms: Option<f64>,
    /// 95 % interval of the mean over seeds, ms.
    pub fct_interval_ms: Option<(f64, f64)>,
    /// Median transfer time, ms.
    pub fct_p50_ms: Option<f64>,
    /// 99th percentile, ms; `None` when the sample cannot hold one.
    pub fct_p99_ms: Option<f64>,
    /// Longest transfer time, ms.
    pub fct_max_ms: Option<f64>,
    /// Goodput per flow, Mbit/s.
    pub goodput_mbps: Option<f64>,
    /// Retransmission timeouts.
    pub rtos: Option<f64>,
    /// Retransmitted bytes.
    pub retransmitted_bytes: Option<f64>,
    /// Share of the packets that came with CE, 0 to 1.
    pub marked_fraction: Option<f64>,
    /// Flows that did not finish, over all seeds.
    pub unfinished: u64,
}

/// A row of the table of queues.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct QueueRow {
    /// Name of the scheme.
    pub scheme: String,
    /// The swept value as a person writes it; empty when nothing is swept.
    pub point: String,
    /// The queue.
    pub name: String,
    /// Mean length by time, packets.
    pub mean_packets: Option<f64>,
    /// 99th percentile by time, packets.
    pub p99_packets: Option<f64>,
    /// Longest, packets.
    pub max_packets: Option<f64>,
    /// Packets marked CE.
    pub marks: Option<f64>,
    /// Packets dropped.
    pub drops: Option<f64>,
}
