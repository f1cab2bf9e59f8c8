//! Invariants of a connection after every step, for any peer.

use lowtide_tcp::{
    Accepted, CloseReason, Config, Connection, EcnMode, Event, Info, Reduction, State, Transmit,
};
use lowtide_units::Instant;
use lowtide_wire::{Flags, Segment, SeqNum};

use super::board::ReferenceScoreboard;

/// Memory limit of a connection in bytes, beside that of outstanding segments.
const BASE_MEMORY: u64 = 64 * 1024;
/// Memory limit in bytes per outstanding segment.
const SEGMENT_MEMORY: u64 = 512;

#[derive(Debug, Default)]
pub(super) struct Invariants {
    isn: Option<SeqNum>,
    irs: Option<SeqNum>,
    own_scale: Option<u8>,
    peer_scale: Option<u8>,
    sack_offered: [bool; 2],
    /// Bytes that the application wrote and read.
    pub(super) written: u64,
    pub(super) read: u64,
    pub(super) readable: u64,
    /// One past the last stream offset sent, FIN included.
    sent: u64,
    /// Tail loss probes so far, which ignore the window (RFC 8985 §7.3).
    loss_probes: u64,
    max_ack_sent: i64,
    max_right_edge: i64,
    scoreboard: ReferenceScoreboard,
    /// Ranges that arrived, in order and without overlaps.
    received_ranges: Vec<(u64, u64)>,
    established: bool,
    pub(super) peer_closed: bool,
    /// Whether the application closed.
    pub(super) closed: bool,
    pub(super) reason: Option<CloseReason>,
    resets_after_end: u32,
}

impl Invariants {
    /// The connection accepted or rejected `seg`.
    pub(super) fn on_segment(
        &mut self,
        seg: &Segment,
        accepted: Option<&Accepted>,
        conn: &Connection,
    ) {
        let info = conn.info();
        if seg.flags.contains(Flags::SYN) && accepted.is_some() && self.irs.is_none() {
            self.irs = Some(seg.seq);
            self.peer_scale = seg.options.window_scale;
            self.sack_offered[1] = seg.options.sack_permitted;
        }
        self.scoreboard.on_timeouts(info.counters.rto_count);
        self.acknowledged(conn.acked_upto());
        let Some(accepted) = accepted else { return };
        self.apply_sacks(seg, &info);
        let (start, end) = (accepted.stream.start, accepted.stream.end);
        assert!(start <= end, "{accepted:?}");
        if start == end {
            return;
        }
        let kept = u64::from(accepted.skip) + (end - start);
        assert!(kept <= u64::from(seg.payload_len), "{accepted:?} of {} B", seg.payload_len);
        assert!(start >= self.readable, "bytes from {start} again, {} is known", self.readable);
        let limit = self.read + conn.config().receive_buffer.as_u64();
        assert!(end <= limit, "{accepted:?} is beyond the receive buffer, {limit}");
        self.insert_received(start, end);
    }

    fn acknowledged(&mut self, upto: u64) {
        let acked = self.scoreboard.acked();
        assert!(upto >= acked, "SND.UNA went back from {acked} to {upto}");
        assert!(upto <= self.sent.min(self.written), "{upto} acknowledged, {} sent", self.sent);
        self.scoreboard.acknowledge(upto);
    }

    fn apply_sacks(&mut self, seg: &Segment, info: &Info) {
        let Some(isn) = self.isn else { return };
        let acked = self.scoreboard.acked();
        let una = isn.add(1).add(acked);
        let offset = |s: SeqNum| acked as i64 + i64::from(s.diff(una));
        let fresh = seg.flags.contains(Flags::ACK) && offset(seg.ack) >= acked as i64;
        if !fresh || self.sack_offered != [true, true] || !info.state.is_synchronised() {
            return;
        }
        let una = offset(seg.ack);
        for &(start, end) in seg.options.sack.as_slice() {
            let (start, end) = (offset(start), offset(end));
            if start >= una && start < end && end <= self.sent as i64 {
                self.scoreboard.sack(start as u64, end as u64);
            }
        }
    }

    /// One past the last byte that arrived in order.
    pub(super) fn contiguous(&self) -> u64 {
        self.received_ranges.first().filter(|h| h.0 == 0).map_or(0, |h| h.1)
    }

    /// Expected RCV.NXT, without a FIN.
    pub(super) fn rcv_nxt(&self) -> Option<SeqNum> {
        Some(self.irs?.add(1).add(self.contiguous()))
    }

    fn insert_received(&mut self, start: u64, end: u64) {
        let first = self.received_ranges.partition_point(|h| h.1 < start);
        let last = self.received_ranges.partition_point(|h| h.0 <= end);
        let folded = &self.received_ranges[first..last];
        let start = folded.first().map_or(start, |h| h.0.min(start));
        let end = folded.last().map_or(end, |h| h.1.max(end));
        self.received_ranges.splice(first..last, [(start, end)]);
    }

    pub(super) fn on_transmit(&mut self, t: &Transmit, conn: &Connection) {
        let info = conn.info();
        let h = &t.header;
        if self.reason.is_some() && info.state == State::Closed {
            self.resets_after_end += 1;
            assert!(h.flags.contains(Flags::RST), "{h:?} after the end");
            assert!(self.resets_after_end == 1, "a second RST");
        }
        self.scoreboard.on_timeouts(info.counters.rto_count);
        self.check_segmentation(t, conn.config(), info.mss);
        if h.flags.contains(Flags::SYN) {
            self.on_syn(h);
            return;
        }
        if h.flags.contains(Flags::RST) {
            return;
        }
        Self::check_ecn_flags(h, &info);
        self.check_sequence_space(t, conn, &info);
        self.check_ack_and_window(h, conn.config());
    }

    /// A connection completes `cookie`; `next` is the first sequence number after the peer's SYN.
    /// A SYN-ACK has the options of scale and SACK only if the SYN had them.
    pub(super) fn on_cookie(&mut self, cookie: &Segment, next: SeqNum) {
        self.on_syn(cookie);
        self.irs = Some(SeqNum::new(next.raw().wrapping_sub(1)));
        self.peer_scale = cookie.options.window_scale;
        self.sack_offered[1] = cookie.options.sack_permitted;
    }

    /// The connection's SYN or SYN-ACK.
    fn on_syn(&mut self, h: &Segment) {
        let isn = *self.isn.get_or_insert(h.seq);
        assert_eq!(isn, h.seq, "another initial sequence number");
        self.own_scale = h.options.window_scale;
        self.sack_offered[0] = h.options.sack_permitted;
        self.max_right_edge = i64::from(h.window);
    }

    /// ECT requires negotiation. With Accurate ECN the flags are the count of CE packets starting
    /// at five, or the handshake's encoding on a pure ACK (RFC 9768 §3.2.2).
    fn check_ecn_flags(h: &Segment, info: &Info) {
        assert!(!h.ecn.is_capable() || info.ect, "{h:?}: ECT that was not negotiated");
        if info.ecn == EcnMode::AccEcn {
            let count = h.flags.ace() == ((info.received_ce_pkts + 5) & 7) as u8;
            let pure = h.payload_len == 0 && h.options.sack.is_empty();
            let handshake = pure && matches!(h.flags.ace(), 0b010 | 0b011 | 0b100 | 0b110);
            assert!(count || handshake, "{h:?} for {} CE packets", info.received_ce_pkts);
        } else {
            assert!(!h.flags.contains(Flags::AE), "{h:?}: AE that was not negotiated");
        }
    }

    /// The segments of a transmission fit into packets.
    fn check_segmentation(&self, t: &Transmit, config: &Config, mss: u32) {
        let h = &t.header;
        let len = t.stream.end - t.stream.start;
        assert_eq!(u64::from(h.payload_len), len, "{t:?}");
        assert!(t.segments >= 1 && t.segments <= config.most_segments(), "{t:?}");
        let mut at = t.stream.start;
        for i in 0..t.segments {
            let (seg, range) = (t.segment(i), t.stream_of(i));
            assert_eq!((range.start, range.end - range.start), (at, u64::from(seg.payload_len)));
            assert!(seg.ipv4_len() <= config.mtu, "{} B on the wire", seg.ipv4_len());
            assert!(seg.options.wire_len() <= 40, "{seg:?}");
            at = range.end;
        }
        assert_eq!(at, t.stream.end, "{t:?}");
        if len > 0 {
            assert!(
                t.mss <= mss.max(1) && t.stream.end <= self.written,
                "{t:?}, {} B",
                self.written
            );
        }
    }

    /// Sequence numbers, windows, and no retransmission of data that the peer has.
    fn check_sequence_space(&mut self, t: &Transmit, conn: &Connection, info: &Info) {
        let h = &t.header;
        let isn = self.isn.expect("a segment before the SYN");
        let len = u64::from(h.payload_len);
        let occupied = len + u64::from(h.flags.contains(Flags::FIN));
        if occupied == 0 {
            return;
        }
        // At most 2^32 bytes are sent, so offsets are sequence numbers.
        let start = u64::from(h.seq.diff(isn.add(1)).cast_unsigned());
        let end = start + occupied;
        let probes = info.counters.loss_probes;
        let probe = probes > std::mem::replace(&mut self.loss_probes, probes);
        assert!(
            start >= self.scoreboard.acked(),
            "sends {start} again, {} is acknowledged",
            self.scoreboard.acked()
        );
        if len > 0 {
            assert_eq!(start, t.stream.start, "sequence number and stream disagree");
            let ahead = t.stream.end - self.scoreboard.acked();
            let buffer = conn.config().send_buffer.as_u64();
            assert!(ahead <= buffer, "{ahead} B unacknowledged, the buffer has {buffer}");
        }
        let edge = self.scoreboard.acked() + info.snd_wnd;
        if end > edge && occupied == 1 && end >= self.sent {
            // A window probe, or a FIN beyond the edge of the window.
            self.sent = end;
            return;
        }
        if end > self.scoreboard.end() {
            assert!(end <= edge, "sends up to {end}, the window ends at {edge}");
            if occupied > 1 && !info.in_recovery && !probe {
                // Limited transmit may add two segments, and a FIN is not a byte.
                let most = info.snd_cwnd + 2 * u64::from(t.mss) + 1;
                assert!(info.in_flight <= most, "{} B in flight of {most}", info.in_flight);
            }
        }
        self.scoreboard.transmit(start, end, t.mss);
        self.sent = self.sent.max(end);
    }

    /// Neither the acknowledgement nor the right edge ever retreats.
    fn check_ack_and_window(&mut self, h: &Segment, config: &Config) {
        assert!(h.flags.contains(Flags::ACK), "no ACK on {h:?}");
        let irs = self.irs.expect("acknowledges before the peer's SYN");
        let ack = i64::from(h.ack.diff(irs.add(1)).cast_unsigned());
        assert!(ack >= self.max_ack_sent, "acknowledged {} and now {ack}", self.max_ack_sent);
        let contiguous = self.contiguous() as i64;
        assert!(ack <= contiguous + 1, "acknowledges {ack}, {contiguous} arrived");
        self.max_ack_sent = ack;
        let shift = match (self.own_scale, self.peer_scale) {
            (Some(own), Some(_)) => own,
            _ => 0,
        };
        let edge = ack + (i64::from(h.window) << shift);
        let slack = (1_i64 << shift) - 1;
        assert!(
            edge + slack >= self.max_right_edge,
            "the window shrinks from {} to {edge}",
            self.max_right_edge
        );
        self.max_right_edge = self.max_right_edge.max(edge);
        let most = (self.read + config.receive_buffer.as_u64() + 1) as i64;
        assert!(edge <= most, "offers up to {edge}, the buffer ends at {most}");
        for &(start, end) in h.options.sack.as_slice() {
            let offset = |s: SeqNum| u64::from(s.diff(irs.add(1)).cast_unsigned());
            let (start, end) = (offset(start), offset(end));
            // A DSACK may cover data that is only known to be old.
            let received = end <= ack as u64
                || self.received_ranges.iter().any(|h| h.0 <= start && end <= h.1);
            assert!(start < end && received, "SACKs {start}..{end} of {:?}", self.received_ranges);
        }
    }

    pub(super) fn on_event(&mut self, event: Event) {
        assert!(self.reason.is_none(), "{event:?} after the end");
        match event {
            Event::Established => {
                assert!(!self.established, "established twice");
                self.established = true;
            }
            Event::Readable { upto } => {
                assert!(upto >= self.readable, "readable {} and then {upto}", self.readable);
                let there = self.received_ranges.first().is_some_and(|h| h.0 == 0 && upto <= h.1);
                assert!(there, "readable up to {upto} of {:?}", self.received_ranges);
                self.readable = upto;
            }
            Event::Writable => {}
            Event::PeerClosed => {
                assert!(!self.peer_closed, "the peer closed twice");
                self.peer_closed = true;
            }
            Event::Closed(reason) => self.reason = Some(reason),
            other => panic!("{other:?} is new"),
        }
    }

    /// Checks after all events were polled.
    pub(super) fn check_idle(&self, now: Instant, conn: &Connection) {
        let info = conn.info();
        let timer = conn.poll_timeout();
        assert!(timer.is_none_or(|at| at > now), "wants to come back at {timer:?}, it is {now:?}");
        assert_eq!(conn.unread(), self.readable - self.read, "unread bytes");
        let waits = match info.state {
            State::Established | State::CloseWait => conn.acked_upto() < self.written,
            State::FinWait2 | State::Closed => false,
            _ => true,
        };
        assert!(!waits || timer.is_some(), "{:?}: waits and no timer runs", info.state);
        if info.state == State::Closed {
            assert!(self.reason.is_some(), "closed without an event");
            assert_eq!(timer, None, "a timer of a closed connection");
        }
        // With proportional rate reduction, cwnd is pipe plus the send quota.
        if conn.config().reduction == Reduction::OneStep && info.snd_cwnd > 0 {
            assert!(info.snd_cwnd >= u64::from(info.mss), "cwnd {}", info.snd_cwnd);
        }
        let outstanding = (self.sent - self.scoreboard.acked()) / u64::from(info.mss.max(1));
        // The scoreboard's ring keeps its peak capacity.
        let peak = self.sent / u64::from(info.mss.max(1));
        let most = BASE_MEMORY + SEGMENT_MEMORY * outstanding.max(peak);
        assert!(conn.memory() as u64 <= most, "{} B of memory, {most} would do", conn.memory());
    }
}
