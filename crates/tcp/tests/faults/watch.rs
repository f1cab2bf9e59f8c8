//! What must hold at every step of one end, seen from outside.

use lowtide_tcp::{Config, Transmit};
use lowtide_wire::{Flags, Segment, SeqNum};

/// Facts that only ever move one way, and the promises of both sides.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// A peer lies: its sequence numbers and windows bind nobody.
    lies: bool,
    /// Our and the peer's initial sequence number.
    isn: Option<SeqNum>,
    irs: Option<SeqNum>,
    peer_scale: Option<u8>,
    own_scale: Option<u8>,
    /// One past the last sequence offset sent.
    pub(crate) sent: u64,
    /// The furthest right edge that the peer offered.
    edge_in: u64,
    /// The furthest right edge that we offered, and our last acknowledgement.
    edge_out: i64,
    ack_out: i64,
    pub(crate) closed_windows: u64,
    stamp: Option<u32>,
    pub(crate) stamps_wrapped: bool,
}

impl Watch {
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

    /// The connection was handed a genuine segment, and took it or not.
    pub(crate) fn arrived(&mut self, seg: &Segment, taken: bool) {
        let syn = seg.flags.contains(Flags::SYN);
        if syn && taken && self.irs.is_none() {
            self.irs = Some(seg.seq);
            self.peer_scale = seg.options.window_scale;
        }
        let Some(isn) = self.isn else { return };
        let acked = if seg.flags.contains(Flags::ACK) { seg.ack.diff(isn.add(1)) } else { 0 };
        let shift = if syn { 0 } else { self.shifts().0 };
        let edge = i64::from(acked) + (i64::from(seg.window) << shift);
        self.edge_in = self.edge_in.max(edge.max(0) as u64);
    }

    /// Checks one transmission.
    pub(crate) fn transmits(&mut self, t: &Transmit, config: &Config, read_upto: u64) {
        let h = &t.header;
        if let Some(stamps) = h.options.timestamps {
            // The clock only goes forward, so less than before is the wrap.
            self.stamps_wrapped |= self.stamp.is_some_and(|last| stamps.value < last);
            self.stamp = Some(stamps.value);
        }
        assert_eq!(u64::from(h.payload_len), t.stream.end - t.stream.start, "{t:?}");
        assert!(t.segments >= 1 && t.segments <= config.tso_segments, "{t:?}");
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
            if self.peer_scale.is_none() {
                // Nothing is known yet of what the peer's SYN may say later.
                self.edge_out = i64::from(h.window);
            }
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
        if occupied > 0 {
            let allowed = self.edge_in + u64::from(occupied == 1);
            assert!(end <= allowed, "sends up to {end}, the window ends at {}", self.edge_in);
            self.sent = self.sent.max(end);
        }
        self.promises(h, config, read_upto);
    }

    /// What our ACK number and window say.
    fn promises(&mut self, h: &Segment, config: &Config, read_upto: u64) {
        assert!(h.flags.contains(Flags::ACK), "no ACK on {h:?}");
        let irs = self.irs.expect("acknowledges before the peer's SYN");
        let ack = i64::from(h.ack.diff(irs.add(1)));
        assert!(ack >= self.ack_out, "acknowledged {} and now {ack}", self.ack_out);
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

    /// Whether our sequence numbers passed the end of their space.
    pub(crate) fn wrapped(&self) -> bool {
        self.isn.is_some_and(|isn| u64::from(isn.raw()) + 1 + self.sent > u64::from(u32::MAX))
    }
}
