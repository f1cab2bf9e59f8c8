//! One TCP segment as a value.

use lowtide_units::HostStamp;

use crate::{Ecn, Flags, Options, SeqNum};

/// Driver metadata about the arrival of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct RxMeta {
    /// The host's clock when the segment arrived, below TCP; absent if the driver does not
    /// timestamp.
    pub stamp: Option<HostStamp>,
    /// Number of wire segments that receive aggregation coalesced into this one; 0 and 1 both mean
    /// one.
    pub coalesced: u16,
    /// Number of those with CE; only meaningful if `coalesced > 1`.
    pub ce_coalesced: u16,
    /// Time from `stamp` to TCP by the host's clock, whole us up to 65,535; zero if the driver does
    /// not measure it.
    pub host_wait_us: u16,
    /// True if a delayed-ACK timer at its sender released this segment. Not on the wire: only a
    /// simulator knows it and sets it.
    pub delack_timeout: Option<bool>,
}

/// A TCP segment with the fields of the IP header that TCP needs. The payload is a length, not
/// bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Segment {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number of the first byte (or of the SYN).
    pub seq: SeqNum,
    /// Next sequence number expected from the peer; valid only with the ACK flag.
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
    /// Arrival metadata; default on outgoing segments.
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
    /// Wire segments coalesced into this one by receive aggregation, at least one.
    #[inline]
    pub const fn segments(&self) -> u32 {
        if self.rx.coalesced > 1 { self.rx.coalesced as u32 } else { 1 }
    }
}
