//! State of one direction of a connection: the data of one end and the ACKs of the other.

use lowtide_wire::{Ecn, Flags, Segment, SeqNum};

use super::alpha::AlphaEstimator;
use super::ecn_echo::EcnTracker;
use super::handshake::NegotiatedEcn;
use super::rtt::PathRtt;
use super::series::{Bins, DRAWN_COLUMNS, LISTED_COLUMNS};
use super::stalls::Stalls;
use super::stream::{PayloadKind, SequenceTracker};
use super::trace::TimeSequenceTrace;
use super::window::FlightTracker;

/// Settings for the analysis of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnalysisSettings {
    /// g of alpha.
    pub(super) gain: f64,
    /// Minimum retransmission timeout of the senders' stacks, nanoseconds.
    pub(super) rto_min: u64,
    /// A plot is requested.
    pub(super) traced: bool,
}

/// State of both directions when a packet arrives. Times are in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketContext {
    pub(super) time: u64,
    pub(super) negotiated_ecn: NegotiatedEcn,
    /// Payload of a full segment.
    pub(super) mss: u32,
    /// Minimum round trip of the whole path.
    pub(super) min_rtt: Option<u64>,
    /// Minimum and median round trip between the capture and this sender.
    pub(super) min_sender_rtt: Option<u64>,
    pub(super) median_sender_rtt: Option<u64>,
    /// Time since the connection's last packet.
    pub(super) silence: u64,
}

/// Silence before a retransmission that is taken for a timeout while the round trip is unknown.
const LONG_SILENCE_NS: u64 = 100_000_000;
/// A capture is at a sender if its round trip to the receiver is this many times longer.
pub(super) const NEAR_RTT_RATIO: u64 = 4;

#[derive(Clone, Debug)]
pub(super) struct DirectionState {
    pub(super) stream: SequenceTracker,
    pub(super) rtt: PathRtt,
    pub(super) ecn: EcnTracker,
    pub(super) alpha: AlphaEstimator,
    pub(super) stalls: Stalls,
    pub(super) window: FlightTracker,
    pub(super) goodput: Bins,
    pub(super) first_data: Option<u64>,
    pub(super) last_data: u64,
    /// The first ACK that advanced.
    pub(super) first_ack: Option<u64>,
    pub(super) last_ack: u64,
    /// ACKs of this data, and those with SACK blocks above the acknowledgement number.
    pub(super) acks: u64,
    pub(super) sack_acks: u64,
    /// DSACK blocks (RFC 2883), and ACKs that repeat the previous number.
    pub(super) dsacks: u64,
    pub(super) duplicate_acks: u64,
    /// Packets captured more than once.
    pub(super) copies: u64,
    last_window: Option<u16>,
    pub(super) fin: Option<u64>,
    pub(super) reset: Option<u64>,
    pub(super) trace: Option<Box<TimeSequenceTrace>>,
}

impl DirectionState {
    pub(super) fn new(settings: AnalysisSettings) -> Self {
        let AnalysisSettings { gain, rto_min, traced } = settings;
        let bins = if traced { DRAWN_COLUMNS } else { LISTED_COLUMNS };
        Self {
            stream: SequenceTracker::default(),
            rtt: PathRtt::default(),
            ecn: EcnTracker::default(),
            alpha: AlphaEstimator::new(gain, bins),
            stalls: Stalls::new(rto_min),
            window: FlightTracker::new(bins),
            goodput: Bins::default(),
            first_data: None,
            last_data: 0,
            first_ack: None,
            last_ack: 0,
            acks: 0,
            sack_acks: 0,
            dsacks: 0,
            duplicate_acks: 0,
            copies: 0,
            last_window: None,
            fin: None,
            reset: None,
            trace: traced.then(Box::default),
        }
    }

    /// Returns the silence from which on a retransmission is a timeout.
    fn timeout_silence(&self, context: &PacketContext) -> u64 {
        let Some(smoothed) = self.rtt.srtt() else { return LONG_SILENCE_NS };
        let back = context.min_sender_rtt.unwrap_or(0);
        if self.rtt.min().is_some_and(|there| there > back.saturating_mul(NEAR_RTT_RATIO)) {
            // The capture is near the sender, which reacts to an ACK at once.
            (smoothed / 2).max(back.saturating_mul(NEAR_RTT_RATIO))
        } else {
            // A whole round trip may pass between an ACK and the sender's reaction.
            let usual = context.median_sender_rtt.unwrap_or(back);
            (smoothed + usual.max(back)).saturating_mul(3)
        }
    }

    /// Processes a segment without SYN from this end.
    pub(super) fn on_segment(&mut self, segment: &Segment, context: &PacketContext) {
        let time = context.time;
        if let Some(stamps) = segment.options.timestamps {
            self.rtt.on_tsval(time, stamps.value);
        }
        if segment.flags.contains(Flags::FIN) {
            self.fin.get_or_insert(time);
        }
        let head_sent = self.stream.first_unacked_sent();
        let (sent, start) = self.stream.on_data(time, segment, context.mss, context.min_rtt);
        if segment.payload_len == 0 || sent == PayloadKind::NoData {
            return;
        }
        self.first_data.get_or_insert(time);
        self.last_data = time;
        let fresh = matches!(sent, PayloadKind::New | PayloadKind::Reordered);
        let accurate = context.negotiated_ecn == NegotiatedEcn::Accecn;
        self.ecn.on_data(segment, start, context.mss, fresh, accurate);
        if let PayloadKind::Retransmission { head, tail } = sent {
            let threshold = self.timeout_silence(context);
            let armed = head_sent.unwrap_or(0).max(self.last_ack);
            let fired =
                head && self.stalls.on_head_retransmit(time, context.silence, threshold, armed);
            if tail && !head && !fired {
                self.stalls.on_tail_retransmit(context.silence, threshold);
            }
        }
        self.window.on_data(time, self.stream.flight());
        if let Some(trace) = &mut self.trace {
            let end = start + u64::from(segment.payload_len);
            let cwr = !accurate && segment.flags.contains(Flags::CWR);
            trace.on_data(time, end, sent, segment.ecn == Ecn::Ce, cwr);
        }
    }

    /// Processes a segment without SYN from the other end that acknowledges data of this end.
    pub(super) fn on_ack(&mut self, segment: &Segment, context: &PacketContext) {
        let (time, mss) = (context.time, context.mss);
        if let Some(stamps) = segment.options.timestamps {
            self.rtt.on_tsecr(time, stamps.echo);
        }
        let Some(covered) = self.stream.on_ack(time, segment.ack) else { return };
        self.acks += 1;
        self.stalls.on_window(time, segment.window);
        let newly = covered.newly_acked();
        let pure = segment.payload_len == 0 && !segment.flags.contains(Flags::FIN);
        let edges = |n: SeqNum| self.stream.sack_offset(n).is_some_and(|at| at < covered.ack);
        let blocks = segment.options.sack.as_slice();
        self.dsacks += u64::from(blocks.first().is_some_and(|(first, _)| edges(*first)));
        self.sack_acks += u64::from(blocks.iter().any(|(first, _)| !edges(*first)));
        let same_window = self.last_window.replace(segment.window) == Some(segment.window);
        if pure && newly == 0 && !covered.stale && covered.flight > 0 && same_window {
            self.duplicate_acks += 1;
        }
        let lone = newly > 0 && newly == covered.flight;
        let least = self.rtt.rtt_without_delack();
        let waited = covered.rtt.zip(least).filter(|_| lone && !covered.has_hole);
        let (mut late, mut marked) = (false, 0);
        if let Some((rtt, least)) = waited {
            let before = self.stalls.delayed_acks.count();
            self.stalls.on_full_ack(rtt, covered.oldest_age, least);
            late = self.stalls.delayed_acks.count() > before;
        }
        if let Some(rtt) = covered.rtt {
            self.rtt.on_ack(rtt, newly == covered.flight);
        }
        let echo = match context.negotiated_ecn {
            NegotiatedEcn::Accecn => {
                let ahead = self.ecn.on_accecn_ack(segment, &covered);
                marked = ahead.saturating_mul(u64::from(mss));
                ahead > 0
            }
            _ if covered.stale => false,
            _ => {
                self.ecn.on_classic_ack(time, segment, &covered, mss, late);
                let echo = segment.flags.contains(Flags::ECE);
                marked = if echo { newly } else { 0 };
                echo
            }
        };
        if newly > 0 {
            self.first_ack.get_or_insert(time);
            self.last_ack = time;
            self.stalls.on_advance();
            self.goodput.add(time, newly);
            self.window.on_ack(time, &covered, echo, mss, context.min_rtt);
            let now = (time, context.min_rtt.unwrap_or(0));
            self.alpha.on_ack(now, covered.ack, (newly, marked), self.stream.highest);
        }
        if let Some(trace) = &mut self.trace
            && self.stream.highest > 0
        {
            let sacked = segment.options.sack.as_slice();
            let sacked = sacked.iter().flat_map(|(a, b)| [*a, *b]);
            let sacked: Vec<u64> = sacked.filter_map(|n| self.stream.sack_offset(n)).collect();
            trace.on_ack(time, covered.ack, echo, &sacked);
        }
    }
}
