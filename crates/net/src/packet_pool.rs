//! The packets in flight.
//!
//! A packet has a [`Descriptor`] of one cache line, all that a hop reads and writes, and its
//! segment apart, which only its two hosts, marks and drops touch. The descriptors of a port form a
//! linked list from enqueue to the far end ([`crate::fifo::Fifo`]), so that a port needs no
//! ring.

use lowtide_units::{Duration, Instant};
use lowtide_wire::{Ecn, Segment};

use crate::HostId;
use crate::packet::{Envelope, Packet};

/// A slot of the [`PacketPool`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PacketId(u32);

impl PacketId {
    /// No packet: the end of a list.
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// Returns its index in the pool; indices are reused.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The data of a packet that the ports on its path use.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Descriptor {
    /// See [`Envelope::identity`].
    pub(crate) identity: u64,
    /// Time when its last bit leaves its port.
    pub(crate) departure: Instant,
    /// Arrival time at the far end of the line.
    pub(crate) arrival: Instant,
    /// Arrival time of the packet behind it, here so that the next event needs no other cache line.
    /// Valid only if there is one.
    pub(crate) next_arrival: Instant,
    /// The packet behind it at its port.
    pub(crate) next: PacketId,
    pub(crate) dst: HostId,
    /// IP bytes.
    pub(crate) size: u32,
    /// The flow hash for path choice; zero if unused.
    pub(crate) flow: u32,
    /// Queueing delay at switches so far, in ns; zero if not measured.
    pub(crate) queueing_ns: u32,
    pub(crate) ecn: Ecn,
    pub(crate) class: u8,
    /// A link failure lost it on the line: only its arrival event remains.
    pub(crate) lost: bool,
}

impl Descriptor {
    /// Returns the descriptor of a packet that is at no port.
    #[inline]
    const fn new(identity: u64, flow: u32, ecn: Ecn, envelope: Envelope) -> Self {
        let Envelope { dst, size, class, .. } = envelope;
        Self {
            identity,
            departure: Instant::ZERO,
            arrival: Instant::ZERO,
            next: PacketId::NONE,
            next_arrival: Instant::FAR_FUTURE,
            dst,
            size,
            flow,
            queueing_ns: 0,
            ecn,
            class,
            lost: false,
        }
    }
}

/// All packets in flight. Slots are reused; memory grows to the maximum in flight.
#[derive(Clone, Debug, Default)]
pub(crate) struct PacketPool {
    descriptors: Vec<Descriptor>,
    packets: Vec<Packet>,
    free: Vec<PacketId>,
    /// Packets lost on a line that keep their slot until their arrival event.
    lost: usize,
    /// [`Packet::src_conn`] of dropped packets, if recorded.
    dropped: Option<Vec<u32>>,
}

impl PacketPool {
    /// Adds a packet with this flow hash. The segment is copied once, from where it was built.
    #[inline]
    pub(crate) fn put(&mut self, segment: &Segment, envelope: Envelope, flow: u32) -> PacketId {
        let id = self.allocate();
        self.descriptors[id.index()] =
            Descriptor::new(envelope.identity(segment), flow, segment.ecn, envelope);
        self.packets[id.index()] = envelope.around(*segment);
        id
    }
    /// Allocates a slot.
    #[inline]
    fn allocate(&mut self) -> PacketId {
        self.free.pop().unwrap_or_else(|| self.grow())
    }
    #[cold]
    fn grow(&mut self) -> PacketId {
        let id = PacketId(self.descriptors.len() as u32);
        let host = HostId::default();
        let nothing =
            Envelope { src: host, dst: host, size: 0, src_conn: 0, dst_conn: 0, class: 0 };
        self.descriptors.push(Descriptor::new(0, 0, Ecn::NotEct, nothing));
        self.packets.push(nothing.around(Segment::default()));
        id
    }
    /// Returns the descriptor of a packet; `None` at the end of a list.
    #[inline]
    pub(crate) fn get(&self, id: PacketId) -> Option<&Descriptor> {
        self.descriptors.get(id.index())
    }
    /// Returns the descriptor of a packet.
    #[inline]
    pub(crate) fn descriptor(&self, id: PacketId) -> &Descriptor {
        &self.descriptors[id.index()]
    }
    /// Returns the descriptor of a packet.
    #[inline]
    pub(crate) fn descriptor_mut(&mut self, id: PacketId) -> &mut Descriptor {
        &mut self.descriptors[id.index()]
    }
    /// Returns all descriptors, by [`PacketId::index`].
    #[inline]
    pub(crate) fn descriptors(&self) -> &[Descriptor] {
        &self.descriptors
    }
    /// Returns all descriptors, by [`PacketId::index`].
    #[inline]
    pub(crate) fn descriptors_mut(&mut self) -> &mut [Descriptor] {
        &mut self.descriptors
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
    /// Adds queueing delay to a packet.
    #[inline]
    pub(crate) fn add_queueing(&mut self, id: PacketId, span: Duration) {
        let total = &mut self.descriptor_mut(id).queueing_ns;
        *total = total.saturating_add(u32::try_from(span.as_ns()).unwrap_or(u32::MAX));
    }
    /// Reads a word at each end of the packet.
    #[inline]
    pub(crate) fn prefetch(&self, id: PacketId) -> u64 {
        let word = |p: &Packet| u64::from(p.src_conn) ^ u64::from(p.segment.seq.raw());
        self.packets.get(id.index()).map_or(0, word)
    }
    pub(crate) fn set_ce(&mut self, id: PacketId) {
        self.descriptors[id.index()].ecn = Ecn::Ce;
        self.packets[id.index()].segment.ecn = Ecn::Ce;
    }
    /// Removes the packet.
    #[inline]
    pub(crate) fn take(&mut self, id: PacketId) -> Packet {
        self.free.push(id);
        self.packets[id.index()]
    }
    /// Drops the packet.
    pub(crate) fn discard(&mut self, id: PacketId) {
        self.record_drop(id);
        self.free.push(id);
    }
    /// Loses a packet on its line. Its slot remains until its arrival event
    /// ([`PacketPool::release_lost`]).
    pub(crate) fn lose(&mut self, id: PacketId) {
        self.record_drop(id);
        self.descriptor_mut(id).lost = true;
        self.lost += 1;
    }
    /// Adds the slot of a packet that was lost in another pool.
    pub(crate) fn put_lost(&mut self) -> PacketId {
        let id = self.allocate();
        let descriptor = self.descriptor_mut(id);
        (descriptor.lost, descriptor.size) = (true, 0);
        self.lost += 1;
        id
    }
    /// Frees the slot of a lost packet.
    #[cold]
    pub(crate) fn release_lost(&mut self, id: PacketId) {
        self.lost -= 1;
        self.free.push(id);
    }
    fn record_drop(&mut self, id: PacketId) {
        if let Some(dropped) = &mut self.dropped {
            dropped.push(self.packets[id.index()].src_conn);
        }
    }
    /// Starts to record dropped packets.
    pub(crate) fn record_drops(&mut self) {
        self.dropped.get_or_insert_default();
    }
    /// Removes a recorded dropped packet and returns its [`Packet::src_conn`].
    pub(crate) fn pop_dropped(&mut self) -> Option<u32> {
        self.dropped.as_mut()?.pop()
    }
    /// Adds a packet from another pool, with its identity and flow hash.
    pub(crate) fn import(&mut self, identity: u64, flow: u32, packet: &Packet) -> PacketId {
        let id = self.allocate();
        let envelope = packet.envelope();
        self.descriptors[id.index()] =
            Descriptor::new(identity, flow, packet.segment.ecn, envelope);
        self.packets[id.index()] = *packet;
        id
    }
    /// Returns all packets in flight by slot.
    pub(crate) fn in_flight(&self) -> impl Iterator<Item = (PacketId, &Packet)> {
        let mut gone: Vec<bool> = self.descriptors.iter().map(|d| d.lost).collect();
        self.free.iter().for_each(|id| gone[id.index()] = true);
        let all = self.packets.iter().zip(0..).zip(gone);
        all.filter(|(_, gone)| !gone).map(|((packet, i), _)| (PacketId(i), packet))
    }
    /// Returns the number of packets in flight.
    pub(crate) fn len(&self) -> usize {
        self.descriptors.len() - self.free.len() - self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::{any, put};

    #[test]
    fn a_descriptor_is_one_cache_line() {
        assert_eq!((size_of::<Descriptor>(), align_of::<Descriptor>()), (64, 64));
    }

    #[test]
    fn slots_are_reused() {
        let mut pool = PacketPool::default();
        let a = put(&mut pool, &any(), 7);
        let b = put(&mut pool, &Packet { size: 40, ..any() }, 0);
        assert_eq!((pool.descriptor(a).flow, pool.descriptor(b).size), (7, 40));
        pool.set_ce(b);
        assert_eq!(pool.descriptor(b).ecn, Ecn::Ce);
        let mut want = Packet { size: 40, ..any() };
        want.segment.ecn = Ecn::Ce;
        assert_eq!(pool.take(b), want);
        assert_eq!(pool.len(), 1);
        assert_eq!(pool.in_flight().collect::<Vec<_>>(), [(a, &any())]);
        let c = put(&mut pool, &any(), 0);
        assert_eq!(c, b);
        assert_eq!(pool.descriptor(c).ecn, Ecn::Ect0);
        assert_eq!(pool.take(a), any());
        pool.discard(c);
        assert_eq!((pool.len(), pool.descriptors.len()), (0, 2));
    }

    #[test]
    fn a_lost_packet_keeps_its_slot_and_is_not_in_flight() {
        let mut pool = PacketPool::default();
        pool.record_drops();
        let a = put(&mut pool, &any(), 0);
        let b = put(&mut pool, &any(), 0);
        pool.lose(a);
        assert_eq!((pool.len(), pool.pop_dropped()), (1, Some(any().src_conn)));
        assert_eq!(pool.in_flight().map(|(id, _)| id).collect::<Vec<_>>(), [b]);
        pool.release_lost(a);
        assert_eq!((pool.len(), pool.pop_dropped()), (1, None));
        assert_eq!(put(&mut pool, &any(), 0), a);
        assert!(!pool.descriptor(a).lost);
    }
}
