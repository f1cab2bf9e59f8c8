//! The four stacked plots of a flow, as in the ODCTCP thesis (figures 4.1 to 4.4, 5.1):
//! time-sequence with marks, cwnd and ssthresh, SRTT and RTO, throughput and queue.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;

use lowtide_charts::page;
use lowtide_charts::{
    Axis, Curve, CurveKind, Dot, FigureFiles, Lane, StackedPlot, bytes_unit, thinned,
};
use lowtide_record::RunDir;
use lowtide_rows::{TraceHopRow, TraceSegmentRow, TraceSenderRow};
use lowtide_units::Duration;

use super::capture::bottleneck;
use super::{FlowTrace, file_name, threshold};
use crate::error::LabError;
use crate::plots::PlotInput;
use crate::transports;

/// Time range of a plot; open ends extend to the whole flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlotWindow {
    /// Start, in time of the run.
    pub from: Option<Duration>,
    /// End, in time of the run.
    pub to: Option<Duration>,
}

/// Plots of a flow.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Name of its files, without an extension.
    pub name: String,
    /// The drawing, SVG.
    pub svg: String,
    /// The values, CSV.
    pub csv: String,
    /// A page with the drawing, HTML.
    pub html: String,
}

/// Limit on the points of a curve.
const MAX_POINTS: usize = 2400;
/// Intervals over which the throughput is averaged.
const BINS: u64 = 120;
/// Limit on the flows of one run in a report.
const MAX_FLOWS: usize = 4;

/// Draws the plots of a flow.
///
/// # Errors
/// The flow has no event in the window.
pub fn plot(traced: &FlowTrace, window: PlotWindow) -> Result<Plot, LabError> {
    let drawn = FigureFiles::of_stack(&stack(traced, window)?)?;
    let html = page::of_figure(&drawn)?;
    Ok(Plot { name: drawn.id, svg: drawn.svg, csv: drawn.csv, html })
}

/// Returns the plots of the flows recorded in a directory, for its report.
pub(crate) fn recorded_plots(
    dir: &RunDir,
    source: PlotInput<'_>,
) -> Result<Vec<StackedPlot>, LabError> {
    let mut out = Vec::new();
    for run in source.first_seeds() {
        let tables = dir.traces(run.key.run)?;
        let flows: BTreeSet<u32> = tables.segments.iter().map(|r| r.flow).collect();
        let rows = if flows.is_empty() { Vec::new() } else { dir.flows(run.key.run)? };
        for flow in rows.into_iter().filter(|f| flows.contains(&f.flow)).take(MAX_FLOWS) {
            let tables = tables.clone().of_flow(flow.flow);
            let threshold = threshold(source.manifest);
            let traced = FlowTrace { key: run.key.clone(), flow, tables, threshold };
            out.push(stack(&traced, PlotWindow::default())?);
        }
    }
    Ok(out)
}

/// Time window of the curves, picoseconds.
struct TimeWindow {
    from: u64,
    to: u64,
    /// Picoseconds per unit of the axis.
    scale: f64,
}

impl TimeWindow {
    fn dot(&self, time: u64, y: f64) -> Dot {
        Dot::new(time as f64 / self.scale, y)
    }

    /// Returns a staircase within the window that begins with the value at its left edge.
    fn staircase(&self, points: impl Iterator<Item = (u64, f64)>) -> Vec<Dot> {
        let mut out: Vec<Dot> = Vec::new();
        let mut before = None;
        for (time, y) in points {
            if time < self.from {
                before = Some(y);
            } else if time <= self.to {
                out.extend(before.take().map(|y| self.dot(self.from, y)));
                out.push(self.dot(time, y));
            }
        }
        out.extend(before.map(|y| self.dot(self.from, y)));
        if let Some(last) = out.last().copied() {
            out.push(Dot { x: self.to as f64 / self.scale, ..last });
        }
        thinned(&out, MAX_POINTS)
    }

    /// Returns single points within the window.
    fn points(&self, points: impl Iterator<Item = (u64, f64)>) -> Vec<Dot> {
        points
            .filter(|(time, _)| (self.from..=self.to).contains(time))
            .map(|(time, y)| self.dot(time, y))
            .collect()
    }
}

fn curve(name: &'static str, style: usize, look: CurveKind, points: Vec<Dot>) -> Curve {
    Curve { name, style, kind: look, right: false, points }
}

fn stack(traced: &FlowTrace, window: PlotWindow) -> Result<StackedPlot, LabError> {
    let times = traced.tables.segments.iter().map(|r| r.time_ps);
    let first = traced.flow.start_ps;
    let last = times.clone().max().unwrap_or(first);
    // Includes the start of the run if it is near.
    let begin = if first < last / 50 { 0 } else { first };
    let from = window.from.map_or(begin, Duration::as_ps);
    let to = window.to.map_or(last, Duration::as_ps);
    if from >= to || !times.into_iter().any(|t| (from..=to).contains(&t)) {
        let of = |ps: u64| format!("{}", Duration::from_ps(ps));
        return Err(LabError::NotFound {
            message: format!("flow {} has nothing in that window", traced.flow.flow),
            help: Some(format!("it lasts from {} to {}", of(first), of(last))),
        });
    }
    let (unit, scale) = match to {
        0..5_000_000_000 => ("us", 1e6),
        5_000_000_000..5_000_000_000_000 => ("ms", 1e9),
        _ => ("s", 1e12),
    };
    let frame = TimeWindow { from, to, scale };
    let (low, high) = (from as f64 / scale, to as f64 / scale);
    let queue = bottleneck(traced);
    let mut caption = format!(
        "Run: {}. Times of the sending host: data when sent, ACKs and ECE when received. CE marks \
         data that a switch marks later, a drop is at the time of the drop; numerous marks \
         become strokes along the bottom. Throughput: payload \
         that comes in at the receiver, over {} ms at a time.",
        traced.key,
        lowtide_charts::number(bin(traced, &frame) as f64 / 1e9),
    );
    if let Some(hop) = queue {
        // Writing to a string cannot fail.
        let _ = write!(caption, " Queue: {}, with the packets of all flows.", hop.name);
    }
    let flow = &traced.flow;
    Ok(StackedPlot {
        id: format!("flow-{}-{}", flow.flow, file_name(&traced.key.scheme)),
        title: format!(
            "{}: flow {} ({}, {} to {}), ran {}",
            traced.key.scheme,
            flow.flow,
            flow.group,
            flow.src,
            flow.dst,
            transports::transport_of(flow)
        ),
        caption,
        x: Axis::linear(&format!("Time ({unit})"), &format!("time_{unit}"), low, high).precise(),
        lanes: vec![
            sequence(traced, &frame),
            windows(traced, &frame),
            round_trips(traced, &frame),
            throughput(traced, &frame, queue),
        ],
    })
}

fn sequence(traced: &FlowTrace, frame: &TimeWindow) -> Lane {
    let rows = traced.tables.segments.as_slice();
    let at_sender = |r: &&TraceSegmentRow| r.place == "sender";
    let inside = |r: &&TraceSegmentRow| (frame.from..=frame.to).contains(&r.time_ps);
    let end = |r: &TraceSegmentRow| r.seq_bytes + u64::from(r.len_bytes);
    let shown = || rows.iter().filter(at_sender).filter(inside);
    let most = shown().filter(|r| r.event == "sent").map(end).max().unwrap_or(0);
    let least = shown()
        .filter_map(|r| {
            if r.event == "sent" { (r.len_bytes > 0).then_some(r.seq_bytes) } else { r.ack_bytes }
        })
        .min()
        .unwrap_or(0);
    let (unit, per) = bytes_unit(most);
    let value = |bytes: u64| bytes as f64 / per;
    let sent =
        || rows.iter().filter(|r| r.place == "sender" && r.event == "sent" && r.len_bytes > 0);
    let acks = || rows.iter().filter(|r| r.place == "sender" && r.event != "sent");
    let mut highest = 0;
    let ack_line = acks().filter_map(|r| {
        highest = highest.max(r.ack_bytes?);
        Some((r.time_ps, value(highest)))
    });
    let ack_line = frame.staircase(ack_line);
    let of = |r: &TraceSegmentRow| (r.time_ps, value(end(r)));
    let data = frame.points(sent().filter(|r| !r.retransmission).map(of));
    let again = frame.points(sent().filter(|r| r.retransmission).map(of));
    let cwr = frame.points(sent().filter(|r| r.flags.contains('W')).map(of));
    let ece = acks().filter(|r| r.flags.contains('E') && !r.flags.contains('S'));
    let ece = frame.points(ece.map(|r| (r.time_ps, value(r.ack_bytes.unwrap_or(0)))));
    let marked: BTreeSet<u64> = rows
        .iter()
        .filter(|r| r.place == "receiver" && r.ecn == "ce" && r.event != "sent")
        .map(|r| r.packet)
        .collect();
    let ce = frame.points(sent().filter(|r| marked.contains(&r.packet)).map(of));
    let ends: BTreeMap<u64, f64> = sent().map(|r| (r.packet, value(end(r)))).collect();
    let flow = traced.flow.flow;
    let drops = traced
        .tables
        .hops
        .iter()
        .filter(|h| h.flow == flow && h.from_sender && h.verdict.starts_with("dropped"));
    let drops = frame.points(drops.filter_map(|h| Some((h.time_ps, *ends.get(&h.packet?)?))));
    let room = (value(most) - value(least)).max(value(1460)) * 0.04;
    let low = if least == 0 { 0.0 } else { value(least) - room };
    Lane {
        title: "Sequence".to_owned(),
        y: Axis::linear(
            &format!("Offset ({unit})"),
            &format!("offset_{}", unit.to_lowercase()),
            low,
            value(most) + room,
        )
        .precise(),
        right: None,
        curves: vec![
            curve("ACK", 2, CurveKind::Steps, ack_line),
            curve("data", 0, CurveKind::Dots, thinned(&data, MAX_POINTS)),
            curve("CE", 22, CurveKind::Marks, ce),
            curve("ECE", 16, CurveKind::Marks, ece),
            curve("CWR", 3, CurveKind::Marks, cwr),
            curve("retransmission", 5, CurveKind::Marks, again),
            curve("drop", 20, CurveKind::Marks, drops),
        ],
    }
}

/// Returns a staircase of a value of the sender.
fn sender_curve(
    traced: &FlowTrace,
    frame: &TimeWindow,
    value: impl Fn(&TraceSenderRow) -> Option<f64>,
) -> Vec<Dot> {
    let rows = traced.tables.senders.iter().filter(|r| r.cwnd_bytes > 0);
    frame.staircase(rows.filter_map(|r| Some((r.time_ps, value(r)?))))
}

fn windows(traced: &FlowTrace, frame: &TimeWindow) -> Lane {
    let kb = |bytes: u64| bytes as f64 / 1e3;
    let cwnd = sender_curve(traced, frame, |r| Some(kb(r.cwnd_bytes)));
    let most = cwnd.iter().map(|d| d.y).fold(0.0, f64::max);
    // A threshold far above the window would flatten the curve of the window.
    let reach = |y: &f64| *y <= most * 1.5;
    let ssthresh = sender_curve(traced, frame, |r| r.ssthresh_bytes.map(kb).filter(reach));
    Lane {
        title: "Window".to_owned(),
        y: Axis::from_zero("Window (kB)", "window_kb", cwnd.iter().chain(&ssthresh).map(|d| d.y)),
        right: None,
        curves: vec![
            curve("ssthresh", 3, CurveKind::Thin, ssthresh),
            curve("cwnd", 0, CurveKind::Steps, cwnd),
        ],
    }
}

fn round_trips(traced: &FlowTrace, frame: &TimeWindow) -> Lane {
    let ms = |ns: u64| ns as f64 / 1e6;
    let srtt = sender_curve(traced, frame, |r| r.srtt_ns.map(ms));
    let rto = sender_curve(traced, frame, |r| Some(ms(r.rto_ns)));
    let values: Vec<f64> = srtt.iter().chain(&rto).map(|d| d.y).collect();
    Lane {
        title: "Round trip".to_owned(),
        y: Axis::fitting("Time (ms)", "time_ms", &values),
        right: None,
        curves: vec![
            curve("RTO", 3, CurveKind::Thin, rto),
            curve("SRTT", 0, CurveKind::Steps, srtt),
        ],
    }
}

fn throughput(traced: &FlowTrace, frame: &TimeWindow, queue: Option<&TraceHopRow>) -> Lane {
    let width = bin(traced, frame);
    let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
    for row in payloads(traced, frame) {
        *bins.entry((row.time_ps - frame.from) / width).or_default() += u64::from(row.len_bytes);
    }
    let last = (frame.to - frame.from) / width;
    let mbps = |bytes: u64| bytes as f64 * 8.0 / (width as f64 / 1e6);
    let rate = (0..last)
        .map(|i| (frame.from + i * width, mbps(bins.get(&i).copied().unwrap_or_default())));
    let rate = frame.staircase(rate);
    let length = queue.map(|hop| lengths(traced, hop.queue)).unwrap_or_default();
    let length = frame.staircase(length.into_iter());
    Lane {
        title: "Throughput and queue".to_owned(),
        y: Axis::from_zero("Rate (Mbit/s)", "rate_mbps", rate.iter().map(|d| d.y)),
        right: Some(Axis::from_zero(
            "Queue (packets)",
            "queue_packets",
            length.iter().map(|d| d.y),
        )),
        curves: vec![
            Curve { right: true, ..curve("queue", 1, CurveKind::Steps, length) },
            curve("throughput", 0, CurveKind::Steps, rate),
        ],
    }
}

/// Returns the times and lengths of data that arrived at the receiver.
fn payloads<'a>(
    traced: &'a FlowTrace,
    frame: &TimeWindow,
) -> impl Iterator<Item = &'a TraceSegmentRow> + use<'a> {
    let (from, to) = (frame.from, frame.to);
    traced.tables.segments.iter().filter(move |r| {
        r.place == "receiver"
            && r.event == "received"
            && r.len_bytes > 0
            && (from..=to).contains(&r.time_ps)
    })
}

/// Returns the averaging interval of the throughput, picoseconds: at least eight segments on
/// average.
fn bin(traced: &FlowTrace, frame: &TimeWindow) -> u64 {
    let span = frame.to - frame.from;
    let segments = payloads(traced, frame).count() as u64;
    (span / BINS).max(span.saturating_mul(8).checked_div(segments).unwrap_or(0)).clamp(1, span)
}

fn was_enqueued(hop: &TraceHopRow) -> bool {
    !hop.verdict.starts_with("dropped") && hop.verdict != "lost"
}

/// Returns whether the port counts the packet in service: some packet found one more than waited.
fn counts_in_service(hops: &[&TraceHopRow]) -> bool {
    let mut there: VecDeque<&TraceHopRow> = VecDeque::new();
    hops.iter().any(|hop| {
        while there.front().is_some_and(|h| h.departure_ps <= hop.time_ps) {
            there.pop_front();
        }
        let on_line = there.front().is_some_and(|h| h.start_ps <= hop.time_ps);
        let all = there.len();
        if was_enqueued(hop) {
            there.push_back(hop);
        }
        on_line && hop.queue_packets as usize == all
    })
}

/// Returns the length of a queue at every change. Arrivals give the length that the port counted;
/// between them it shrinks as packets are sent.
fn lengths(traced: &FlowTrace, queue: u32) -> Vec<(u64, f64)> {
    let hops: Vec<&TraceHopRow> = traced.tables.hops.iter().filter(|h| h.queue == queue).collect();
    let mut out = Vec::new();
    let mut leaving: VecDeque<u64> = VecDeque::new();
    let in_service = counts_in_service(&hops);
    let next = hops.iter().skip(1).map(|h| h.time_ps).chain([u64::MAX]);
    for (hop, next) in hops.iter().zip(next) {
        let mut length = hop.queue_packets;
        if was_enqueued(hop) && (in_service || hop.start_ps > hop.time_ps) {
            length += 1;
            leaving.push_back(if in_service { hop.departure_ps } else { hop.start_ps });
        }
        out.push((hop.time_ps, f64::from(length)));
        while let Some(at) = leaving.front().copied().filter(|at| *at <= next) {
            leaving.pop_front();
            length = length.saturating_sub(1);
            out.push((at, f64::from(length)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(time_ps: u64, queue_packets: u32, start_ps: u64, departure_ps: u64) -> TraceHopRow {
        TraceHopRow {
            time_ps,
            queue: 0,
            name: "".into(),
            flow: 0,
            from_sender: true,
            packet: None,
            size_bytes: 1500,
            verdict: "queued".to_owned(),
            queue_packets,
            queue_bytes: u64::from(queue_packets) * 1500,
            start_ps,
            departure_ps,
        }
    }

    #[test]
    fn counting_the_packet_in_service_is_detected() {
        let (a, b, c) = ([0, 0], [1, 10], [2, 20]);
        let hops = |found: [u32; 3]| {
            [
                hop(a[0], found[0], a[1], 10),
                hop(b[0], found[1], b[1], 20),
                hop(c[0], found[2], c[1], 30),
            ]
        };
        let counted = |found| counts_in_service(&hops(found).iter().collect::<Vec<_>>());
        assert!(counted([0, 1, 2]));
        assert!(!counted([0, 0, 1]));
        assert!(!counted([0, 0, 0]), "no packet waited: unknown, and irrelevant");
    }
}
