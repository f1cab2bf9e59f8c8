//! What a congestion control is told and what it answers.

use alloc::boxed::Box;
use core::fmt;

use lowtide_units::{Duration, Instant, Probe, Rate};

use super::per_round_trip;
use crate::params::{Param, Params};

/// The path as it was when the connection was established.
#[derive(Clone, Copy, Debug)]
pub struct CcSetup {
    /// Payload bytes of a full segment, options already taken off.
    pub mss: u32,
    /// Initial window, bytes.
    pub initial_window: u64,
    /// The least window after a reaction, bytes. RTO goes to one segment whatever this says.
    pub floor: u64,
    /// The least ssthresh after a reaction, bytes. Above `floor` a window that came down to that grows by slow
    /// start as far as this.
    pub ssthresh_floor: u64,
    /// RFC 3465 L, bytes: how many of an ACK's bytes may count in slow start.
    pub abc_limit: u64,
    /// ECN was agreed with the peer; without it a control must behave as its loss-only parent.
    pub ecn: bool,
    /// When the connection was established.
    pub now: Instant,
}

/// The facts of one incoming ACK. Bytes are payload bytes; offsets count payload from zero.
#[expect(clippy::struct_excessive_bools, reason = "independent facts of one ACK")]
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct AckSample {
    /// When it came.
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
    /// Bytes known to have arrived for the first time with this ACK, in order or not.
    pub delivered_bytes: u64,
    /// The same in segments.
    pub delivered_segments: u32,
    /// Bytes newly judged lost.
    pub lost_bytes: u64,
    /// Segments newly judged lost.
    pub lost_segments: u32,
    /// Bytes that met CE, as the feedback decoder understood it.
    pub ce_bytes: u64,
    /// Segments that met CE, as the feedback decoder understood it.
    pub ce_segments: u32,
    /// This ACK reports congestion (ECE on an ECN connection).
    pub ece: bool,
    /// Round-trip time measured by this ACK; none on ambiguous ACKs (Karn).
    pub rtt: Option<Duration>,
    /// One-way queueing delay from host stamps; only where the wire carries them (DX).
    pub queueing_delay: Option<Duration>,
    /// The least round trip by host stamps, hosts taken off; comes with `queueing_delay`.
    pub base_rtt: Option<Duration>,
    /// Bytes in flight after this ACK (RFC 6675 pipe).
    pub in_flight: u64,
    /// Bytes in flight before it.
    pub prior_in_flight: u64,
    /// Bytes delivered from when the newest acknowledged segment left until now, and the time since the
    /// last delivery before it left; none where the application was the limit then. See
    /// [`Self::delivery_rate`].
    pub rate_sample: Option<(u64, Duration)>,
    /// The sender had nothing more to send, so the window was not the limit.
    pub app_limited: bool,
    /// A round trip ended: data sent after the previous round's end is now acknowledged.
    pub round_ended: bool,
    /// The cut rule allows an ECN reduction on this ACK.
    pub may_reduce: bool,
    /// The window may grow: not in loss recovery, not frozen after a cut, and it was the limit.
    pub may_grow: bool,
    /// An RTO is being repaired; growth by slow start counts with L = 1 (RFC 3465 §2.3).
    pub after_rto: bool,
    /// The ACK looks like one that a delayed-ACK timer released; the rule is ours, as no
    /// specification has one: it covers fewer than m segments (switch `delack-segments`), its ECE is
    /// that of the ACK before, nothing is left outstanding, and its round-trip time is at least the
    /// minimum and a clock tick (switch `rto-granularity`).
    pub delack_suspected: bool,
    /// Whether a delayed-ACK timer really released it; told by simulators only.
    pub delack_timeout: Option<bool>,
}

impl AckSample {
    /// Delivery rate over the newest acknowledged segment's own flight. A division of 128 bits, so it is
    /// made for those who ask.
    pub fn delivery_rate(&self) -> Option<Rate> {
        let (bytes, span) = self.rate_sample?;
        per_round_trip(bytes, 100, span.as_ps())
    }
}

/// What the control did about congestion on this ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Reaction {
    /// Nothing.
    None,
    /// It cut its window, because of ECN or delay. For ECN the connection notes the round and owes a CWR.
    Reduced,
}

/// The rare events.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum CongestionEvent {
    /// Fast retransmit: a loss was found without a timeout. `in_flight` is FlightSize in bytes.
    Loss {
        /// When.
        now: Instant,
        /// FlightSize before the first retransmission, bytes.
        in_flight: u64,
        /// An ECN cut already happened in this window of data: the two must not add up.
        already_reduced: bool,
    },
    /// Fast recovery is over. `in_flight` is FlightSize in bytes.
    Recovered {
        /// When.
        now: Instant,
        /// FlightSize, bytes; RFC 6582 §3.2 step 3 (1) bounds the burst with it. `u64::MAX` where no
        /// burst is left to be bounded, because the window came down by PRR (RFC 9937 §6.4).
        in_flight: u64,
    },
    /// The retransmission timer fired.
    Rto {
        /// When.
        now: Instant,
        /// The first timeout for this data: only this one lowers ssthresh (RFC 5681 §3.1).
        first: bool,
        /// FlightSize, bytes.
        in_flight: u64,
    },
    /// Sending resumes after at least one RTO without any (RFC 5681 §4.1).
    IdleRestart {
        /// When.
        now: Instant,
        /// How long nothing was sent.
        idle: Duration,
    },
    /// The last loss reaction was spurious: restore what it took.
    Undo {
        /// When.
        now: Instant,
    },
}

/// What a control reacts to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// Fast retransmit and RTO.
    Loss,
    /// ECN feedback.
    Ecn,
    /// Queueing delay.
    Delay,
}

/// What a control needs of the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Requirements {
    /// It makes sense with ECN only; without it, it falls back as its file says.
    pub ecn: bool,
    /// It needs host stamps on the wire (DX).
    pub host_stamps: bool,
}

/// A rule of the conformance kit that a control does not follow, with the text that allows it.
#[derive(Clone, Copy, Debug)]
pub struct Exemption {
    /// Name of the rule in the kit.
    pub rule: &'static str,
    /// Where the exemption is written down.
    pub source: &'static str,
}

/// What a control says of itself; the conformance kit holds it to that.
#[derive(Clone, Copy, Debug)]
pub struct DeclaredProperties {
    /// The signals it reacts to.
    pub reacts_to: &'static [Signal],
    /// Least window after any reaction but an RTO, in segments, when the path's floor allows it.
    pub floor_segments: u32,
    /// An ECN cut is proportional to the marked share, instead of a fixed factor.
    pub proportional: bool,
    /// Rules that it is exempt from; each must really be broken.
    pub exemptions: &'static [Exemption],
}

/// One registered congestion control.
#[derive(Debug)]
pub struct CcEntry {
    /// Name as people write it.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The specification.
    pub spec: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// What it declares.
    pub declared: DeclaredProperties,
    /// What it needs.
    pub requires: Requirements,
    /// Makes one for a connection.
    pub build: fn(&Params, &CcSetup) -> Box<dyn CongestionControl>,
}

/// How often a control guessed right that the peer's delayed-ACK timer had released an ACK, where a
/// simulator tells the truth.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DelackDetection {
    /// It had, and the guess said so.
    pub true_positives: u32,
    /// It had, and the guess did not say so.
    pub false_negatives: u32,
    /// It had not, and the guess said that it had.
    pub false_positives: u32,
}

/// Decides how much may be in flight.
pub trait CongestionControl: fmt::Debug + Send {
    /// One ACK. The control updates its estimators and its window, in the order of its specification. What
    /// comes before this end has sent any data is not told ([`Self::runs_by_the_clock`]), unless it
    /// reports congestion.
    fn on_ack(&mut self, ack: &AckSample) -> Reaction;
    /// Loss, timeout, idle restart and undo.
    fn on_event(&mut self, event: &CongestionEvent);
    /// Congestion window, bytes.
    fn cwnd(&self) -> u64;
    /// Slow-start threshold, bytes; `u64::MAX` before the first reaction.
    fn ssthresh(&self) -> u64;
    /// Rate at which to space segments; `None` sends as the ACKs come.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// How often it guessed right at delayed-ACK timeouts; all zero for a control that does not guess.
    fn delack_detection(&self) -> DelackDetection {
        DelackDetection::default()
    }
    /// It follows the time, too: it is also told of segments that come before this end has sent any data,
    /// which bring no news else. Others are not troubled with those.
    fn runs_by_the_clock(&self) -> bool {
        false
    }
    /// Shows what else is worth recording (alpha). cwnd and ssthresh are recorded anyway.
    fn probe(&self, out: &mut dyn Probe) {
        let _ = out;
    }
}
