//! One TCP segment as a value.

use lowtide_units::HostStamp;

use crate::{Ecn, Flags, Options, SeqNum};

/// What the driver knows of how a segment arrived.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct RxMeta {
    /// The host's own clock when the segment came in, below TCP; absent where nobody stamps.
    pub stamp: Option<HostStamp>,
    /// How many wire segments receive aggregation folded into this one; 0 and 1 both mean one.
    pub coalesced: u16,
    /// How many of those had CE; only meaningful when `coalesced > 1`.
    pub ce_coalesced: u16,
    /// Whether a delayed-ACK timer at its sender released this segment. Only a simulator can know; the
    /// wire does not say, and nobody else sets it.
    pub delack_timeout: Option<bool>,
}

/// A TCP segment with the IP facts that TCP cares about. The payload is a length, not bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Segment {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number of the first byte (or of the SYN).
    pub seq: SeqNum,
    /// Next sequence number expected from the peer; counts with the ACK flag only.
    pub ack: SeqNum,
    /// Control bits.
    pub flags: Flags,
    /// The window field as on the wire, before scaling.
    pub window: u16,
    /// Urgent pointer; lowtide sends zero and ignores it (RFC 6093).
    pub urgent: u16,
    /// The ECN codepoint of the IP header.
    pub ecn: Ecn,
    /// Payload length in bytes.
    pub payload_len: u32,
    /// Options.
    pub options: Options,
    /// How it arrived; default on segments that go out.
    pub rx: RxMeta,
}

impl Segment {
    /// Length in sequence space: payload, plus one for SYN and one for FIN.
    #[inline]
    pub const fn seq_len(&self) -> u32 {
        self.payload_len
            + self.flags.contains(Flags::SYN) as u32
            + self.flags.contains(Flags::FIN) as u32
    }
    /// TCP header length in bytes, options included: 20 to 60.
    #[inline]
    pub const fn header_len(&self) -> usize {
        20 + self.options.wire_len()
    }
    /// The sequence number after the last one this segment occupies.
    #[inline]
    pub const fn seq_end(&self) -> SeqNum {
        self.seq.add(self.seq_len() as u64)
    }
    /// Size of the IPv4 packet that carries this segment, in bytes.
    #[expect(clippy::cast_possible_truncation, reason = "a header has at most 60 bytes")]
    #[inline]
    pub const fn ipv4_len(&self) -> u32 {
        20 + self.header_len() as u32 + self.payload_len
    }
    /// Wire segments folded into this one by receive aggregation, at least one.
    #[inline]
    pub const fn segments(&self) -> u32 {
        if self.rx.coalesced > 1 { self.rx.coalesced as u32 } else { 1 }
    }
}
