//! A packet between two shards in one cache line.
//!
//! Nearly all packets have a TCP header with timestamps or no option. They cross as values; the
//! others, as handshakes and SACK, are boxed.

use lowtide_wire::{Ecn, Flags, Options, RxMeta, Segment, SeqNum, Timestamps};

use crate::HostId;
use crate::packet::{Envelope, Packet};

/// A packet with its identity and the number of a port.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(4))]
pub(crate) struct CompactPacket {
    identity: u64,
    port: u32,
    src: HostId,
    dst: HostId,
    src_conn: u32,
    dst_conn: u32,
    seq: SeqNum,
    ack: SeqNum,
    timestamps: Timestamps,
    payload_len: u16,
    src_port: u16,
    dst_port: u16,
    window: u16,
    /// The nine control bits, then [`Self::TIMESTAMPS`], [`Self::DELACK_KNOWN`] and
    /// [`Self::DELACK_TIMEOUT`].
    bits: u16,
    ecn: Ecn,
    class: u8,
}

impl CompactPacket {
    /// It has timestamps.
    const TIMESTAMPS: u16 = 1 << 9;
    /// [`RxMeta::delack_timeout`] is known.
    const DELACK_KNOWN: u16 = 1 << 10;
    /// A delayed-ACK timer released it.
    const DELACK_TIMEOUT: u16 = 1 << 11;

    /// Returns a packet in this form; `None` if it has more than this form holds.
    pub(crate) fn new(identity: u64, port: u32, packet: &Packet) -> Option<Self> {
        let &Packet { ref segment, src, dst, src_conn, dst_conn, class, .. } = packet;
        let &Segment { src_port, dst_port, seq, ack, window, ecn, options, rx, .. } = segment;
        let delack = match rx.delack_timeout {
            None => 0,
            Some(false) => Self::DELACK_KNOWN,
            Some(true) => Self::DELACK_KNOWN | Self::DELACK_TIMEOUT,
        };
        let timestamps = if options.timestamps.is_some() { Self::TIMESTAMPS } else { 0 };
        let compact = Self {
            identity,
            port,
            src,
            dst,
            src_conn,
            dst_conn,
            seq,
            ack,
            timestamps: options.timestamps.unwrap_or_default(),
            payload_len: u16::try_from(segment.payload_len).ok()?,
            src_port,
            dst_port,
            window,
            bits: segment.flags.bits() | timestamps | delack,
            ecn,
            class,
        };
        (compact.packet() == *packet).then_some(compact)
    }

    /// Returns the identity of the packet.
    pub(crate) const fn identity(&self) -> u64 {
        self.identity
    }

    /// Returns the port.
    pub(crate) const fn port(&self) -> u32 {
        self.port
    }

    /// Returns the packet.
    pub(crate) fn packet(&self) -> Packet {
        let &Self { src, dst, src_conn, dst_conn, seq, ack, timestamps, bits, .. } = self;
        let has = |bit: u16| bits & bit != 0;
        let options = Options {
            timestamps: has(Self::TIMESTAMPS).then_some(timestamps),
            ..Options::default()
        };
        let delack_timeout = has(Self::DELACK_KNOWN).then_some(has(Self::DELACK_TIMEOUT));
        let segment = Segment {
            src_port: self.src_port,
            dst_port: self.dst_port,
            seq,
            ack,
            flags: Flags::from_bits(bits),
            window: self.window,
            urgent: 0,
            ecn: self.ecn,
            payload_len: self.payload_len.into(),
            options,
            rx: RxMeta { delack_timeout, ..RxMeta::default() },
        };
        let size = segment.ipv4_len();
        Envelope { src, dst, size, src_conn, dst_conn, class: self.class }.around(segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::any;

    #[test]
    fn a_packet_with_timestamps_or_no_option_is_compact() {
        let packet = |change: fn(&mut Packet)| {
            let mut packet = any();
            change(&mut packet);
            packet.size = packet.segment.ipv4_len();
            packet
        };
        let timestamps = Timestamps { value: 1, echo: 2 };
        for (packet, fits) in [
            (packet(|_| {}), true),
            (packet(|p| p.segment.rx.delack_timeout = Some(true)), true),
            (packet(|p| p.segment.rx.delack_timeout = Some(false)), true),
            (packet(|p| p.segment.flags = Flags::from_bits(0x1ff)), true),
            (packet(|p| (p.class, p.segment.ecn) = (7, Ecn::Ce)), true),
            (packet(|p| p.segment.payload_len = 65_536), false),
            (packet(|p| p.segment.options.mss = Some(1_460)), false),
            (packet(|p| p.segment.options.sack_permitted = true), false),
            (packet(|p| p.segment.urgent = 1), false),
            (packet(|p| p.segment.rx.coalesced = 2), false),
            (Packet { size: 9, ..any() }, false),
        ] {
            for timestamps in [None, Some(timestamps)] {
                let mut packet = packet;
                packet.segment.options.timestamps = timestamps;
                packet.size += if timestamps.is_some() { 12 } else { 0 };
                let compact = CompactPacket::new(42, 7, &packet);
                let held = compact.map(|c| (c.identity(), c.port(), c.packet()));
                assert_eq!(held, fits.then_some((42, 7, packet)));
            }
        }
    }
}
