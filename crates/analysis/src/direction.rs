//! The report on one direction of a connection, in the form of its JSON.
//!
//! Contract: durations are nanoseconds; times are nanoseconds since the first packet of the
//! capture. Values not seen, or seen too rarely, are null. `docs/howto/analyze.md` defines each
//! number.

use lowtide_charts::BoundedSeries;
use serde::Serialize;

use super::budget::{StateShare, TimeBudget};
use super::direction_state::DirectionState;
use super::ecn_echo::{EceRun, EchoEvidence};
use super::evidence::EventFrames;
use super::feedback::{self, FeedbackKind, FeedbackVerdict};
use super::flow::{CaptureLocation, FlowState};
use super::handshake::NegotiatedEcn;
use super::rounds::{GrowthRounds, WindowTimes};
use super::sender::{Echo, SenderVerdict};
use super::socket_statistics::SocketWitness;
use super::stalls::Timeout;
use super::timeline::SenderTimeline;
use super::value_summary::ValueSummary;
use super::window::WindowCollapse;

/// Limit on the points of each series over time.
const MAX_POINTS: usize = 256;

#[derive(Clone, Debug, Serialize)]
pub(super) struct DirectionReport {
    pub(super) from: String,
    pub(super) to: String,
    /// The capture has the data, and ACKs of it.
    pub(super) data_seen: bool,
    pub(super) acks_seen: bool,
    /// Times of the first data and the last ACK, or of the part in the capture.
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// Payload of a full segment by options, else by the usual size of packets, else null.
    pub(super) mss_bytes: Option<u32>,
    pub(super) packets: u64,
    pub(super) segments: u64,
    pub(super) bytes: u64,
    pub(super) acked_bytes: u64,
    pub(super) retransmitted_segments: u64,
    pub(super) retransmitted_bytes: u64,
    pub(super) spurious_bytes: u64,
    pub(super) lost_before_capture_segments: u64,
    /// Packets of this end that did not reach the capture, if IP identifications tell.
    pub(super) missing_packets: Option<u64>,
    pub(super) captured_twice: u64,
    pub(super) keep_alives: u64,
    pub(super) reordered: u64,
    pub(super) reordering_packets: Option<ValueSummary>,
    pub(super) duplicate_acks: u64,
    pub(super) dsacks: u64,
    /// ACKs with SACK blocks above the acknowledgement number.
    pub(super) sack_acks: u64,
    pub(super) unseen_bytes: u64,
    pub(super) large_packets: u64,
    pub(super) largest_payload_bytes: u32,
    pub(super) rtt_ns: Option<ValueSummary>,
    pub(super) rtt_by_timestamps_ns: Option<ValueSummary>,
    pub(super) marks: EcnCounts,
    pub(super) feedback: FeedbackVerdict,
    pub(super) evidence: EchoEvidence,
    /// The congestion control that sent the data; null with fewer than 8 round trips.
    pub(super) sender: Option<SenderVerdict>,
    pub(super) alpha: AlphaReport,
    /// Bytes in flight when ACKs arrived; null near the receiver, where they are not visible.
    pub(super) flight_bytes: Option<ValueSummary>,
    pub(super) collapses: Vec<Span>,
    pub(super) stuck_ece: Option<EceRunReport>,
    pub(super) timeouts: Timeouts,
    pub(super) delayed_acks_ns: Option<ValueSummary>,
    pub(super) zero_windows_ns: Option<ValueSummary>,
    pub(super) zero_window_open: bool,
    pub(super) zero_windows: Vec<(u64, u64)>,
    /// Gaps in the SACK blocks that the first transmission filled: reordered beyond the capture.
    pub(super) reordered_beyond: u64,
    pub(super) fin_retransmissions: u64,
    pub(super) window_probes: u64,
    /// Small segments that waited for the ACK of the one before (Nagle).
    pub(super) nagle_waits: u64,
    /// Its time by state; the shares sum to 100 %.
    pub(super) budget: Vec<StateShare>,
    /// Time after its last data until the ACK of all.
    pub(super) last_ack_wait_ns: u64,
    pub(super) window_limits: WindowTimes,
    pub(super) growth: GrowthRounds,
    /// The receive window where it limited.
    pub(super) limiting_window_bytes: Option<u64>,
    /// Rate of the bottleneck by the spacing of ACKs.
    pub(super) spacing_bytes_per_second: Option<u64>,
    /// Base of the path's round trip, its values by rounds, its mean in window-limited time, and
    /// the queue's part of that.
    pub(super) base_rtt_ns: Option<u64>,
    pub(super) path_rtt_ns: Option<ValueSummary>,
    pub(super) mean_rtt_ns: Option<u64>,
    pub(super) queue_percent: f64,
    pub(super) plateau_ns: u64,
    /// The sender's socket by `ss`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) socket: Option<SocketWitness>,
    /// Only on request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) over_time: Option<OverTime>,
    #[serde(skip)]
    pub(super) frames: EventFrames,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct EcnCounts {
    /// Segments with payload by codepoint.
    pub(super) not_ect: u64,
    pub(super) ect0: u64,
    pub(super) ect1: u64,
    pub(super) ce: u64,
    pub(super) ce_bytes: u64,
    pub(super) cwr: u64,
    pub(super) cwr_runs: Option<ValueSummary>,
    pub(super) acks: u64,
    pub(super) ece_acks: u64,
    pub(super) ece_bytes: u64,
    pub(super) ece_run_acks: Option<ValueSummary>,
    pub(super) ece_run_ns: Option<ValueSummary>,
    pub(super) longest_ece_run: Option<EceRunReport>,
    /// Accurate ECN: packets with CE counted by the ACE field, and ACKs that added some.
    pub(super) ce_by_ace: u64,
    pub(super) ace_changes: u64,
    /// ACKs with the AccECN option, and the payload with CE that its counter added.
    pub(super) accecn_option_acks: u64,
    pub(super) ce_bytes_by_option: u64,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct EceRunReport {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    pub(super) acks: u64,
    pub(super) bytes: u64,
    pub(super) cwr: u64,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Span {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    pub(super) acks: u64,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct AlphaReport {
    pub(super) windows: u64,
    pub(super) marked_windows: u64,
    /// Bytes acknowledged with a mark over bytes acknowledged, for the whole flow.
    pub(super) marked_fraction: Option<f64>,
    pub(super) last: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Timeouts {
    pub(super) count: u64,
    pub(super) total_ns: u64,
    pub(super) most_backoff: u32,
    pub(super) tail_probes: u64,
    /// Silences after packets that were lost before the capture.
    pub(super) hidden: u64,
    /// Times from arming the timer to the retransmission of the first unacknowledged byte that are
    /// shorter than any stack's minimum RTO.
    pub(super) implausible_ns: Option<ValueSummary>,
    /// Start and end of the first of them.
    pub(super) first_implausible: Option<(u64, u64)>,
    /// Start and end of each timeout's silence, and the number of consecutive timeouts before it.
    pub(super) listed: Vec<(u64, u64, u32)>,
}

/// Series of (time, value): all points, or the first, least, greatest and last of 64 equal
/// intervals.
#[derive(Clone, Debug, Serialize)]
pub(super) struct OverTime {
    pub(super) marked_fraction: Vec<(u64, f64)>,
    pub(super) alpha: Vec<(u64, f64)>,
    pub(super) flight_bytes: Vec<(u64, f64)>,
    pub(super) goodput_bin_ns: u64,
    pub(super) goodput_mbps: Vec<(u64, f64)>,
}

impl From<EceRun> for EceRunReport {
    fn from(r: EceRun) -> Self {
        Self { from_ns: r.from, to_ns: r.to, acks: r.acks, bytes: r.bytes, cwr: r.cwr }
    }
}

impl From<WindowCollapse> for Span {
    fn from(s: WindowCollapse) -> Self {
        Self { from_ns: s.from, to_ns: s.to, acks: s.acks }
    }
}

impl DirectionReport {
    /// Returns the payload of a full segment, or of the longest seen.
    pub(super) fn full_segment(&self) -> u64 {
        u64::from(self.mss_bytes.unwrap_or(self.largest_payload_bytes).max(1))
    }

    /// Returns the report on the data of end `from`, or `None` if the capture has neither data nor
    /// ACKs of more than a FIN.
    pub(super) fn of(flow: &FlowState, from: usize, series: bool) -> Option<Self> {
        let state = &flow.directions[from];
        let data_seen = state.first_data.is_some();
        let acked = state.first_ack.filter(|_| state.stream.acked > 1);
        let start_ns = state.first_data.or(acked)?;
        let round_trip = flow.min_rtt().unwrap_or(0);
        let at_sender = flow.capture_location() == CaptureLocation::At(from);
        let at_receiver = flow.capture_location() == CaptureLocation::At(1 - from);
        let mut collapses = state.window.collapses(at_sender, round_trip);
        collapses.retain(|_| data_seen);
        let mode = flow.negotiated_ecn();
        let stream = &state.stream;
        let (timeline, mut budget, last_ack_wait_ns) = finished(flow, from);
        if !data_seen || (state.acks == 0 && flow.sent[1 - from] == 0) {
            budget = budget.unknown();
        }
        let rounds = &timeline.rounds;
        let feedback = if data_seen {
            feedback::decide(mode, &state.ecn, !collapses.is_empty())
        } else {
            feedback::without_data(mode)
        };
        let size = (flow.mss(from, 0).into(), flow.min_rtt().unwrap_or(0));
        let echo = if feedback.certain { echo(feedback.kind) } else { Echo::Unknown };
        let sender = SenderVerdict::of(&rounds.record, at_sender && data_seen, size, echo);
        // Rounds before both parts of the path were measured have one part only.
        let trip = rounds.mean_trip().filter(|t| t.0 >= round_trip);
        Some(Self {
            from: flow.endpoints[from].to_string(),
            to: flow.endpoints[1 - from].to_string(),
            start_ns,
            data_seen,
            acks_seen: state.acks > 0,
            end_ns: if state.acks > 0 { state.last_ack } else { state.last_data }.max(start_ns),
            mss_bytes: Some(flow.mss(from, 0)).filter(|_| flow.is_mss_known(from)),
            frames: state.frames.clone(),
            packets: stream.packets,
            segments: stream.segments,
            bytes: stream.bytes,
            acked_bytes: stream.acked,
            retransmitted_segments: stream.retransmitted_segments,
            retransmitted_bytes: stream.retransmitted_bytes,
            spurious_bytes: stream.spurious_bytes,
            lost_before_capture_segments: stream.lost_before_capture,
            missing_packets: flow.ids[from].missing(),
            captured_twice: state.copies,
            keep_alives: stream.keep_alives,
            reordered: stream.reordered,
            reordering_packets: ValueSummary::of(&stream.reordering_extent),
            duplicate_acks: state.duplicate_acks,
            dsacks: state.dsacks,
            sack_acks: state.sack_acks,
            unseen_bytes: stream.unseen_bytes,
            large_packets: stream.large,
            largest_payload_bytes: stream.largest,
            rtt_ns: ValueSummary::of(&state.rtt.by_ack),
            rtt_by_timestamps_ns: ValueSummary::of(&state.rtt.by_timestamp),
            marks: marks(state),
            feedback,
            evidence: state.ecn.evidence,
            sender,
            alpha: alpha(state, mode, flow.mss(from, 0), data_seen),
            flight_bytes: ValueSummary::of(&state.window.flight)
                .filter(|_| !at_receiver && data_seen),
            collapses: collapses.into_iter().map(Span::from).collect(),
            stuck_ece: stuck(state, round_trip).filter(|_| data_seen),
            timeouts: Timeouts {
                count: state.stalls.timeouts,
                total_ns: state.stalls.timeout_ns,
                most_backoff: state.stalls.most_backoff,
                tail_probes: state.stalls.tail_probes,
                hidden: state.stalls.hidden_timeouts,
                implausible_ns: ValueSummary::of(&state.stalls.implausible),
                first_implausible: state.stalls.first_implausible,
                listed: state.stalls.listed.iter().map(listed).collect(),
            },
            delayed_acks_ns: ValueSummary::of(&state.stalls.delayed_acks),
            zero_windows_ns: ValueSummary::of(&state.stalls.zero_windows),
            zero_window_open: state.stalls.zero_window_since().is_some(),
            zero_windows: zero_windows(flow, state),
            reordered_beyond: stream.late_heads,
            fin_retransmissions: state.fin_retransmissions,
            window_probes: stream.window_probes,
            nagle_waits: timeline.nagle,
            budget: budget.shares(),
            last_ack_wait_ns,
            window_limits: rounds.window_times(),
            growth: rounds.growth,
            limiting_window_bytes: timeline.limiting_window,
            spacing_bytes_per_second: rounds.spacing_rate(),
            base_rtt_ns: flow.min_rtt(),
            path_rtt_ns: ValueSummary::of(&rounds.round_trips),
            mean_rtt_ns: trip.map(|t| t.0),
            queue_percent: trip.map_or(0.0, |t| t.1),
            plateau_ns: rounds.plateau_ns,
            socket: None,
            over_time: series
                .then(|| over_time(state, !at_receiver && data_seen && state.acks > 0, data_seen)),
        })
    }
}

const fn echo(kind: FeedbackKind) -> Echo {
    match kind {
        FeedbackKind::Rfc3168 => Echo::Latched,
        FeedbackKind::Accecn => Echo::Accurate,
        FeedbackKind::Dctcp | FeedbackKind::Odctcp | FeedbackKind::DctcpOrOdctcp => Echo::Exact,
        FeedbackKind::None | FeedbackKind::Undecided => Echo::Unknown,
    }
}

fn listed(t: &Timeout) -> (u64, u64, u32) {
    (t.from, t.to, t.backoff)
}

fn zero_windows(flow: &FlowState, state: &DirectionState) -> Vec<(u64, u64)> {
    let open = state.stalls.zero_window_since().map(|since| (since, flow.last));
    state.stalls.zero_window_spans.iter().copied().chain(open).collect()
}

fn marks(state: &DirectionState) -> EcnCounts {
    let echo = &state.ecn;
    EcnCounts {
        not_ect: echo.not_ect,
        ect0: echo.ect0,
        ect1: echo.ect1,
        ce: echo.ce,
        ce_bytes: echo.ce_bytes,
        cwr: echo.cwr,
        cwr_runs: ValueSummary::of(&echo.cwr_runs),
        acks: echo.acks,
        ece_acks: echo.ece_acks,
        ece_bytes: echo.ece_bytes,
        ece_run_acks: ValueSummary::of(&echo.runs),
        ece_run_ns: ValueSummary::of(&echo.run_times),
        longest_ece_run: echo.longest.map(EceRunReport::from),
        ce_by_ace: echo.ce_by_ace,
        ace_changes: echo.ace_changes,
        accecn_option_acks: echo.option_acks,
        ce_bytes_by_option: echo.option_ce_bytes,
    }
}

/// ECE on every ACK for long, without a CWR that could have ended it.
fn stuck(state: &DirectionState, round_trip: u64) -> Option<EceRunReport> {
    let long = |r: &EceRun| {
        r.acks >= feedback::STUCK_ACKS
            && r.cwr == 0
            && r.to - r.from >= round_trip.saturating_mul(10)
    };
    state.ecn.longest.filter(long).map(EceRunReport::from)
}

fn alpha(state: &DirectionState, mode: NegotiatedEcn, mss: u32, data_seen: bool) -> AlphaReport {
    let marked = if mode == NegotiatedEcn::Accecn {
        state.ecn.ce_by_ace.saturating_mul(u64::from(mss)).min(state.stream.acked)
    } else {
        state.ecn.ece_bytes
    };
    let all = state.stream.acked;
    if !data_seen {
        // Without the data, no window ends.
        let marked_fraction = (all > 0).then(|| marked as f64 / all as f64);
        return AlphaReport { windows: 0, marked_windows: 0, marked_fraction, last: None };
    }
    AlphaReport {
        windows: state.alpha.windows,
        marked_windows: state.alpha.marked_windows,
        marked_fraction: (all > 0).then(|| marked as f64 / all as f64),
        last: state.alpha.last().filter(|_| mode != NegotiatedEcn::Off),
    }
}

fn over_time(state: &DirectionState, flight: bool, windows: bool) -> OverTime {
    let width = state.goodput.width();
    let shown = |series: &BoundedSeries, on: bool| {
        if on { series.listed(MAX_POINTS) } else { Vec::new() }
    };
    let mbps = |sum: u64| sum as f64 * 8e3 / width as f64;
    OverTime {
        marked_fraction: shown(&state.alpha.fractions, windows),
        alpha: shown(&state.alpha.alphas, windows),
        flight_bytes: shown(&state.window.over_time, flight),
        goodput_bin_ns: width,
        goodput_mbps: state.goodput.sums().map(|(at, sum)| (at, mbps(sum))).collect(),
    }
}

/// Returns the timeline of a direction at its end, with its budget and the wait for its last ACK.
pub(super) fn finished(flow: &FlowState, from: usize) -> (SenderTimeline, TimeBudget, u64) {
    let state = &flow.directions[from];
    let last = state.last_data.max(state.last_ack);
    let complete = state.fin.is_some() && state.stream.flight() == 0;
    let mut timeline = state.timeline.clone();
    let (budget, wait) = timeline.finish(flow.opening(), if complete { last } else { flow.last });
    (timeline, budget, wait)
}
