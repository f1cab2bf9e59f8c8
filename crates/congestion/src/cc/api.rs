//! Interface of the congestion controls.

use alloc::boxed::Box;
use core::fmt;

use lowtide_schema::{Param, Part, Values};
use lowtide_units::{Duration, Instant, Probe, Rate};

use super::per_round_trip;

/// Parameters of the connection when it was established.
#[derive(Clone, Copy, Debug)]
pub struct CcSetup {
    /// Payload bytes of a full segment, excluding options.
    pub mss: u32,
    /// Initial window, bytes.
    pub initial_window: u64,
    /// Minimum window after a reaction, bytes. An RTO reduces it to one segment regardless.
    pub floor: u64,
    /// Minimum ssthresh after a reaction, bytes. If above `floor`, a window reduced below it grows
    /// by slow start up to it.
    pub ssthresh_floor: u64,
    /// RFC 3465 L, bytes: how many of an ACK's bytes may count in slow start.
    pub abc_limit: u64,
    /// ECN was negotiated; without it a control must behave as its loss-only parent.
    pub ecn: bool,
    /// Time when the connection was established.
    pub now: Instant,
    /// Seed of the control's random numbers. A simulated run derives it from its own seed and the
    /// name of the flow; a driver that sets none leaves zero.
    pub seed: u64,
    /// Smoothed round-trip time of the handshake; none if it gave no sample.
    pub rtt: Option<Duration>,
    /// Rules of the window in which stacks differ.
    pub rules: WindowRules,
}

/// Unit in which an ACK of new data grows the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GrowthCounts {
    /// The bytes that it acknowledges; L limits them in slow start (RFC 3465 §2).
    Bytes,
    /// These bytes, with L as their limit in congestion avoidance too (FreeBSD).
    LimitedBytes,
    /// One segment, whatever it acknowledges (RFC 5681 §3.1).
    Acks,
    /// The bytes that it newly delivers; L limits them in slow start, not to one segment after a
    /// timeout (Linux).
    Delivered,
}

/// Rules of the window in which some stacks differ from the RFCs; [`WindowRules::RFC`] has the
/// RFCs'.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowRules {
    /// Unit in which an ACK of new data grows the window.
    pub counts: GrowthCounts,
    /// An ECN cut starts from cwnd or the peer's window, whichever is smaller. Else from cwnd.
    pub cut_from_window: bool,
    /// ssthresh at the start, bytes; `u64::MAX` for none (RFC 5681 §3.1).
    pub initial_ssthresh: u64,
    /// Maximum window after idle, bytes; `None` for the initial window (RFC 5681 §4.1).
    pub restart_window: Option<u64>,
}

impl WindowRules {
    /// Bytes count, cuts start from cwnd, and ssthresh has no initial bound.
    pub const RFC: Self = Self {
        counts: GrowthCounts::Bytes,
        cut_from_window: false,
        initial_ssthresh: u64::MAX,
        restart_window: None,
    };
}

/// Sample of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation-02 §3.3), over the time
/// of the segment that was sent last among those that an ACK delivers, sent again or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateSample {
    /// Bytes delivered on the connection when that segment was sent. A round trip began there.
    pub prior_delivered: u64,
    /// Bytes delivered since then, at least one.
    pub delivered: u64,
    /// The longer of the time in which they were sent and that in which they were acknowledged; not
    /// shorter than the minimum round-trip time.
    pub interval: Duration,
    /// The application left cwnd unused before that segment was sent.
    pub app_limited: bool,
    /// Bytes in flight when that segment was sent, itself included.
    pub tx_in_flight: u64,
    /// Bytes marked lost since then.
    pub lost: u64,
}

/// A segment marked lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostSegment {
    /// Its first offset.
    pub start: u64,
    /// One past its last offset.
    pub end: u64,
    /// Bytes in flight when it was sent last, itself included.
    pub tx_in_flight: u64,
    /// Bytes marked lost since then, itself included.
    pub lost: u64,
    /// The application left cwnd unused before it was sent.
    pub app_limited: bool,
}

impl RateSample {
    /// The delivery rate. Computed on request, because it needs a 128-bit division.
    pub fn rate(&self) -> Option<Rate> {
        per_round_trip(self.delivered, 100, self.interval.as_ps())
    }
}

/// Facts about one incoming ACK. Bytes are payload bytes; offsets count payload from zero. Tests
/// build one from [`AckSample::default`], so that a new field does not concern them.
#[expect(clippy::struct_excessive_bools, reason = "independent facts of one ACK")]
#[derive(Clone, Copy, Debug, Default)]
pub struct AckSample {
    /// Time of arrival.
    pub now: Instant,
    /// SND.UNA after this ACK.
    pub snd_una: u64,
    /// SND.NXT (the highest byte ever sent, plus one).
    pub snd_nxt: u64,
    /// Bytes newly acknowledged cumulatively.
    pub acked_bytes: u64,
    /// Segments newly acknowledged cumulatively.
    pub acked_segments: u32,
    /// Bytes newly SACKed.
    pub sacked_bytes: u64,
    /// Segments newly SACKed.
    pub sacked_segments: u32,
    /// Bytes newly delivered according to this ACK, in order or not.
    pub delivered_bytes: u64,
    /// Segments newly delivered according to this ACK, in order or not.
    pub delivered_segments: u32,
    /// Bytes newly marked lost.
    pub lost_bytes: u64,
    /// Segments newly marked lost.
    pub lost_segments: u32,
    /// Bytes with CE according to the feedback decoder.
    pub ce_bytes: u64,
    /// Segments with CE according to the feedback decoder.
    pub ce_segments: u32,
    /// This ACK reports congestion (ECE on an ECN connection).
    pub ece: bool,
    /// Round-trip time measured by this ACK; none on ambiguous ACKs (Karn).
    pub rtt: Option<Duration>,
    /// One-way queueing delay from the delay option, if negotiated (DX).
    pub queueing_delay: Option<Duration>,
    /// Minimum round trip by the delay option, without host delays; present with `queueing_delay`.
    pub base_rtt: Option<Duration>,
    /// This round trip by the delay option, without host delays: lines and queues of both
    /// directions; present with `queueing_delay`.
    pub fabric_delay: Option<Duration>,
    /// Time in both hosts by the delay option: at the peer from the arrival of the newest
    /// acknowledged segment (with `delay-echo = "newest"`) to the departure of this ACK, and here
    /// from its arrival to TCP in whole us, zero if the driver does not measure it. Present with
    /// `queueing_delay`.
    pub endpoint_delay: Option<Duration>,
    /// Bytes in flight after this ACK (RFC 6675 pipe).
    pub in_flight: u64,
    /// Bytes in flight before it.
    pub prior_in_flight: u64,
    /// SND.WND: the peer's window, bytes.
    pub snd_wnd: u64,
    /// Sample of the delivery rate; none without [`Requirements::rate_samples`], and if this ACK
    /// gives none.
    pub rate_sample: Option<RateSample>,
    /// The sender had no more data, so the window was not the limit.
    pub app_limited: bool,
    /// A round trip ended: data sent after the previous round's end is now acknowledged.
    pub round_ended: bool,
    /// The cut rule allows an ECN reduction on this ACK.
    pub may_reduce: bool,
    /// The window may grow: not in loss recovery, not frozen after a cut, and the switch
    /// `growth-when` permits it (by default: cwnd was the limit).
    pub may_grow: bool,
    /// An RTO is being repaired; slow start counts with L = 1 (RFC 3465 §2.3).
    pub after_rto: bool,
    /// A delayed-ACK timer seems to have released this ACK. The rule is ours, as no specification
    /// has one. The ACK covers fewer than m segments (switch `delack-segments`), its ECE equals
    /// that of the ACK before, and nothing is outstanding after it. Its round-trip time is at least
    /// the minimum plus a clock tick (switch `rto-granularity`).
    pub delack_suspected: bool,
    /// True if a delayed-ACK timer released it; known in simulators only.
    pub delack_timeout: Option<bool>,
}

/// Reaction of the control to congestion on this ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Reaction {
    /// Nothing.
    None,
    /// It cut its window because of ECN or delay. For ECN the connection records the round and
    /// sends CWR.
    Reduced,
}

/// Events other than ACKs.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum CongestionEvent {
    /// Fast retransmit: a loss was found without a timeout. `in_flight` is FlightSize in bytes.
    Loss {
        /// Time of the event.
        now: Instant,
        /// FlightSize before the first retransmission, bytes; cwnd or less with other values of
        /// `loss-from`.
        in_flight: u64,
        /// An ECN cut already happened in this window of data: the two must not add up.
        already_reduced: bool,
    },
    /// Fast recovery is over. `in_flight` is FlightSize in bytes.
    Recovered {
        /// Time of the event.
        now: Instant,
        /// FlightSize, bytes; RFC 6582 §3.2 step 3 (1) bounds the burst with it. `u64::MAX` if PRR
        /// reduced the window, so that no burst is possible (RFC 9937 §6.4).
        in_flight: u64,
    },
    /// The retransmission timer fired.
    Rto {
        /// Time of the event.
        now: Instant,
        /// The first timeout for this data: only this one lowers ssthresh (RFC 5681 §3.1).
        first: bool,
        /// Fast recovery was in progress. [`Self::Undo`] restores the state before it: the timeout
        /// is of the same episode.
        in_recovery: bool,
        /// FlightSize, bytes; with `loss-from` as in [`Self::Loss`].
        in_flight: u64,
    },
    /// Sending resumes after an idle time of at least one RTO (RFC 5681 §4.1).
    IdleRestart {
        /// Time of the event.
        now: Instant,
        /// Time without sending.
        idle: Duration,
        /// RTOs that passed meanwhile, if each halves the window (`idle-decay`); `None`: the window
        /// is the restart window at once.
        halvings: Option<u32>,
    },
    /// New data is about to be sent, and none is in flight, after idle or not (Linux
    /// `CA_EVENT_TX_START`). Only for controls with [`Requirements::rate_samples`].
    TransmitStart {
        /// Time of the event.
        now: Instant,
        /// The application left cwnd unused before.
        app_limited: bool,
    },
    /// A segment is marked lost, after [`Self::Loss`] and [`Self::Rto`] and before the ACK that
    /// shows it. Only for controls with [`Requirements::rate_samples`].
    SegmentLost {
        /// Time of the event.
        now: Instant,
        /// The segment.
        segment: LostSegment,
    },
    /// The last loss reaction was spurious: restore the state before it.
    Undo {
        /// Time of the event.
        now: Instant,
    },
}

/// Congestion signal of a control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// Fast retransmit and RTO.
    Loss,
    /// ECN feedback.
    Ecn,
    /// Queueing delay.
    Delay,
}

/// Requirements of a control on the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Requirements {
    /// It needs ECN; without it, it falls back as documented in its file.
    pub ecn: bool,
    /// It needs the delay option (DX).
    pub host_stamps: bool,
    /// It needs [`AckSample::rate_sample`]; others do without their cost.
    pub rate_samples: bool,
}

/// A rule of the conformance kit that a control does not follow, with the text that allows it.
#[derive(Clone, Copy, Debug)]
pub struct Exemption {
    /// Name of the rule in the kit.
    pub rule: &'static str,
    /// Specification of the exemption.
    pub source: &'static str,
}

/// Declared properties of a control, which the conformance kit checks.
#[derive(Clone, Copy, Debug)]
pub struct DeclaredProperties {
    /// The signals it reacts to.
    pub reacts_to: &'static [Signal],
    /// Minimum window after any reaction except an RTO, in segments, if the path's floor allows it;
    /// 0 if the window may be below one segment.
    pub floor_segments: u32,
    /// An ECN cut is proportional to the marked share, instead of a fixed factor.
    pub proportional: bool,
    /// It sends at its pacing rate, and its window only bounds the data in flight. The switch
    /// `pacing` must not be `off`, `reduction` is `one-step` (Linux: no PRR beside `cong_control`),
    /// and the conformance kit checks rules of rates instead of those of windows.
    pub rate_based: bool,
    /// Rules that it is exempt from; it must really break each.
    pub exemptions: &'static [Exemption],
}

/// One registered congestion control.
#[derive(Debug)]
pub struct CcEntry {
    /// Name as users type it.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The specification.
    pub spec: &'static str,
    /// Its equations, for `lowtide explain`.
    pub equations: &'static [&'static str],
    /// Its parameters. A connection panics at ESTABLISHED if a required one was not set.
    pub params: &'static [Param],
    /// Declared properties.
    pub declared: DeclaredProperties,
    /// Requirements on the connection.
    pub requires: Requirements,
    /// Creates a control for a connection.
    pub build: fn(&Values, &CcSetup) -> Box<dyn CongestionControl>,
}

impl Part for CcEntry {
    const WHAT: &'static str = "congestion control";

    fn name(&self) -> &'static str {
        self.name
    }
}

/// Accuracy of a control's guess that the peer's delayed-ACK timer released an ACK, if a simulator
/// reports the truth.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DelackDetection {
    /// The timer did, and the guess was yes.
    pub true_positives: u32,
    /// The timer did, and the guess was no.
    pub false_negatives: u32,
    /// The timer did not, and the guess was yes.
    pub false_positives: u32,
}

/// Limits the data in flight.
pub trait CongestionControl: fmt::Debug + Send {
    /// Processes one ACK: updates the estimators and the window, in the order of the specification.
    /// ACKs that arrive before this end has sent data are not passed on, unless they report
    /// congestion or [`Self::runs_by_the_clock`] is set.
    fn on_ack(&mut self, ack: &AckSample) -> Reaction;
    /// Processes loss, timeout, idle restart and undo.
    fn on_event(&mut self, event: &CongestionEvent);
    /// Congestion window, bytes; above zero. Below one segment it is a rate: the connection has one
    /// segment in flight, and sends the next `srtt mss / cwnd` after it at the earliest.
    fn cwnd(&self) -> u64;
    /// Slow-start threshold, bytes; before the first reaction [`WindowRules::initial_ssthresh`].
    fn ssthresh(&self) -> u64;
    /// Pacing rate of IP packets, of payload if [`DeclaredProperties::rate_based`]; `None` sends on
    /// ACKs.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Accuracy of the guesses at delayed-ACK timeouts; all zero for a control that does not guess.
    fn delack_detection(&self) -> DelackDetection {
        DelackDetection::default()
    }

    /// True if the control depends on time: it then also gets ACKs that arrive before this end has
    /// sent data.
    fn runs_by_the_clock(&self) -> bool {
        false
    }

    /// Reports further state variables (alpha). cwnd and ssthresh are recorded anyway.
    fn probe(&self, out: &mut dyn Probe) {
        let _ = out;
    }
}
