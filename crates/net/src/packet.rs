//! Packets, and the pool they live in while they are under way.

use lowtide_sim::Digest;
use lowtide_units::Duration;
use lowtide_wire::{Ecn, Segment};

use crate::HostId;

/// One IP packet with a TCP segment inside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// The segment. A marker on the way changes `segment.ecn`.
    pub segment: Segment,
    /// The host that sends it.
    pub src: HostId,
    /// The host that it is for.
    pub dst: HostId,
    /// IP bytes, headers included, framing not.
    pub size: u32,
    /// For the driver at `src`; the network does not look at it.
    pub src_conn: u32,
    /// For the driver at `dst`; the network does not look at it.
    pub dst_conn: u32,
    /// The queue that it takes at ports with several ([`crate::PortSpec::classes`]), as a DSCP says it.
    pub class: u8,
}

/// All of a packet but its segment.
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
    /// All but the segment.
    #[inline]
    pub const fn envelope(&self) -> Envelope {
        let &Self { src, dst, size, src_conn, dst_conn, class, .. } = self;
        Envelope { src, dst, size, src_conn, dst_conn, class }
    }
}

impl Envelope {
    /// The packet with that segment inside.
    #[inline]
    pub const fn around(self, segment: Segment) -> Packet {
        let Self { src, dst, size, src_conn, dst_conn, class } = self;
        Packet { segment, src, dst, size, src_conn, dst_conn, class }
    }

    /// What makes a packet itself in a digest: hosts, ports, sequence and acknowledgement numbers,
    /// payload length, flags, the ECN codepoint that it was sent with, and its class.
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

    /// A hash of source, destination and both ports (all is TCP): the same for all packets of one
    /// direction of a connection.
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
    /// A packet that was lost on its way.
    pub(crate) const GONE: Self = Self(u32::MAX);

    /// Its place in the pool, which another packet may have later.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What every port needs of a packet. It goes with the packet from ring to ring, so that a hop touches
/// nothing in the [`PacketPool`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PacketMeta {
    pub(crate) identity: u64,
    pub(crate) id: PacketId,
    pub(crate) dst: HostId,
    pub(crate) size: u32,
    /// Hash of the connection and its direction, by which a way is chosen; zero where nobody asks.
    pub(crate) flow: u32,
}

/// What only some ports look at: apart from the rest, so that they touch one cache line of it.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct PacketState {
    pub(crate) meta: PacketMeta,
    /// Nanoseconds in queues of switches so far; zero where nobody asks.
    pub(crate) queueing_ns: u32,
    pub(crate) ecn: Ecn,
    pub(crate) class: u8,
}

/// All packets under way. Places are used again; memory grows to the most that ever were.
#[derive(Clone, Debug, Default)]
pub(crate) struct PacketPool {
    states: Vec<PacketState>,
    packets: Vec<Packet>,
    free: Vec<PacketId>,
    /// What [`Packet::src_conn`] said of packets that were forgotten, if anybody asks.
    dropped: Option<Vec<u32>>,
}

impl PacketPool {
    /// Takes a packet in, whose way is chosen by `flow`. The segment is copied once, from where it was made.
    #[inline]
    pub(crate) fn put(&mut self, segment: &Segment, envelope: Envelope, flow: u32) -> PacketMeta {
        let Envelope { dst, size, class, .. } = envelope;
        let id = self.allocate();
        let moving = PacketMeta { identity: envelope.identity(segment), id, dst, size, flow };
        self.states[id.index()] =
            PacketState { meta: moving, queueing_ns: 0, ecn: segment.ecn, class };
        self.packets[id.index()] = envelope.around(*segment);
        moving
    }
    /// A place for a packet.
    #[inline]
    fn allocate(&mut self) -> PacketId {
        self.free.pop().unwrap_or_else(|| self.grow())
    }
    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> PacketId {
        let id = PacketId(self.states.len() as u32);
        let (moving, host) = (PacketMeta::default(), HostId::default());
        let nothing =
            Envelope { src: host, dst: host, size: 0, src_conn: 0, dst_conn: 0, class: 0 };
        self.states.push(PacketState { meta: moving, queueing_ns: 0, ecn: Ecn::NotEct, class: 0 });
        self.packets.push(nothing.around(Segment::default()));
        id
    }
    /// The packet in that place.
    #[inline]
    pub(crate) fn packet(&self, id: PacketId) -> &Packet {
        &self.packets[id.index()]
    }
    /// Its place is free: it has been looked at where it is.
    #[inline]
    pub(crate) fn release(&mut self, id: PacketId) {
        self.free.push(id);
    }
    #[inline]
    pub(crate) fn state(&self, id: PacketId) -> &PacketState {
        &self.states[id.0 as usize]
    }
    /// The packet waits that much more.
    #[inline]
    pub(crate) fn add_queueing(&mut self, id: PacketId, span: Duration) {
        let waited = &mut self.states[id.0 as usize].queueing_ns;
        *waited = waited.saturating_add(span.as_ns() as u32);
    }
    /// Reads a word of each line of the packet.
    #[inline]
    pub(crate) fn prefetch(&self, id: PacketId) -> u64 {
        let word = |p: &Packet| u64::from(p.src_conn) ^ u64::from(p.segment.seq.raw());
        self.packets.get(id.0 as usize).map_or(0, word)
    }
    pub(crate) fn set_ce(&mut self, id: PacketId) {
        self.states[id.0 as usize].ecn = Ecn::Ce;
        self.packets[id.0 as usize].segment.ecn = Ecn::Ce;
    }
    /// Takes the packet out.
    #[inline]
    pub(crate) fn take(&mut self, id: PacketId) -> Packet {
        self.free.push(id);
        self.packets[id.0 as usize]
    }
    /// Forgets the packet.
    pub(crate) fn discard(&mut self, id: PacketId) {
        if let Some(forgotten) = &mut self.dropped {
            forgotten.push(self.packets[id.index()].src_conn);
        }
        self.free.push(id);
    }
    /// From now on notes which packets are forgotten.
    pub(crate) fn record_drops(&mut self) {
        self.dropped.get_or_insert_default();
    }
    /// One that was forgotten.
    pub(crate) fn pop_dropped(&mut self) -> Option<u32> {
        self.dropped.as_mut()?.pop()
    }
    /// Takes the packet out with what ports have noted of it.
    pub(crate) fn export(&mut self, id: PacketId) -> (PacketState, Packet) {
        self.free.push(id);
        (self.states[id.index()], self.packets[id.index()])
    }
    /// Takes in a packet that another pool had.
    pub(crate) fn import(&mut self, mut head: PacketState, packet: &Packet) -> PacketMeta {
        let id = self.allocate();
        head.meta.id = id;
        self.states[id.index()] = head;
        self.packets[id.index()] = *packet;
        head.meta
    }
    /// All packets under way, by place; for whoever begins to look.
    pub(crate) fn in_flight(&self) -> impl Iterator<Item = (PacketId, &Packet)> {
        let mut free = vec![false; self.packets.len()];
        self.free.iter().for_each(|id| free[id.index()] = true);
        let all = self.packets.iter().zip(0..).zip(free);
        all.filter(|(_, free)| !free).map(|((packet, i), _)| (PacketId(i), packet))
    }
    /// Packets under way.
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

    /// Puts a packet into a pool.
    pub(crate) fn put(pool: &mut PacketPool, packet: &Packet, flow: u32) -> PacketMeta {
        pool.put(&packet.segment, packet.envelope(), flow)
    }

    #[test]
    fn places_are_used_again() {
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
        // The driver's hints are not of the packet.
        assert_eq!(change(|p| p.src_conn = 99), any().envelope().identity(&any().segment));
    }
}
