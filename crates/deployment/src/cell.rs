//! Measurements of a pair, alone or next to a neighbour, before the verdict.
//!
//! Contract: everything follows from the tables of the runs. Over seeds, quantities are means,
//! counts are sums, shares are ratios of sums, and the window is the median of all samples. An
//! interval is that of the mean of the seeds' own values; the window has none.

use std::collections::BTreeMap;

use lowtide_record::RunDir;
use lowtide_rows::ProbeRow;
use serde::Serialize;

use lowtide_lab::{GroupFacts, LabError, QueueFacts, RunFacts, SignalFacts, interval_text};
use lowtide_stats::{ValueRange, seed_mean};

/// Name of the traffic group of the pair.
pub(crate) const PAIR: &str = "pair";
/// Name of the traffic group of its neighbour.
pub(crate) const NEIGHBOUR: &str = "neighbour";

/// Intervals over seeds by the name of their value. One seed has none, nor have equal seeds.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Intervals {
    /// 95 % intervals.
    pub ci95: BTreeMap<&'static str, [f64; 2]>,
    /// The least and the greatest value of two to four seeds.
    pub seed_range: BTreeMap<&'static str, [f64; 2]>,
}

impl Intervals {
    /// Returns the interval of a value, or in brackets the range of its seeds; empty without one.
    pub(crate) fn text(&self, name: &str) -> String {
        interval_text(self.ci95.get(name).copied(), self.seed_range.get(name).copied())
    }
}

/// The bottleneck in one cell.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct BottleneckStats {
    /// Mean length over time, packets.
    pub mean_packets: Option<f64>,
    /// Median length over time, packets.
    pub p50_packets: Option<f64>,
    /// 99th percentile over time, packets.
    pub p99_packets: Option<f64>,
    /// Packets marked, over all seeds.
    pub marks: u64,
    /// All packets lost, also at random and with the link, over all seeds.
    pub drops: u64,
    /// Packets dropped because the buffer was full, over all seeds.
    pub overflow_drops: u64,
    /// Packets dropped by the AQM, over all seeds.
    pub aqm_drops: u64,
    /// Fraction of the time that the link was busy.
    pub utilisation: Option<f64>,
    /// Intervals of the means.
    #[serde(flatten)]
    pub intervals: Intervals,
}

/// The flows of the pair, or those of its neighbour.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct FlowStats {
    /// Bytes delivered after the warm-up, all flows together.
    pub goodput_mbps: Option<f64>,
    /// Its share of the goodput of pair and neighbour.
    pub goodput_share: Option<f64>,
    /// Its share of the link divided by the fair share; 1 is fair on a fully used link.
    pub fair_share_ratio: Option<f64>,
    /// Jain's index over its flows.
    pub jain: Option<f64>,
    /// Fraction of its bytes that were retransmitted, over the whole run.
    pub retransmitted: Option<f64>,
    /// Retransmission timeouts.
    pub rto_count: u64,
    /// Median of cwnd after the warm-up, segments.
    pub window_segments: Option<f64>,
    /// Fraction of its data segments that were ECN-capable; like the next ones, after the warm-up.
    pub ect: Option<f64>,
    /// Fraction of its data segments that arrived with CE.
    pub marked: Option<f64>,
    /// Bytes that its senders counted as marked, divided by the marked bytes; over the whole run.
    pub echo_ratio: Option<f64>,
    /// Fraction of the ACKs that reached its senders with ECE. Null if any of its flows negotiated
    /// Accurate ECN, whose ACKs carry a counter there.
    pub ece: Option<f64>,
    /// Intervals of the quantities and shares.
    #[serde(flatten)]
    pub intervals: Intervals,
    /// The counts behind the fractions, over all seeds.
    pub signals: SignalFacts,
}

/// One pair, alone or next to a neighbour, over all seeds.
#[derive(Clone, PartialEq, Debug)]
pub struct MatrixCell {
    /// The sending stack.
    pub sender: String,
    /// The receiving stack.
    pub receiver: String,
    /// The stack that shares the bottleneck; `None` if the pair is alone.
    pub neighbour: Option<String>,
    /// The bottleneck.
    pub queue: BottleneckStats,
    /// The pair.
    pub pair: FlowStats,
    /// The neighbour's flows.
    pub neighbour_flows: Option<FlowStats>,
}

/// Samples of cwnd in bytes after the warm-up, by run and traffic group.
pub(crate) type CwndSamples = BTreeMap<(u32, String), Vec<u64>>;

/// Runs whose samples are read at a time, as those of a whole matrix would not fit into memory.
const RUNS_PER_BATCH: usize = 64;

/// Reads the cwnd samples of `runs` from their directory.
pub(crate) fn cwnd_samples(
    dir: &RunDir,
    runs: &[RunFacts],
    warmup_ps: u64,
) -> Result<CwndSamples, LabError> {
    let mut out = CwndSamples::new();
    for runs in runs.chunks(RUNS_PER_BATCH) {
        let numbers: Vec<u32> = runs.iter().map(|r| r.key.run).collect();
        for (run, row) in dir.series(&numbers)?.probes {
            let ProbeRow { time_ps, group, cwnd_bytes, .. } = row;
            if time_ps >= warmup_ps {
                out.entry((run, group.to_string())).or_default().push(cwnd_bytes);
            }
        }
    }
    Ok(out)
}

/// Reads one value.
type Read<T> = fn(&T) -> Option<f64>;

const POSITIVE: ValueRange = ValueRange::NOT_NEGATIVE;
const SHARE: ValueRange = ValueRange::SHARE;

/// Values of the bottleneck with intervals, and their possible ranges.
const QUEUE_VALUES: [(&str, ValueRange, Read<BottleneckStats>); 4] = [
    ("mean_packets", POSITIVE, |q| q.mean_packets),
    ("p50_packets", POSITIVE, |q| q.p50_packets),
    ("p99_packets", POSITIVE, |q| q.p99_packets),
    ("utilisation", SHARE, |q| q.utilisation),
];

/// Values of flows with intervals, and their possible ranges.
const FLOW_VALUES: [(&str, ValueRange, Read<FlowStats>); 9] = [
    ("goodput_mbps", POSITIVE, |f| f.goodput_mbps),
    ("goodput_share", SHARE, |f| f.goodput_share),
    ("fair_share_ratio", POSITIVE, |f| f.fair_share_ratio),
    ("jain", SHARE, |f| f.jain),
    ("retransmitted", SHARE, |f| f.retransmitted),
    ("ect", SHARE, |f| f.ect),
    ("marked", SHARE, |f| f.marked),
    ("echo_ratio", POSITIVE, |f| f.echo_ratio),
    ("ece", SHARE, |f| f.ece),
];

/// Returns the interval of each value over the seeds.
fn intervals<T>(values: &[(&'static str, ValueRange, Read<T>)], seeds: &[&T]) -> Intervals {
    let mut found = Intervals::default();
    for (name, possible, read) in values {
        let each: Vec<Option<f64>> = seeds.iter().map(|seed| read(seed)).collect();
        let interval = seed_mean(&each, *possible).interval;
        if let Some(ends) = interval.confidence() {
            found.ci95.insert(name, ends);
        } else if let Some(ends) = interval.ends() {
            found.seed_range.insert(name, ends);
        }
    }
    found
}

impl MatrixCell {
    /// Summarises the runs of one cell, which differ in their seeds only. Returns also the cell of
    /// each seed.
    pub(crate) fn over_seeds(
        place: [&str; 2],
        neighbour: Option<&str>,
        runs: &[&RunFacts],
        windows: &CwndSamples,
    ) -> (Self, Vec<Self>) {
        let of = |runs: &[&RunFacts]| Self::new(place, neighbour, runs, windows);
        let mut cell = of(runs);
        let seeds: Vec<Self> = runs.iter().map(|run| of(&[*run])).collect();
        let queues: Vec<&BottleneckStats> = seeds.iter().map(|c| &c.queue).collect();
        cell.queue.intervals = intervals(&QUEUE_VALUES, &queues);
        let pairs: Vec<&FlowStats> = seeds.iter().map(|c| &c.pair).collect();
        cell.pair.intervals = intervals(&FLOW_VALUES, &pairs);
        if let Some(beside) = &mut cell.neighbour_flows {
            let flows: Vec<&FlowStats> =
                seeds.iter().filter_map(|c| c.neighbour_flows.as_ref()).collect();
            beside.intervals = intervals(&FLOW_VALUES, &flows);
        }
        (cell, seeds)
    }

    fn new(
        place: [&str; 2],
        neighbour: Option<&str>,
        runs: &[&RunFacts],
        windows: &CwndSamples,
    ) -> Self {
        let pair = FlowStats::new(PAIR, runs, windows);
        let beside = neighbour.map(|_| FlowStats::new(NEIGHBOUR, runs, windows));
        let queue = BottleneckStats::new(runs);
        let mut cell = Self {
            sender: place[0].to_owned(),
            receiver: place[1].to_owned(),
            neighbour: neighbour.map(str::to_owned),
            queue,
            pair,
            neighbour_flows: beside,
        };
        cell.share();
        cell
    }

    /// Both sides have equally many flows, so half of the link is the fair share.
    fn share(&mut self) {
        let of = |class: &FlowStats| class.goodput_mbps.unwrap_or_default();
        let classes = if self.neighbour_flows.is_some() { 2.0 } else { 1.0 };
        let total = of(&self.pair) + self.neighbour_flows.as_ref().map_or(0.0, of);
        for class in std::iter::once(&mut self.pair).chain(&mut self.neighbour_flows) {
            let share = class.goodput_mbps.filter(|_| total > 0.0).map(|g| g / total);
            class.goodput_share = share;
            class.fair_share_ratio =
                share.zip(self.queue.utilisation).map(|(s, u)| s * u * classes);
        }
    }
}

/// The switch queue whose link is busiest.
pub(crate) fn bottleneck(run: &RunFacts) -> Option<&QueueFacts> {
    let busy = |q: &&QueueFacts| q.utilisation.unwrap_or_default();
    run.queues.iter().max_by(|a, b| busy(a).total_cmp(&busy(b)).then(b.name.cmp(&a.name)))
}

/// The mean; `None` if a run has no value.
fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let values: Vec<f64> = values.collect::<Option<_>>()?;
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl BottleneckStats {
    fn new(runs: &[&RunFacts]) -> Self {
        let queues: Vec<&QueueFacts> = runs.iter().filter_map(|r| bottleneck(r)).collect();
        let of = |read: fn(&QueueFacts) -> Option<f64>| mean(queues.iter().map(|q| read(q)));
        let sum = |read: fn(&QueueFacts) -> u64| queues.iter().map(|q| read(q)).sum();
        Self {
            mean_packets: of(|q| q.mean_packets),
            p50_packets: of(|q| q.p50_packets.map(f64::from)),
            p99_packets: of(|q| q.p99_packets.map(f64::from)),
            marks: sum(|q| q.marks),
            drops: sum(|q| q.drops),
            overflow_drops: sum(|q| q.overflow_drops),
            aqm_drops: sum(|q| q.aqm_drops),
            utilisation: of(|q| q.utilisation),
            intervals: Intervals::default(),
        }
    }
}

impl FlowStats {
    fn new(group: &str, runs: &[&RunFacts], windows: &CwndSamples) -> Self {
        let groups: Vec<&GroupFacts> = runs.iter().filter_map(|r| r.group(group)).collect();
        let of = |read: fn(&GroupFacts) -> Option<f64>| mean(groups.iter().map(|g| read(g)));
        // The simulator, which makes these runs, counts everything.
        let all = groups.iter().filter_map(|g| g.signals.as_ref());
        let signals = all.fold(SignalFacts::default(), SignalFacts::merge);
        let mut samples: Vec<u64> = runs
            .iter()
            .filter_map(|r| windows.get(&(r.key.run, group.to_owned())))
            .flatten()
            .copied()
            .collect();
        samples.sort_unstable();
        let median = samples.get(samples.len() / 2);
        let mss = signals.mss_bytes.filter(|mss| *mss > 0);
        let again: u64 = groups.iter().filter_map(|g| g.retx_bytes).sum();
        Self {
            goodput_mbps: of(|g| g.goodput_mbps),
            goodput_share: None,
            fair_share_ratio: None,
            jain: of(|g| g.jain),
            retransmitted: ratio(again, signals.received_bytes + again),
            rto_count: groups.iter().filter_map(|g| g.rto_count).sum(),
            window_segments: median.zip(mss).map(|(w, mss)| *w as f64 / f64::from(mss)),
            ect: ratio(signals.ect_segments, signals.data_segments),
            marked: ratio(signals.received_ce_segments, signals.arrived_segments),
            echo_ratio: ratio(signals.delivered_ce_bytes, signals.received_ce_bytes),
            ece: ratio(signals.ece_acks, signals.acks).filter(|_| signals.accecn_flows == 0),
            intervals: Intervals::default(),
            signals,
        }
    }

    /// ACKs with ECE that reached its senders; `None` with Accurate ECN, which redefines ECE.
    pub(crate) fn ece_acks(&self) -> Option<u64> {
        (self.signals.accecn_flows == 0).then_some(self.signals.ece_acks)
    }

    /// Data segments that its senders sent with CWR; `None` with Accurate ECN.
    pub(crate) fn cwr_segments(&self) -> Option<u64> {
        (self.signals.accecn_flows == 0).then_some(self.signals.cwr_segments)
    }
}
