//! The stacked plots of one direction: sequence numbers with marks, the states of the sender,
//! round trips, bytes in flight, the receive window, alpha, goodput.

use lowtide_charts::{
    Axis, BoundedSeries, Curve, CurveKind, Dot, Lane, StackedPlot, TimeValue, bytes_unit,
};

use super::budget::State;
use super::connection::ConnectionReport;
use super::direction::{DirectionReport, finished};
use super::flow::FlowState;

/// Limit on the points of a curve of dots; more become bars.
const MAX_DOTS: usize = 720;

/// The time axis.
struct TimeAxis {
    from: f64,
    to: f64,
    /// Nanoseconds per unit.
    scale: f64,
    unit: &'static str,
}

impl TimeAxis {
    /// Converts points to axis units; values are divided by `per`.
    fn points(&self, points: &[TimeValue], per: f64) -> Vec<Dot> {
        points.iter().map(|(x, y)| Dot::new(*x as f64 / self.scale, y / per)).collect()
    }

    /// Returns a staircase whose last value holds to the end of the axis.
    fn staircase(&self, points: &[TimeValue], per: f64) -> Vec<Dot> {
        let mut out = self.points(points, per);
        out.extend(out.last().map(|d| Dot { x: self.to, ..*d }));
        out
    }

    /// Returns dots, or the range of each column if there are too many points.
    fn scatter(&self, name: &'static str, style: usize, series: &BoundedSeries, per: f64) -> Curve {
        let points = series.points();
        let all = points.len() <= MAX_DOTS && !series.is_reduced();
        let look = if all { CurveKind::Dots } else { CurveKind::Ranges };
        curve(name, style, look, self.points(&points, per))
    }
}

fn curve(name: &'static str, style: usize, look: CurveKind, points: Vec<Dot>) -> Curve {
    Curve { name, style, kind: look, right: false, points }
}

/// Name of a state at an axis.
const fn short(state: State) -> &'static str {
    match state {
        State::Handshake => "handshake",
        State::Timeout => "timeout",
        State::ZeroWindow => "zero rwnd",
        State::Recovery => "recovery",
        State::ReceiveWindow => "rwnd",
        State::SenderWindow => "sender",
        State::NoData => "no data",
        State::SendBuffer => "sndbuf",
        State::HostQueue => "host",
        State::DelayedAck => "delack",
        State::Unknown => "unknown",
    }
}

/// Returns the states of the sender as a staircase; `None` without any.
fn states(axis: &TimeAxis, flow: &FlowState, from: usize) -> Option<Lane> {
    let longest: Vec<(u64, usize)> = finished(flow, from).0.states?.longest().collect();
    let seen = |state: &State| longest.iter().any(|(_, n)| *n == *state as usize);
    // The states that occur, the first one at the top.
    let names: Vec<State> = State::ALL.into_iter().rev().filter(seen).collect();
    let place = |n: usize| names.iter().position(|s| *s as usize == n).map(|at| at as f64 + 1.0);
    let steps: Vec<TimeValue> =
        longest.iter().filter_map(|(at, n)| Some((*at, place(*n)?))).collect();
    let mut y = Axis::linear("", "state", 0.5, names.len() as f64 + 0.5);
    y.ticks = names.iter().zip(1..).map(|(s, n)| (f64::from(n), short(*s).to_owned())).collect();
    let curves = vec![curve("waits for", 0, CurveKind::Steps, axis.staircase(&steps, 1.0))];
    (!names.is_empty()).then(|| Lane { title: "Sender".to_owned(), y, right: None, curves })
}

/// Returns the plots of the data `d` of connection `c`: of end `from` of `flow`, which was traced.
pub(super) fn stack(
    c: &ConnectionReport,
    d: &DirectionReport,
    (flow, from_end): (&FlowState, usize),
    gain: f64,
    only: bool,
) -> Option<StackedPlot> {
    let state = &flow.directions[from_end];
    let trace = state.trace.as_ref()?;
    // Late times need a wider range: the axis must resolve its values.
    let least = (c.start_ns / 1_000_000_000).max(1);
    let (from, to) = (c.start_ns, c.end_ns.max(c.start_ns.saturating_add(least)));
    let (unit, scale) = match to {
        0..5_000_000 => ("us", 1e3),
        5_000_000..5_000_000_000 => ("ms", 1e6),
        _ => ("s", 1e9),
    };
    let (low, high) = (from as f64 / scale, to as f64 / scale);
    let axis = TimeAxis { from: low, to: high, scale, unit };
    let most = state.stream.highest;
    let (size, per) = bytes_unit(most);
    let top = (most as f64 / per).max(1.46) * 1.04;
    let points = |s: &BoundedSeries| axis.points(&s.points(), per);
    let sequence = Lane {
        title: "Sequence".to_owned(),
        y: Axis::linear(
            &format!("Offset ({size})"),
            &format!("offset_{}", size.to_lowercase()),
            0.0,
            top,
        )
        .precise(),
        right: None,
        curves: vec![
            curve("ACK", 2, CurveKind::Steps, axis.staircase(&trace.acks.points(), per)),
            axis.scatter("SACK", 6, &trace.sacked, per),
            axis.scatter("data", 0, &trace.data, per),
            curve("CE", 22, CurveKind::Strokes, points(&trace.ce)),
            curve("ECE", 16, CurveKind::Strokes, points(&trace.ece)),
            curve("CWR", 3, CurveKind::Strokes, points(&trace.cwr)),
            curve("out of order", 20, CurveKind::Marks, points(&trace.reordered)),
            curve("retransmission", 5, CurveKind::Marks, points(&trace.retransmissions)),
        ],
    };
    let flight = axis.staircase(&state.window.over_time.points(), 1e3);
    let floor = 2.0 * d.full_segment() as f64 / 1e3;
    let floor = [axis.from, axis.to].map(|x| Dot::new(x, floor)).to_vec();
    let flights = Lane {
        title: "In flight".to_owned(),
        y: Axis::from_zero("Bytes (kB)", "flight_kb", flight.iter().chain(&floor).map(|p| p.y)),
        right: None,
        curves: vec![
            curve("two segments", 6, CurveKind::Thin, floor),
            curve("sent and not acknowledged", 0, CurveKind::Steps, flight),
        ],
    };
    let trips = trace.rtt.points();
    let (trip_unit, trip_per) = match trips.iter().map(|p| p.1).fold(0.0, f64::max) {
        longest if longest < 5e6 => ("us", 1e3),
        _ => ("ms", 1e6),
    };
    let trips = axis.scatter("of ACKs", 0, &trace.rtt, trip_per);
    let round_trips = Lane {
        title: "Round trip".to_owned(),
        y: Axis::from_zero(
            &format!("Time ({trip_unit})"),
            &format!("rtt_{trip_unit}"),
            trips.points.iter().map(|p| p.y),
        ),
        right: None,
        curves: vec![trips],
    };
    let window = axis.staircase(&trace.window.points(), 1e3);
    let windows = Lane {
        title: "Receive window".to_owned(),
        y: Axis::from_zero("Bytes (kB)", "window_kb", window.iter().map(|p| p.y)),
        right: None,
        curves: vec![curve("offered", 0, CurveKind::Steps, window)],
    };
    let marked = Lane {
        title: "Marks".to_owned(),
        y: Axis::linear("Fraction of bytes", "fraction", 0.0, 1.04),
        right: None,
        curves: vec![
            curve(
                "under a mark, per window",
                1,
                CurveKind::Dots,
                axis.points(&state.alpha.fractions.points(), 1.0),
            ),
            curve("alpha", 0, CurveKind::Steps, axis.staircase(&state.alpha.alphas.points(), 1.0)),
        ],
    };
    let width = state.goodput.width() as f64;
    let mut rates: Vec<TimeValue> =
        state.goodput.sums().map(|(at, sum)| (at, sum as f64 * 8e3 / width)).collect();
    let end = rates.last().map(|last| (last.0.saturating_add(state.goodput.width()), 0.0));
    rates.extend(end.filter(|end| end.0 < to));
    let rates = axis.staircase(&rates, 1.0);
    let goodput = Lane {
        title: "Goodput".to_owned(),
        y: Axis::from_zero("Rate (Mbit/s)", "goodput_mbps", rates.iter().map(|p| p.y)),
        right: None,
        curves: vec![curve("acknowledged", 0, CurveKind::Steps, rates)],
    };
    let ranges = |lane: &Lane| lane.curves.iter().any(|c| c.kind == CurveKind::Ranges);
    let aggregated = if ranges(&sequence) {
        " Where packets are closer together than pixels, a bar spans the offsets of one column."
    } else {
        ""
    };
    let flight = match d.flight_bytes {
        Some(_) => " In flight: what the capture has seen sent and not acknowledged.",
        None => "",
    };
    let caption = format!(
        "As the packets came by where the capture was taken: data at its end, ACKs, SACK blocks at both edges, \
         CE, ECE and CWR as strokes along the bottom, one above the other in the order of \
         the legend. Sender: the state with most of each interval, as first assigned: the time budget may \
         count some of `sender` as `no data` (rwnd: the receive window; sender: its window or \
         pacing; delack: a delayed ACK). Round trips: from the capture to the receiver and back.{flight} Alpha with g = {}, from 1. Goodput over {} ms at a time.{aggregated}",
        lowtide_charts::number(gain),
        lowtide_charts::number(width / 1e6),
    );
    let mut lanes = vec![sequence];
    lanes.extend(states(&axis, flow, from_end));
    let drawn = |lane: &Lane| lane.curves.iter().any(|c| !c.points.is_empty());
    lanes.extend([round_trips].into_iter().filter(drawn));
    if d.flight_bytes.is_some() {
        lanes.push(flights);
    }
    lanes.extend([windows].into_iter().filter(drawn));
    if state.alpha.marked_windows > 0 {
        lanes.push(marked);
    }
    lanes.push(goodput);
    let suffix = if only {
        String::new()
    } else {
        format!("-{}", if d.from == c.client { "up" } else { "down" })
    };
    Some(StackedPlot {
        id: format!("flow-{}{suffix}", c.flow),
        title: format!("flow {}: data from {} to {}", c.flow, d.from, d.to),
        caption,
        x: Axis::linear(
            &format!("Time since the capture began ({})", axis.unit),
            &format!("time_{}", axis.unit),
            axis.from,
            axis.to,
        )
        .precise(),
        lanes,
    })
}
