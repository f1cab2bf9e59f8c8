//! Invariants of one end at every step, seen from outside.

use lowtide_tcp::{Config, EcnMode, Info, Transmit};
use lowtide_wire::{Ecn, Flags, Segment, SeqNum};

use crate::board::ReferenceScoreboard;
use crate::reductions::ReductionChecker;

/// Monotonic facts, and the windows promised by both sides.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
#[derive(Debug, Default)]
pub(crate) struct InvariantChecker {
    /// The peer lies: its sequence numbers and windows have no meaning.
    lies: bool,
    /// Our and the peer's initial sequence number.
    isn: Option<SeqNum>,
    irs: Option<SeqNum>,
    peer_scale: Option<u8>,
    own_scale: Option<u8>,
    /// Our SYN or SYN-ACK accepted ECN at least once.
    said_ecn: bool,
    /// Accepted CE packets, and SYNs.
    ce_in: u64,
    /// The last received segment was a SYN-ACK.
    answers_syn_ack: bool,
    /// One past the last sequence offset sent.
    pub(crate) sent: u64,
    /// The highest right edge that the peer advertised.
    edge_in: u64,
    /// The highest right edge that we advertised, and our last acknowledgement.
    edge_out: i64,
    ack_out: i64,
    /// Segments with new data since our last ACK.
    unacked: u32,
    pub(crate) closed_windows: u64,
    /// Tail loss probes so far.
    loss_probes: u64,
    stamp: Option<u32>,
    /// SACK was offered by this side and by the peer.
    sack: [bool; 2],
    board: ReferenceScoreboard,
    reductions: ReductionChecker,
    pub(crate) stamps_wrapped: bool,
}

impl InvariantChecker {
    pub(crate) fn new(lies: bool) -> Self {
        Self { lies, ..Self::default() }
    }

    /// The shift of windows that we receive and of windows that we send.
    fn shifts(&self) -> (u8, u8) {
        match (self.own_scale, self.peer_scale) {
            (Some(own), Some(peer)) => (peer.min(14), own),
            _ => (0, 0),
        }
    }

    /// A segment was refused; its ECN field may count.
    pub(crate) fn repeated(&mut self, seg: &Segment) {
        if seg.ecn == Ecn::Ce && seg.payload_len > 0 && !seg.flags.contains(Flags::SYN) {
            self.ce_in += u64::from(seg.segments());
        }
    }

    /// The connection got a genuine segment, and accepted it or not.
    pub(crate) fn arrived(&mut self, seg: &Segment, taken: bool) {
        let syn = seg.flags.contains(Flags::SYN);
        if seg.ecn == Ecn::Ce && (taken || syn) {
            self.ce_in += u64::from(seg.segments());
        }
        self.answers_syn_ack = syn && seg.flags.contains(Flags::ACK);
        if syn && taken && self.irs.is_none() {
            self.irs = Some(seg.seq);
            self.peer_scale = seg.options.window_scale;
            self.sack[1] = seg.options.sack_permitted;
        }
        let Some(isn) = self.isn else { return };
        let acked = if seg.flags.contains(Flags::ACK) { seg.ack.diff(isn.add(1)) } else { 0 };
        let shift = if syn { 0 } else { self.shifts().0 };
        let edge = i64::from(acked) + (i64::from(seg.window) << shift);
        self.edge_in = self.edge_in.max(edge.max(0) as u64);
        let fresh = i64::from(acked) >= self.board.acked() as i64;
        if taken && fresh && self.sack == [true; 2] && !self.lies {
            self.board.acknowledge(acked.max(0) as u64);
            for &(start, end) in seg.options.sack.as_slice() {
                let [start, end] = [start, end].map(|s| i64::from(s.diff(isn.add(1))));
                if start >= i64::from(acked) && start < end {
                    self.board.sack(start as u64, end as u64);
                }
            }
        }
    }

    /// The connection processed an input and has not sent since.
    pub(crate) fn before_send(&mut self, info: &Info, config: &Config, acked: u64) {
        if !self.lies {
            self.board.on_timeouts(info.counters.rto_count);
            self.board.acknowledge(acked);
            self.reductions.before_send(info, config, acked, self.sent);
        }
    }

    /// The connection has sent all it may.
    pub(crate) fn after_send(&mut self, info: &Info, acked: u64) {
        self.reductions.after_send(info, acked, self.sack == [true; 2]);
    }

    /// Counts arrived wire segments with new data.
    pub(crate) fn count_unacked(&mut self, segments: u32) {
        self.unacked += segments;
    }

    /// True if in-order data is unacknowledged, the oldest at most a delayed ACK ago.
    pub(crate) fn ack_due(&self, readable: u64, config: &Config) -> bool {
        let owes = !self.lies && self.ack_out < readable as i64;
        let most = config.delack_segments;
        assert!(!owes || self.unacked < most, "{} segments, no ACK", self.unacked);
        owes
    }

    /// Our advertised window does not stay closed with more than a little room (RFC 9293
    /// §3.8.6.2.2). A pending ACK will open it soon.
    pub(crate) fn check_window_opens(&self, readable: u64, unread: u64, mss: u32, config: &Config) {
        let buffer = config.receive_buffer.as_u64();
        let little = i64::from(mss).min(buffer as i64 / 2).max(1);
        let offered = self.edge_out - readable as i64;
        let room = (buffer - unread) as i64;
        let gain = room - offered - (1 << self.shifts().1);
        assert!(
            self.lies || offered >= little || gain < little || self.ack_out < readable as i64,
            "room for {room} B, offers {offered} B"
        );
    }

    /// Checks one transmission; `info` is the state after it.
    pub(crate) fn transmits(&mut self, t: &Transmit, info: &Info, config: &Config, read_upto: u64) {
        let h = &t.header;
        let syn = h.flags.contains(Flags::SYN);
        assert!(!h.ecn.is_capable() || syn || info.ect, "ECT that was not agreed");
        if info.ecn == EcnMode::AccEcn {
            self.check_ace(h, info);
        } else {
            let cwr = h.flags.contains(Flags::CWR);
            assert!(!cwr || syn || info.ecn == EcnMode::Classic, "CWR that was not agreed");
            // An end that accepted ECN and then sent a SYN without it still echoes (RFC 3168
            // §6.1.1).
            self.said_ecn |= syn && h.flags.contains(Flags::ECE);
            assert!(!h.flags.contains(Flags::ECE) || self.said_ecn, "ECE that was not agreed");
            assert!(!h.flags.contains(Flags::AE) || syn, "AE that was not agreed");
        }
        if let Some(stamps) = h.options.timestamps {
            // The clock is monotonic, so a smaller value means a wrap.
            self.stamps_wrapped |= self.stamp.is_some_and(|last| stamps.value < last);
            self.stamp = Some(stamps.value);
        }
        assert_eq!(u64::from(h.payload_len), t.stream.end - t.stream.start, "{t:?}");
        assert!(t.segments >= 1 && t.segments <= config.most_segments(), "{t:?}");
        assert!(
            u64::from(h.payload_len) <= u64::from(t.mss) * u64::from(t.segments)
                && u64::from(h.payload_len) > u64::from(t.mss) * u64::from(t.segments - 1)
                || t.segments == 1,
            "{} segments of {} B for {} B",
            t.segments,
            t.mss,
            h.payload_len
        );
        if h.flags.contains(Flags::SYN) {
            let isn = *self.isn.get_or_insert(h.seq);
            assert_eq!(isn, h.seq, "another initial sequence number");
            self.own_scale = h.options.window_scale;
            self.sack[0] = h.options.sack_permitted;
            self.edge_out = i64::from(h.window);
            return;
        }
        if h.flags.contains(Flags::RST) || self.lies {
            return;
        }
        let isn = self.isn.expect("a segment before the SYN");
        let start = i64::from(h.seq.diff(isn.add(1)));
        if h.payload_len > 0 {
            assert_eq!(start as u64, t.stream.start, "sequence number and stream disagree");
        }
        let occupied = u64::from(h.payload_len + u32::from(h.flags.contains(Flags::FIN)));
        let end = start as u64 + occupied;
        // A tail loss probe is sent regardless of the window.
        let probe = info.counters.loss_probes > self.loss_probes;
        self.loss_probes = info.counters.loss_probes;
        if end > self.sent && occupied > 1 && !info.in_recovery && !probe {
            // Limited transmit may add two segments, and a FIN is not a byte.
            let most = info.snd_cwnd + 2 * u64::from(t.mss) + 1;
            assert!(info.in_flight <= most, "{} B in flight of {most}", info.in_flight);
        }
        if occupied > 0 {
            let allowed = self.edge_in + u64::from(occupied == 1);
            assert!(end <= allowed, "sends up to {end}, the window ends at {}", self.edge_in);
            self.sent = self.sent.max(end);
            let edge = self.board.acked() + info.snd_wnd;
            let new = end > self.board.end();
            if !(new && occupied == 1 && end > edge) {
                // Not a probe: within the current window, and nothing already delivered.
                assert!(!new || end <= edge, "sends up to {end}, the window ends at {edge}");
                self.board.transmit(start as u64, end, t.mss);
            }
        }
        self.check_advertised_window(h, config, read_upto);
    }

    /// With Accurate ECN the ACE field is the count of CE packets plus five. On the pure ACK of a
    /// SYN-ACK it reports the ECN field of its arrival (RFC 9768 §3.2.2).
    fn check_ace(&self, h: &Segment, info: &Info) {
        if h.flags.intersects(Flags::SYN | Flags::RST) || self.lies {
            return;
        }
        let count = Flags::NONE.with_ace(((info.received_ce_pkts + 5) & 7) as u8).ace();
        let answers = self.answers_syn_ack && h.payload_len == 0;
        assert!(
            h.flags.ace() == count
                || answers && matches!(h.flags.ace(), 0b010 | 0b011 | 0b100 | 0b110),
            "{:?} for {} CE packets",
            h.flags,
            info.received_ce_pkts
        );
        assert!(
            info.received_ce_pkts <= self.ce_in,
            "counts {} CE packets, {} came",
            info.received_ce_pkts,
            self.ce_in
        );
    }

    /// Checks our ACK number and advertised window.
    fn check_advertised_window(&mut self, h: &Segment, config: &Config, read_upto: u64) {
        assert!(h.flags.contains(Flags::ACK), "no ACK on {h:?}");
        let irs = self.irs.expect("acknowledges before the peer's SYN");
        let ack = i64::from(h.ack.diff(irs.add(1)));
        assert!(ack >= self.ack_out, "acknowledged {} and now {ack}", self.ack_out);
        if ack > self.ack_out {
            self.unacked = 0;
        }
        self.ack_out = ack;
        let shift = self.shifts().1;
        let edge = ack + (i64::from(h.window) << shift);
        let slack = (1_i64 << shift) - 1;
        assert!(
            edge + slack >= self.edge_out,
            "the window shrinks from {} to {edge} (shift {shift})",
            self.edge_out
        );
        self.edge_out = self.edge_out.max(edge);
        let most = (read_upto + config.receive_buffer.as_u64() + 1) as i64;
        assert!(edge <= most, "offers up to {edge}, the buffer ends at {most}");
        self.closed_windows += u64::from(h.window == 0);
    }

    /// True if our sequence numbers wrapped.
    pub(crate) fn wrapped(&self) -> bool {
        self.isn.is_some_and(|isn| u64::from(isn.raw()) + 1 + self.sent > u64::from(u32::MAX))
    }
}
