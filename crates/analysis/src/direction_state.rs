//! State of one direction of a connection: the data of one end and the ACKs of the other.

use lowtide_wire::{Ecn, Flags, Segment, SeqNum};

use super::alpha::AlphaEstimator;
use super::ecn_echo::EcnTracker;
use super::evidence::{Event, EventFrames};
use super::handshake::NegotiatedEcn;
use super::rtt::PathRtt;
use super::series::{Bins, DRAWN_COLUMNS, LISTED_COLUMNS, MAX_BINS};
use super::stalls::{Retransmit, RetransmitCause, Stalls};
use super::stream::{PayloadKind, SequenceTracker};
use super::timeline::{Opening, ReceivedAck, SendReason, SenderTimeline, SentSegment};
use super::trace::TimeSequenceTrace;
use super::window::FlightTracker;

/// Settings for the analysis of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnalysisSettings {
    /// g of alpha.
    pub(super) gain: f64,
    /// Minimum retransmission timeout of the senders' stacks, nanoseconds.
    pub(super) rto_min: u64,
    /// Values over time are requested.
    pub(super) series: bool,
    /// A plot is requested.
    pub(super) traced: bool,
}

/// State of both directions when a packet arrives. Times are in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketContext {
    pub(super) time: u64,
    /// Number of the packet in the capture.
    pub(super) frame: u64,
    pub(super) negotiated_ecn: NegotiatedEcn,
    /// Payload of a full segment.
    pub(super) mss: u32,
    /// Payload of a full segment by the options of the handshake.
    pub(super) agreed_mss: Option<u32>,
    /// Minimum round trip of the whole path.
    pub(super) min_rtt: Option<u64>,
    /// Minimum and median round trip between the capture and this sender.
    pub(super) min_sender_rtt: Option<u64>,
    pub(super) median_sender_rtt: Option<u64>,
    /// The capture is at this sender.
    pub(super) at_sender: bool,
    /// Packets of this sender that are missing before this one, if the identifications tell.
    pub(super) missing: Option<u64>,
    /// Recent round trip of the path, with its minimum.
    pub(super) trip: Option<(u64, u64)>,
    pub(super) opening: Opening,
    /// Window scale of the receiver.
    pub(super) scale: Option<u8>,
    /// SACK was agreed.
    pub(super) sack: bool,
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
    /// Data above the first unacknowledged byte has been SACKed.
    sacked: bool,
    pub(super) fin_retransmissions: u64,
    pub(super) timeline: SenderTimeline,
    pub(super) frames: EventFrames,
    /// Time and number of its first FIN.
    pub(super) fin: Option<(u64, SeqNum)>,
    /// Time and frame of its reset.
    pub(super) reset: Option<(u64, u64)>,
    pub(super) trace: Option<Box<TimeSequenceTrace>>,
}

impl DirectionState {
    pub(super) fn new(settings: AnalysisSettings) -> Self {
        let AnalysisSettings { gain, rto_min, series, traced } = settings;
        let (bins, sums) = match (traced, series) {
            (true, _) => (DRAWN_COLUMNS, MAX_BINS),
            (false, true) => (LISTED_COLUMNS, MAX_BINS),
            (false, false) => (0, 1),
        };
        Self {
            stream: SequenceTracker::default(),
            rtt: PathRtt::default(),
            ecn: EcnTracker::default(),
            alpha: AlphaEstimator::new(gain, bins),
            stalls: Stalls::new(rto_min),
            window: FlightTracker::new(bins),
            goodput: Bins::new(sums),
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
            sacked: false,
            fin_retransmissions: 0,
            timeline: SenderTimeline::new(traced),
            frames: EventFrames::default(),
            fin: None,
            reset: None,
            trace: traced.then(Box::default),
        }
    }

    /// Returns the silence from which on a retransmission is a timeout.
    fn timeout_silence(&self, context: &PacketContext) -> u64 {
        let Some(smoothed) = self.rtt.srtt().or(context.min_rtt) else { return LONG_SILENCE_NS };
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

    /// Returns whether new data is a tail loss probe (RFC 8985 §7.3): nothing triggered it, and the
    /// ACKs of the segments before are overdue.
    fn is_new_probe(&self, context: &PacketContext) -> bool {
        let srtt = self.rtt.srtt().or(context.min_rtt);
        let pto = srtt.map_or(u64::MAX, |srtt| srtt.saturating_mul(2) / 10 * 9);
        let mss = u64::from(context.mss);
        context.at_sender
            && context.sack
            && !self.sacked
            && self.stream.unacked_before_last() >= 2 * mss
            && context.silence >= pto.max(self.timeout_silence(context))
    }

    /// Returns the present and the least round trip between the capture and this sender.
    fn sender_delay(&self, context: &PacketContext) -> (u64, u64) {
        if context.at_sender {
            return (0, 0);
        }
        let least = context.min_sender_rtt.unwrap_or(0);
        (least + self.rtt.queue_to_capture().unwrap_or(0), least)
    }

    /// Returns why the sender sent a segment, and counts timers.
    fn send_reason(
        &mut self,
        sent: PayloadKind,
        head_sent: Option<u64>,
        closed: bool,
        context: &PacketContext,
    ) -> SendReason {
        let least = self.stalls.rto_min.max(context.trip.map_or(0, |(now, _)| now)) / 10 * 9;
        let pause = context.time.saturating_sub(self.last_data);
        if !context.at_sender
            && context.missing.is_some_and(|n| n > 0)
            && self.first_data.is_some()
            && head_sent.is_none()
            && pause >= least
        {
            // Packets were lost before the capture, and the next one came after a timer's time.
            self.stalls.hidden_timeouts += 1;
            self.frames.note(Event::Timeout, context.frame);
            return SendReason::Timer;
        }
        let PayloadKind::Retransmission { head, tail } = sent else {
            return match sent {
                PayloadKind::WindowProbe => SendReason::WindowProbe,
                _ if self.is_new_probe(context) => {
                    self.stalls.tail_probes += 1;
                    self.frames.note(Event::Probe, context.frame);
                    SendReason::Timer
                }
                _ => SendReason::New,
            };
        };
        self.frames.note(Event::Retransmission, context.frame);
        let early = self.stalls.implausible.count();
        let cause = self.stalls.on_retransmit(&Retransmit {
            time: context.time,
            silence: context.silence,
            threshold: self.timeout_silence(context),
            armed: head_sent.unwrap_or(0).max(self.last_ack),
            srtt: self.rtt.srtt().unwrap_or(0),
            head,
            tail,
            sack: (context.sack || self.sacked).then_some(self.sacked),
        });
        match cause {
            RetransmitCause::Timeout => self.frames.note(Event::Timeout, context.frame),
            RetransmitCause::Probe => self.frames.note(Event::Probe, context.frame),
            RetransmitCause::Repair if self.stalls.implausible.count() > early => {
                self.frames.note(Event::EarlyTimer, context.frame);
            }
            RetransmitCause::Repair => {}
        }
        match cause {
            _ if closed => SendReason::WindowProbe,
            RetransmitCause::Timeout | RetransmitCause::Probe => SendReason::Timer,
            RetransmitCause::Repair => SendReason::Repair,
        }
    }

    /// Processes a segment without SYN from this end.
    pub(super) fn on_segment(&mut self, segment: &Segment, context: &PacketContext) {
        let time = context.time;
        if let Some(stamps) = segment.options.timestamps {
            self.rtt.on_tsval(time, stamps.value);
        }
        if segment.flags.contains(Flags::FIN) {
            // Some senders send another FIN one number later.
            let number = segment.seq.add(u64::from(segment.payload_len));
            let again = *self.fin.get_or_insert((time, number)) != (time, number);
            let same = self.fin.is_some_and(|(_, first)| first == number);
            self.fin_retransmissions += u64::from(again && same && segment.payload_len == 0);
        }
        let head_sent = self.stream.head_sent();
        let closed = self.last_window == Some(0);
        let (sent, start) =
            self.stream.on_data(time, segment, context.mss, context.min_rtt, closed);
        if sent == PayloadKind::NoData {
            return;
        }
        let reason = self.send_reason(sent, head_sent, closed, context);
        let (delay, least_delay) = self.sender_delay(context);
        // With AccECN the bit is a part of ACE.
        let accurate = context.negotiated_ecn == NegotiatedEcn::Accecn;
        self.timeline.on_sent(
            context.opening,
            &SentSegment {
                time,
                end: start + u64::from(segment.payload_len),
                len: segment.payload_len,
                short: segment.payload_len < context.mss
                    || context.agreed_mss.is_some_and(|mss| segment.payload_len < mss / 2),
                reason,
                cwr: !accurate && segment.flags.contains(Flags::CWR),
                at_sender: context.at_sender,
                blind: !context.at_sender && context.missing.is_none(),
                delay,
                least_delay,
                echo: segment.options.timestamps.map(|t| t.echo),
                trip: context.trip,
            },
        );
        if sent == PayloadKind::WindowProbe {
            return;
        }
        let frame = context.frame;
        let ect = segment.ecn.is_capable();
        for (event, seen) in [
            (Event::Ce, segment.ecn == Ecn::Ce),
            (Event::Ect, ect),
            (Event::Cwr, !accurate && segment.flags.contains(Flags::CWR)),
            (Event::Reordered, sent == PayloadKind::Reordered),
            (Event::Large, segment.payload_len > context.mss),
        ] {
            if seen {
                self.frames.note(event, frame);
            }
        }
        self.first_data.get_or_insert(time);
        self.last_data = time;
        let fresh = matches!(sent, PayloadKind::New | PayloadKind::Reordered);
        self.ecn.on_data(segment, start, context.mss, fresh, accurate);
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
        let (late_heads, unseen) = (self.stream.late_heads, self.stream.unseen_bytes);
        let Some(covered) = self.stream.on_ack(time, segment.ack, self.sacked) else { return };
        self.acks += 1;
        self.stalls.on_window(time, segment.window);
        let newly = covered.newly_acked();
        let pure = segment.payload_len == 0 && !segment.flags.contains(Flags::FIN);
        let edges = |n: SeqNum| self.stream.sack_offset(n).is_some_and(|at| at < covered.ack);
        let blocks = segment.options.sack.as_slice();
        self.dsacks += u64::from(blocks.first().is_some_and(|(first, _)| edges(*first)));
        let gap = blocks.iter().any(|(first, _)| !edges(*first));
        self.sack_acks += u64::from(gap);
        let had_gap = self.sacked;
        self.sacked = gap || (self.sacked && newly == 0);
        let same_window = self.last_window.replace(segment.window) == Some(segment.window);
        let duplicate = pure && newly == 0 && !covered.stale && covered.flight > 0 && same_window;
        self.duplicate_acks += u64::from(duplicate);
        let lone = newly > 0 && newly == covered.flight;
        let least = self.rtt.rtt_without_delack();
        let waited = covered.rtt.zip(least).filter(|_| lone && !covered.has_hole);
        let (mut delayed, mut marked) = (0, 0);
        if let Some((rtt, least)) = waited {
            delayed = self.stalls.on_full_ack(rtt, covered.oldest_age, least);
        }
        let late = delayed > 0;
        for (event, seen) in [
            (Event::Reordered, self.stream.late_heads > late_heads),
            (Event::Missing, self.stream.unseen_bytes > unseen),
            (Event::Sack, gap),
            (Event::LateAck, late),
            (Event::ZeroWindow, segment.window == 0),
            (Event::Ece, segment.flags.contains(Flags::ECE)),
        ] {
            if seen {
                self.frames.note(event, context.frame);
            }
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
        if !covered.stale {
            let window = u64::from(segment.window);
            self.timeline.on_ack(
                context.opening,
                ReceivedAck {
                    time,
                    ack: covered.ack,
                    edge: context.scale.map(|shift| covered.ack + (window << shift)),
                    window: segment.window,
                    tsval: segment.options.timestamps.map(|t| t.value),
                    no_message: pure || segment.payload_len >= mss,
                    gap: gap || duplicate,
                    ece: echo,
                    delayed,
                    trip: context.trip,
                    rtt: covered.rtt,
                    mss,
                },
            );
        }
        if newly > 0 {
            if !(gap || had_gap) {
                self.timeline.rounds.on_spacing(time, newly, context.trip);
            }
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
            if let Some(rtt) = covered.rtt {
                trace.rtt.push(time, rtt as f64);
            }
            if let Some(shift) = context.scale.filter(|_| !covered.stale) {
                trace.window.push(time, (u64::from(segment.window) << shift) as f64);
            }
        }
    }
}
