//! Packets.

use lowtide_sim::Digest;
use lowtide_wire::Segment;

use crate::HostId;

/// An IP packet with a TCP segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// The segment. Markers change `segment.ecn`.
    pub segment: Segment,
    /// The source host.
    pub src: HostId,
    /// The destination host.
    pub dst: HostId,
    /// IP bytes, headers included, framing excluded.
    pub size: u32,
    /// For the driver at `src`; opaque to the network.
    pub src_conn: u32,
    /// For the driver at `dst`; opaque to the network.
    pub dst_conn: u32,
    /// The queue at ports with several classes ([`crate::PortSpec::classes`]), like a DSCP.
    pub class: u8,
}

/// A packet without its segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Envelope {
    /// See [`Packet::src`].
    pub src: HostId,
    /// See [`Packet::dst`].
    pub dst: HostId,
    /// See [`Packet::size`].
    pub size: u32,
    /// See [`Packet::src_conn`].
    pub src_conn: u32,
    /// See [`Packet::dst_conn`].
    pub dst_conn: u32,
    /// See [`Packet::class`].
    pub class: u8,
}

impl Packet {
    /// Returns the envelope.
    #[inline]
    pub const fn envelope(&self) -> Envelope {
        let &Self { src, dst, size, src_conn, dst_conn, class, .. } = self;
        Envelope { src, dst, size, src_conn, dst_conn, class }
    }
}

impl Envelope {
    /// Returns a packet with this envelope and segment.
    #[inline]
    pub const fn around(self, segment: Segment) -> Packet {
        let Self { src, dst, size, src_conn, dst_conn, class } = self;
        Packet { segment, src, dst, size, src_conn, dst_conn, class }
    }

    /// The packet identity in digests: hosts, ports, sequence and acknowledgement numbers, payload
    /// length, flags, ECN codepoint as sent, and class.
    #[inline]
    pub(crate) fn identity(&self, s: &Segment) -> u64 {
        let mut d = Digest::new();
        d.update(u64::from(self.src.0) << 32 | u64::from(self.dst.0));
        d.update(
            u64::from(s.src_port) << 48 | u64::from(s.dst_port) << 32 | u64::from(s.seq.raw()),
        );
        d.update(u64::from(s.ack.raw()) << 32 | u64::from(s.payload_len));
        d.update(u64::from(s.flags.bits()) << 8 | u64::from(s.ecn.bits()));
        d.value().wrapping_add(u64::from(self.class) << 56)
    }

    /// Returns the flow hash: source, destination and both ports (the protocol is always TCP). It
    /// is equal for all packets of one direction of a connection.
    #[inline]
    pub(crate) fn flow(&self, s: &Segment) -> u32 {
        let mut d = Digest::new();
        d.update(u64::from(self.src.0) << 32 | u64::from(self.dst.0));
        d.update(u64::from(s.src_port) << 16 | u64::from(s.dst_port));
        (d.value() >> 32) as u32
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use lowtide_wire::{Ecn, Flags, SeqNum};

    use super::*;
    use crate::packet_pool::{PacketId, PacketPool};

    pub(crate) fn any() -> Packet {
        let segment = Segment { ecn: Ecn::Ect0, payload_len: 1_460, ..Segment::default() };
        Packet {
            segment,
            src: HostId(0),
            dst: HostId(1),
            size: 1_500,
            src_conn: 5,
            dst_conn: 6,
            class: 0,
        }
    }

    /// Adds a packet to a pool.
    pub(crate) fn put(pool: &mut PacketPool, packet: &Packet, flow: u32) -> PacketId {
        pool.put(&packet.segment, packet.envelope(), flow)
    }

    #[test]
    fn every_part_of_the_identity_counts() {
        let change = |f: fn(&mut Packet)| {
            let mut packet = any();
            f(&mut packet);
            packet.envelope().identity(&packet.segment)
        };
        let different = [
            change(|p| p.src = HostId(7)),
            change(|p| p.dst = HostId(7)),
            change(|p| p.segment.src_port = 7),
            change(|p| p.segment.dst_port = 7),
            change(|p| p.segment.seq = SeqNum::new(7)),
            change(|p| p.segment.ack = SeqNum::new(7)),
            change(|p| p.segment.payload_len = 7),
            change(|p| p.segment.flags = Flags::SYN),
            change(|p| p.segment.ecn = Ecn::NotEct),
            change(|p| p.class = 7),
            any().envelope().identity(&any().segment),
        ];
        for (i, a) in different.iter().enumerate() {
            assert!(different[i + 1..].iter().all(|b| b != a), "{i}");
        }
        // Opaque driver fields are not part of the identity.
        assert_eq!(change(|p| p.src_conn = 99), any().envelope().identity(&any().segment));
    }
}
