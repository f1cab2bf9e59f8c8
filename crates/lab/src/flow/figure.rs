//! The four stacked plots of a flow, as in the ODCTCP thesis (figures 4.1 to 4.4, 5.1):
//! time-sequence with marks, cwnd and ssthresh, SRTT and RTO, throughput and queue.
//!
//! Contract: keeps the points that are drawn, in bounded memory per curve (`series`). Marks,
//! retransmissions and drops are all drawn, so they are all kept.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::mem::take;

use lowtide_charts::page;
use lowtide_charts::{
    Axis, BoundedSeries, Chart, Curve, CurveKind, Dot, FigureFiles, Lane, StackedPlot, bytes_unit,
};
use lowtide_record::{RunDir, TraceTables};
use lowtide_rows::{FlowRow, TraceHopRow, TraceSegmentRow, TraceSenderRow};
use lowtide_units::Duration;

use super::queue_length::{BottleneckFinder, QueueLength, was_enqueued};
use super::rows_in_order::{TraceRow, rows_in_order};
use super::series::{Arrivals, Point, Staircase, series};
use super::{FlowHead, FlowTrace, TraceConsumer, file_name, threshold};
use crate::error::LabError;
use crate::plots::PlotInput;
use crate::transport_facts::transport_of;

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
    /// The run was replayed to its end and gave the same digest, or its trace was recorded.
    pub complete: bool,
}

/// Intervals over which the throughput is averaged.
const BINS: u64 = 120;
/// Limit on the flows of one run in a report.
const MAX_FLOWS: usize = 4;

/// Draws the plots of a flow.
///
/// # Errors
/// The flow has no event in the window.
pub fn plot(traced: &FlowTrace, window: PlotWindow) -> Result<Plot, LabError> {
    figure_of(traced, window)?.finish()
}

fn figure_of(traced: &FlowTrace, window: PlotWindow) -> Result<FlowFigure, LabError> {
    let mut figure = FlowFigure::new(traced.head(), window);
    figure.part(&traced.tables, u64::MAX)?;
    Ok(figure)
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
        let traced: Vec<FlowRow> = rows.into_iter().filter(|f| flows.contains(&f.flow)).collect();
        let rest = traced.len().saturating_sub(MAX_FLOWS);
        for flow in traced.into_iter().take(MAX_FLOWS) {
            let tables = tables.clone().of_flow(flow.flow);
            let threshold = threshold(source.manifest);
            let traced = FlowTrace { key: run.key.clone(), flow, tables, threshold };
            out.push(figure_of(&traced, PlotWindow::default())?.stack()?);
        }
        if rest > 0
            && let Some(last) = out.last_mut()
        {
            // Writing to a string cannot fail.
            let _ = write!(
                last.caption,
                " {rest} more traced flows of this run have no plot here; `lowtide plot` draws one."
            );
        }
    }
    Ok(out)
}

/// Returns the error for a window without events of a flow, which is known to last until `last`.
fn empty_window(head: &FlowHead, last: Option<u64>) -> LabError {
    let of = |ps: u64| format!("{}", Duration::from_ps(ps));
    let first = of(head.flow.start_ps);
    LabError::NotFound {
        message: format!("flow {} has nothing in that window", head.flow.flow),
        help: Some(match last {
            Some(last) => format!("it lasts from {first} to {}", of(last)),
            None => format!("it begins at {first}"),
        }),
    }
}

/// Checks a window before anything is replayed.
///
/// # Errors
/// It is empty, or ends before the flow begins.
pub(super) fn check_window(head: &FlowHead, window: PlotWindow) -> Result<(), LabError> {
    let from = window.from.map_or(0, Duration::as_ps);
    let wrong = |to: Duration| to.as_ps() <= from || to.as_ps() < head.flow.start_ps;
    if window.to.is_some_and(wrong) {
        return Err(empty_window(head, head.flow.delivered_ps));
    }
    Ok(())
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

    /// Returns a staircase that extends to the right edge.
    fn staircase(&self, points: impl IntoIterator<Item = Point>) -> Vec<Dot> {
        let mut out = self.points(points);
        if let Some(last) = out.last().copied() {
            out.push(Dot { x: self.to as f64 / self.scale, ..last });
        }
        out
    }

    /// Returns the points up to the right edge.
    fn points(&self, points: impl IntoIterator<Item = Point>) -> Vec<Dot> {
        let inside = points.into_iter().filter(|(time, _)| *time <= self.to);
        inside.map(|(time, y)| self.dot(time, y)).collect()
    }
}

/// Data of the flow that has not arrived.
struct DataInFlight {
    /// Its place among the segments.
    row: u64,
    sent: u64,
    /// One past its last byte.
    end: f64,
}

/// Collects the points of the plots.
pub(super) struct FlowFigure {
    head: FlowHead,
    window: PlotWindow,
    /// The window as far as it is known before the end of the trace.
    from: u64,
    to: u64,
    /// Number of segments so far.
    rows: u64,
    /// Time up to which the trace is known, and of the last segment.
    known: u64,
    last: Option<u64>,
    any_inside: bool,
    /// Sent data that may still be marked or dropped, by packet.
    in_flight: BTreeMap<u64, DataInFlight>,
    bottleneck: BottleneckFinder,
    queues: BTreeMap<u32, QueueLength>,
    /// Highest and lowest offset in the window.
    most: u64,
    least: u64,
    highest_ack: u64,
    ack: Staircase,
    data: BoundedSeries,
    again: Vec<Point>,
    cwr: Vec<Point>,
    ece: Vec<Point>,
    /// By the place of the data among the segments.
    ce: Vec<(u64, Point)>,
    drops: Vec<Point>,
    cwnd: Staircase,
    ssthresh: Staircase,
    srtt: Staircase,
    rto: Staircase,
    arrivals: Arrivals,
}

impl FlowFigure {
    pub(super) fn new(head: FlowHead, window: PlotWindow) -> Self {
        let from = window.from.map_or(0, Duration::as_ps);
        let to = window.to.map_or(u64::MAX, Duration::as_ps);
        let stairs = || Staircase::new(from, to);
        Self {
            head,
            window,
            from,
            to,
            rows: 0,
            known: 0,
            last: None,
            any_inside: false,
            in_flight: BTreeMap::new(),
            bottleneck: BottleneckFinder::default(),
            queues: BTreeMap::new(),
            most: 0,
            least: u64::MAX,
            highest_ack: 0,
            ack: stairs(),
            data: series(),
            again: Vec::new(),
            cwr: Vec::new(),
            ece: Vec::new(),
            ce: Vec::new(),
            drops: Vec::new(),
            cwnd: stairs(),
            ssthresh: stairs(),
            srtt: stairs(),
            rto: stairs(),
            arrivals: Arrivals::default(),
        }
    }

    fn segment(&mut self, row: &TraceSegmentRow) {
        self.rows += 1;
        self.last = Some(row.time_ps);
        let inside = (self.from..=self.to).contains(&row.time_ps);
        self.any_inside |= inside;
        match (row.place.as_str(), row.event.as_str()) {
            ("sender", "sent") => self.sent(row, inside),
            ("sender", _) => self.acknowledged(row, inside),
            (_, "sent") => {}
            (_, event) => {
                if event == "received" && row.len_bytes > 0 && inside {
                    self.arrivals.push(row.time_ps, u64::from(row.len_bytes));
                }
                let arrived = self.in_flight.remove(&row.packet).filter(|_| row.ecn == "ce");
                let marked = arrived.filter(|a| (self.from..=self.to).contains(&a.sent));
                self.ce.extend(marked.map(|a| (a.row, (a.sent, a.end))));
            }
        }
    }

    /// Handles a segment of the sender.
    fn sent(&mut self, row: &TraceSegmentRow, inside: bool) {
        let end = row.seq_bytes + u64::from(row.len_bytes);
        if inside {
            self.most = self.most.max(end);
        }
        if row.len_bytes == 0 {
            return;
        }
        let point = (row.time_ps, end as f64);
        let sent = DataInFlight { row: self.rows, sent: row.time_ps, end: point.1 };
        self.in_flight.insert(row.packet, sent);
        if !inside {
            return;
        }
        self.least = self.least.min(row.seq_bytes);
        if row.retransmission {
            self.again.push(point);
        } else {
            self.data.push(point.0, point.1);
        }
        if row.flags.contains('W') {
            self.cwr.push(point);
        }
    }

    /// Handles a segment that arrived at the sender.
    fn acknowledged(&mut self, row: &TraceSegmentRow, inside: bool) {
        if let Some(ack) = row.ack_bytes {
            self.highest_ack = self.highest_ack.max(ack);
            self.ack.push((row.time_ps, self.highest_ack as f64));
            self.least = if inside { self.least.min(ack) } else { self.least };
        }
        if inside && row.flags.contains('E') && !row.flags.contains('S') {
            self.ece.push((row.time_ps, row.ack_bytes.unwrap_or(0) as f64));
        }
    }

    fn sender(&mut self, row: &TraceSenderRow) {
        if row.cwnd_bytes == 0 {
            return;
        }
        let kb = |bytes: u64| bytes as f64 / 1e3;
        let ms = |ns: u64| ns as f64 / 1e6;
        let at = row.time_ps;
        self.cwnd.push((at, kb(row.cwnd_bytes)));
        if let Some(ssthresh) = row.ssthresh_bytes {
            self.ssthresh.push((at, kb(ssthresh)));
        }
        if let Some(srtt) = row.srtt_ns {
            self.srtt.push((at, ms(srtt)));
        }
        self.rto.push((at, ms(row.rto_ns)));
    }

    fn hop(&mut self, hop: &TraceHopRow) {
        let (from, to) = (self.from, self.to);
        self.queues.entry(hop.queue).or_insert_with(|| QueueLength::new(from, to)).hop(hop);
        if hop.flow != self.head.flow.flow || !hop.from_sender {
            return;
        }
        self.bottleneck.data(hop);
        let Some(packet) = hop.packet else { return };
        if !was_enqueued(hop) {
            let gone = self.in_flight.remove(&packet);
            let inside = gone.filter(|_| (from..=to).contains(&hop.time_ps));
            self.drops.extend(inside.map(|gone| (hop.time_ps, gone.end)));
        }
    }

    pub(super) fn finish(self) -> Result<Plot, LabError> {
        let drawn = FigureFiles::of_chart(&Chart::Lanes(self.stack()?))?;
        let html = page::of_figure(&drawn)?;
        Ok(Plot { name: drawn.id, svg: drawn.svg, csv: drawn.csv, html, complete: true })
    }

    pub(super) fn stack(mut self) -> Result<StackedPlot, LabError> {
        let first = self.head.flow.start_ps;
        let last = self.last.unwrap_or(first);
        let to = self.window.to.map_or(last, Duration::as_ps);
        // Includes the start of the run if it is near.
        let begin = if first < to / 50 { 0 } else { first };
        let from = self.window.from.map_or(begin, Duration::as_ps);
        if from >= to || !self.any_inside {
            return Err(empty_window(&self.head, self.last));
        }
        let (unit, scale) = match to {
            0..5_000_000_000 => ("us", 1e6),
            5_000_000_000..5_000_000_000_000 => ("ms", 1e9),
            _ => ("s", 1e12),
        };
        let frame = TimeWindow { from, to, scale };
        let width = self.bin(&frame);
        let (low, high) = (from as f64 / scale, to as f64 / scale);
        let mut caption = format!(
            "Run: {}. Times of the sending host: data when sent, ACKs and ECE when received. CE \
             marks data that a switch marks later, a drop is at the time of the drop; numerous marks \
             become strokes along the bottom. Throughput: payload \
             that comes in at the receiver, over {} ms at a time.",
            self.head.key,
            lowtide_charts::number(width as f64 / 1e9),
        );
        let queue = self.bottleneck.found().and_then(|(queue, name)| {
            // Writing to a string cannot fail.
            let _ = write!(caption, " Queue: {name}, with the packets of all flows.");
            self.queues.remove(&queue)
        });
        let flow = &self.head.flow;
        Ok(StackedPlot {
            id: format!("flow-{}-{}", flow.flow, file_name(&self.head.key.scheme)),
            title: format!(
                "{}: flow {} ({}, {} to {}), ran {}",
                self.head.key.scheme,
                flow.flow,
                flow.group,
                flow.src,
                flow.dst,
                transport_of(flow)
            ),
            caption,
            x: Axis::linear(&format!("Time ({unit})"), &format!("time_{unit}"), low, high)
                .precise(),
            lanes: vec![
                self.sequence(&frame),
                windows(&self.cwnd, &self.ssthresh, &frame),
                round_trips(&self.srtt, &self.rto, &frame),
                throughput(&self.arrivals, width, &frame, queue),
            ],
        })
    }

    /// Returns the averaging interval of the throughput, picoseconds: at least eight segments on
    /// average.
    fn bin(&self, frame: &TimeWindow) -> u64 {
        let span = frame.to - frame.from;
        let segments = self.arrivals.count();
        (span / BINS).max(span.saturating_mul(8).checked_div(segments).unwrap_or(0)).clamp(1, span)
    }

    fn sequence(&mut self, frame: &TimeWindow) -> Lane {
        let (most, least) = (self.most, if self.least == u64::MAX { 0 } else { self.least });
        let (unit, per) = bytes_unit(most);
        let value = |bytes: u64| bytes as f64 / per;
        let scaled = |points: Vec<Point>| points.into_iter().map(|(time, y)| (time, y / per));
        self.ce.sort_by_key(|(row, _)| *row);
        let ce = take(&mut self.ce).into_iter().map(|(_, point)| point).collect();
        let ack = frame.staircase(scaled(self.ack.points()));
        let data = frame.points(scaled(self.data.points()));
        let marks = |name, style, points: &mut Vec<Point>| {
            curve(name, style, CurveKind::Marks, frame.points(scaled(take(points))))
        };
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
                curve("ACK", 2, CurveKind::Steps, ack),
                curve("data", 0, CurveKind::Dots, data),
                marks("CE", 22, &mut { ce }),
                marks("ECE", 16, &mut self.ece),
                marks("CWR", 3, &mut self.cwr),
                marks("retransmission", 5, &mut self.again),
                marks("drop", 20, &mut self.drops),
            ],
        }
    }
}

impl TraceConsumer for FlowFigure {
    fn part(&mut self, rows: &TraceTables, until: u64) -> Result<(), LabError> {
        rows_in_order(rows, |row| match row {
            TraceRow::Segment(row) => self.segment(row),
            TraceRow::Sender(row) => self.sender(row),
            TraceRow::Hop(hop) => self.hop(hop),
        });
        self.known = until;
        Ok(())
    }

    /// Everything is known after the window when no data of the window is in flight.
    fn is_complete(&self) -> bool {
        let first = self.in_flight.first_key_value();
        self.known > self.to && first.is_none_or(|(_, data)| data.sent > self.to)
    }
}

fn curve(name: &'static str, style: usize, look: CurveKind, points: Vec<Dot>) -> Curve {
    Curve { name, style, kind: look, right: false, points }
}

fn windows(cwnd: &Staircase, ssthresh: &Staircase, frame: &TimeWindow) -> Lane {
    let cwnd = frame.staircase(cwnd.points());
    let most = cwnd.iter().map(|d| d.y).fold(0.0, f64::max);
    let ssthresh = frame.staircase(ssthresh.points());
    // A threshold far above the window would flatten the curve of the window: it is drawn at the
    // upper end of the axis.
    let seen = ssthresh.iter().filter(|d| d.y <= most * 1.5);
    Lane {
        title: "Window".to_owned(),
        y: Axis::from_zero("Window (kB)", "window_kb", cwnd.iter().chain(seen).map(|d| d.y)),
        right: None,
        curves: vec![
            curve("ssthresh", 3, CurveKind::Thin, ssthresh),
            curve("cwnd", 0, CurveKind::Steps, cwnd),
        ],
    }
}

fn round_trips(srtt: &Staircase, rto: &Staircase, frame: &TimeWindow) -> Lane {
    let srtt = frame.staircase(srtt.points());
    let rto = frame.staircase(rto.points());
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

fn throughput(
    arrivals: &Arrivals,
    width: u64,
    frame: &TimeWindow,
    queue: Option<QueueLength>,
) -> Lane {
    let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
    for (time, bytes) in arrivals.bytes() {
        *bins.entry(time.saturating_sub(frame.from) / width).or_default() += bytes;
    }
    let last = (frame.to - frame.from) / width;
    let mbps = |bytes: u64| bytes as f64 * 8.0 / (width as f64 / 1e6);
    let rate = (0..last)
        .map(|i| (frame.from + i * width, mbps(bins.get(&i).copied().unwrap_or_default())));
    let rate = frame.staircase(rate);
    let length = frame.staircase(queue.map(QueueLength::finish).unwrap_or_default());
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
