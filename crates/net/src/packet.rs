//! Packets, and the pool that holds them in flight.

use lowtide_sim::Digest;
use lowtide_units::Duration;
use lowtide_wire::{Ecn, Segment};

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
    fn identity(&self, s: &Segment) -> u64 {
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

/// A packet in the [`PacketPool`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PacketId(u32);

impl PacketId {
    /// A packet that was lost in flight.
    pub(crate) const GONE: Self = Self(u32::MAX);

    /// Returns its index in the pool; indices are reused.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Packet data that every port needs. It travels from ring to ring, so that a hop does not touch
/// the [`PacketPool`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PacketMeta {
    pub(crate) identity: u64,
    pub(crate) id: PacketId,
    pub(crate) dst: HostId,
    pub(crate) size: u32,
    /// The flow hash for path choice; zero if unused.
    pub(crate) flow: u32,
}

/// Data that only some ports need, kept in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct PacketState {
    pub(crate) meta: PacketMeta,
    /// Queueing delay at switches so far, in ns; zero if not measured.
    pub(crate) queueing_ns: u32,
    pub(crate) ecn: Ecn,
    pub(crate) class: u8,
}

/// All packets in flight. Slots are reused; memory grows to the maximum in flight.
#[derive(Clone, Debug, Default)]
pub(crate) struct PacketPool {
    states: Vec<PacketState>,
    packets: Vec<Packet>,
    free: Vec<PacketId>,
    /// [`Packet::src_conn`] of dropped packets, if recorded.
    dropped: Option<Vec<u32>>,
}

impl PacketPool {
    /// Adds a packet with this flow hash. The segment is copied once, from where it was built.
    #[inline]
    pub(crate) fn put(&mut self, segment: &Segment, envelope: Envelope, flow: u32) -> PacketMeta {
        let Envelope { dst, size, class, .. } = envelope;
        let id = self.allocate();
        let meta = PacketMeta { identity: envelope.identity(segment), id, dst, size, flow };
        self.states[id.index()] = PacketState { meta, queueing_ns: 0, ecn: segment.ecn, class };
        self.packets[id.index()] = envelope.around(*segment);
        meta
    }
    /// Allocates a slot.
    #[inline]
    fn allocate(&mut self) -> PacketId {
        self.free.pop().unwrap_or_else(|| self.grow())
    }
    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> PacketId {
        let id = PacketId(self.states.len() as u32);
        let (meta, host) = (PacketMeta::default(), HostId::default());
        let nothing =
            Envelope { src: host, dst: host, size: 0, src_conn: 0, dst_conn: 0, class: 0 };
        self.states.push(PacketState { meta, queueing_ns: 0, ecn: Ecn::NotEct, class: 0 });
        self.packets.push(nothing.around(Segment::default()));
        id
    }
    /// Returns the packet in a slot.
    #[inline]
    pub(crate) fn packet(&self, id: PacketId) -> &Packet {
        &self.packets[id.index()]
    }
    /// Frees the slot; the packet was read in place.
    #[inline]
    pub(crate) fn release(&mut self, id: PacketId) {
        self.free.push(id);
    }
    #[inline]
    pub(crate) fn state(&self, id: PacketId) -> &PacketState {
        &self.states[id.0 as usize]
    }
    /// Adds queueing delay to a packet.
    #[inline]
    pub(crate) fn add_queueing(&mut self, id: PacketId, span: Duration) {
        let total = &mut self.states[id.0 as usize].queueing_ns;
        *total = total.saturating_add(span.as_ns() as u32);
    }
    /// Reads one word of each cache line of the packet.
    #[inline]
    pub(crate) fn prefetch(&self, id: PacketId) -> u64 {
        let word = |p: &Packet| u64::from(p.src_conn) ^ u64::from(p.segment.seq.raw());
        self.packets.get(id.0 as usize).map_or(0, word)
    }
    pub(crate) fn set_ce(&mut self, id: PacketId) {
        self.states[id.0 as usize].ecn = Ecn::Ce;
        self.packets[id.0 as usize].segment.ecn = Ecn::Ce;
    }
    /// Removes the packet.
    #[inline]
    pub(crate) fn take(&mut self, id: PacketId) -> Packet {
        self.free.push(id);
        self.packets[id.0 as usize]
    }
    /// Drops the packet.
    pub(crate) fn discard(&mut self, id: PacketId) {
        if let Some(dropped) = &mut self.dropped {
            dropped.push(self.packets[id.index()].src_conn);
        }
        self.free.push(id);
    }
    /// Starts to record dropped packets.
    pub(crate) fn record_drops(&mut self) {
        self.dropped.get_or_insert_default();
    }
    /// Returns a recorded dropped packet.
    pub(crate) fn pop_dropped(&mut self) -> Option<u32> {
        self.dropped.as_mut()?.pop()
    }
    /// Removes the packet and returns it with its port state.
    pub(crate) fn export(&mut self, id: PacketId) -> (PacketState, Packet) {
        self.free.push(id);
        (self.states[id.index()], self.packets[id.index()])
    }
    /// Adds a packet from another pool.
    pub(crate) fn import(&mut self, mut head: PacketState, packet: &Packet) -> PacketMeta {
        let id = self.allocate();
        head.meta.id = id;
        self.states[id.index()] = head;
        self.packets[id.index()] = *packet;
        head.meta
    }
    /// Returns all packets in flight by slot.
    pub(crate) fn in_flight(&self) -> impl Iterator<Item = (PacketId, &Packet)> {
        let mut free = vec![false; self.packets.len()];
        self.free.iter().for_each(|id| free[id.index()] = true);
        let all = self.packets.iter().zip(0..).zip(free);
        all.filter(|(_, free)| !free).map(|((packet, i), _)| (PacketId(i), packet))
    }
    /// Returns the number of packets in flight.
    pub(crate) fn len(&self) -> usize {
        self.states.len() - self.free.len()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use lowtide_wire::{Flags, SeqNum};

    use super::*;

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
    pub(crate) fn put(pool: &mut PacketPool, packet: &Packet, flow: u32) -> PacketMeta {
        pool.put(&packet.segment, packet.envelope(), flow)
    }

    #[test]
    fn slots_are_reused() {
        let mut pool = PacketPool::default();
        let a = put(&mut pool, &any(), 7).id;
        let b = put(&mut pool, &Packet { size: 40, ..any() }, 0).id;
        assert_eq!((pool.state(a).meta.flow, pool.state(b).meta.size), (7, 40));
        pool.set_ce(b);
        assert_eq!(pool.state(b).ecn, Ecn::Ce);
        let mut want = Packet { size: 40, ..any() };
        want.segment.ecn = Ecn::Ce;
        assert_eq!(pool.take(b), want);
        assert_eq!(pool.len(), 1);
        assert_eq!(pool.in_flight().collect::<Vec<_>>(), [(a, &any())]);
        let c = put(&mut pool, &any(), 0).id;
        assert_eq!(c, b);
        assert_eq!(pool.state(c).ecn, Ecn::Ect0);
        assert_eq!(pool.take(a), any());
        pool.discard(c);
        assert_eq!((pool.len(), pool.states.len()), (0, 2));
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
