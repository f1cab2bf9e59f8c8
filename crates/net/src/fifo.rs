//! A FIFO queue: packets with known departures, from enqueue to the far end of the line.
//!
//! With constant rate and without overtaking, the departure of a packet is known at enqueue: that
//! of the packet before it, or now if later, plus its serialisation time. So a port needs no event
//! for the end of a transmission: it processes past departures when its next event happens.

mod link_failure;

use lowtide_units::Instant;

pub(crate) use self::link_failure::LostPackets;

use crate::packet_pool::{Descriptor, PacketId, PacketPool};

/// A queue length in packets and IP bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Occupancy {
    /// Packets.
    pub packets: u32,
    /// IP bytes.
    pub bytes: u64,
}

/// A FIFO queue: a list of packets from enqueue to the far end of the line, linked through their
/// descriptors, with a cursor for departures and one for arrivals.
///
/// Arrivals are events, departures are processed on demand. The departure of a packet is processed
/// before its arrival ([`super::port::Port::arrive`]), so a descriptor leaves the list once. At a
/// port to another shard a packet is exported before its departure; its slot then remains until the
/// departure is processed.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Fifo {
    /// The next packet to arrive at the far end.
    head: PacketId,
    /// The packet in service: the first one whose departure has not been processed.
    in_service: PacketId,
    /// The last packet; valid unless both cursors are [`PacketId::NONE`].
    tail: PacketId,
    /// Packets whose departure has not been processed.
    packets: u32,
    /// Their IP bytes.
    bytes: u64,
}

impl Fifo {
    /// Returns an empty queue.
    pub(crate) const fn new() -> Self {
        Self {
            head: PacketId::NONE,
            in_service: PacketId::NONE,
            tail: PacketId::NONE,
            packets: 0,
            bytes: 0,
        }
    }
    /// Returns the packets and IP bytes that have not departed, including the packet in service.
    #[inline]
    pub(crate) const fn in_system(&self) -> Occupancy {
        Occupancy { packets: self.packets, bytes: self.bytes }
    }
    /// Returns the queue length, including the packet in service if `with_in_service`.
    #[inline]
    pub(crate) fn occupancy(&self, with_in_service: bool, pool: &PacketPool) -> Occupancy {
        let (packets, bytes) = (self.packets, self.bytes);
        match pool.get(self.in_service) {
            Some(sending) if !with_in_service => {
                Occupancy { packets: packets - 1, bytes: bytes - u64::from(sending.size) }
            }
            _ => Occupancy { packets, bytes },
        }
    }
    /// Returns the packet in service if it leaves at or before `now`.
    #[inline]
    pub(crate) fn next_departure<'a>(
        &self,
        now: Instant,
        pool: &'a PacketPool,
    ) -> Option<&'a Descriptor> {
        pool.get(self.in_service).filter(|sending| sending.departure <= now)
    }
    /// Records the departure of the packet in service.
    #[inline]
    pub(crate) fn depart(&mut self, sending: &Descriptor) {
        self.bytes -= u64::from(sending.size);
        self.packets -= 1;
        self.in_service = sending.next;
    }
    /// Returns the departure time of the packet in service.
    #[inline]
    pub(crate) fn leaves_at(&self, pool: &PacketPool) -> Option<Instant> {
        Some(pool.get(self.in_service)?.departure)
    }
    /// Returns the next arrival time at the far end.
    #[inline]
    pub(crate) fn arrives_at(&self, pool: &PacketPool) -> Option<Instant> {
        Some(pool.get(self.head)?.arrival)
    }
    /// Returns the time when the line becomes free; `None` if it is free.
    #[inline]
    pub(crate) fn free_at(&self, descriptors: &[Descriptor]) -> Option<Instant> {
        let busy = self.in_service != PacketId::NONE;
        if busy { descriptors.get(self.tail.index()).map(|last| last.departure) } else { None }
    }
    /// Enqueues a packet. Returns true if it is now the next to
    /// arrive, so that its arrival must be scheduled.
    pub(crate) fn push(
        &mut self,
        id: PacketId,
        departure: Instant,
        arrival: Instant,
        pool: &mut PacketPool,
    ) -> bool {
        self.push_in(id, departure, arrival, pool.descriptors_mut())
    }
    /// See [`Fifo::push`].
    #[expect(clippy::inline_always, reason = "every hop, and two callers")]
    #[inline(always)]
    pub(crate) fn push_in(
        &mut self,
        id: PacketId,
        departure: Instant,
        arrival: Instant,
        descriptors: &mut [Descriptor],
    ) -> bool {
        let descriptor = &mut descriptors[id.index()];
        descriptor.departure = departure;
        descriptor.arrival = arrival;
        descriptor.next = PacketId::NONE;
        self.bytes += u64::from(descriptor.size);
        self.packets += 1;
        let tail = std::mem::replace(&mut self.tail, id);
        let first = self.head == PacketId::NONE;
        if self.in_service == PacketId::NONE {
            self.in_service = id;
            if first {
                self.head = id;
                return true;
            }
        }
        // The tail is on the way to the far end, or exported and still in service.
        let tail = &mut descriptors[tail.index()];
        tail.next = id;
        tail.next_arrival = arrival;
        if first {
            self.head = id;
        }
        first
    }
    /// Returns the next packet to arrive at the far end.
    #[inline]
    pub(crate) const fn next_to_arrive(&self) -> PacketId {
        self.head
    }
    /// Returns the packet in service.
    #[inline]
    pub(crate) const fn in_service(&self) -> PacketId {
        self.in_service
    }
    /// Removes the packet that arrives at the far end, `arrived`.
    #[inline]
    pub(crate) fn arrive(&mut self, arrived: &Descriptor) {
        self.head = arrived.next;
    }
}

#[cfg(test)]
mod tests {
    use lowtide_units::Duration;

    use super::*;
    use crate::packet::Packet;
    use crate::packet::tests::{any, put};

    fn at(i: usize) -> Instant {
        Instant::from_ps(i as u64)
    }

    /// A hundred packets, number `i` of `i` bytes, in a list that has been empty before.
    fn filled() -> (Fifo, PacketPool, Vec<PacketId>) {
        let mut pool = PacketPool::default();
        let ids: Vec<PacketId> =
            (0..100).map(|size| put(&mut pool, &Packet { size, ..any() }, 0)).collect();
        let mut fifo = Fifo::new();
        for &id in &ids {
            assert!(fifo.push(id, at(0), at(7), &mut pool));
            depart(&mut fifo, &pool);
            assert_eq!(arrive(&mut fifo, &pool), Some((id, at(0))));
        }
        for (i, &id) in ids.iter().enumerate() {
            assert_eq!(fifo.push(id, at(i), at(i + 7), &mut pool), i == 0);
        }
        (fifo, pool, ids)
    }

    fn depart(fifo: &mut Fifo, pool: &PacketPool) {
        let sending = *pool.descriptor(fifo.in_service());
        fifo.depart(&sending);
    }

    fn arrive(fifo: &mut Fifo, pool: &PacketPool) -> Option<(PacketId, Instant)> {
        let id = fifo.next_to_arrive();
        let arrived = pool.get(id)?;
        fifo.arrive(arrived);
        Some((id, arrived.departure))
    }

    #[test]
    fn packets_depart_and_arrive_in_order() {
        let (mut fifo, pool, ids) = filled();
        for (i, &id) in ids.iter().enumerate() {
            let rest = (i..100).sum::<usize>() as u64;
            let all = Occupancy { packets: 100 - i as u32, bytes: rest };
            assert_eq!(fifo.occupancy(true, &pool), all);
            let waiting = Occupancy { packets: 99 - i as u32, bytes: rest - i as u64 };
            assert_eq!(fifo.occupancy(false, &pool), waiting);
            assert_eq!(fifo.leaves_at(&pool), Some(at(i)));
            assert_eq!(fifo.next_departure(at(i), &pool).unwrap().size, i as u32);
            assert_eq!(fifo.next_departure(at(i.max(1) - 1), &pool).is_none(), i > 0);
            depart(&mut fifo, &pool);
            if i % 2 == 1 {
                // Two packets are on the way to the far end.
                assert_eq!(fifo.arrives_at(&pool), Some(at(i + 6)));
                assert_eq!(arrive(&mut fifo, &pool), Some((ids[i - 1], at(i - 1))));
                assert_eq!(arrive(&mut fifo, &pool), Some((id, at(i))));
            }
        }
        assert_eq!(fifo.occupancy(false, &pool), Occupancy::default());
        assert!(fifo.next_departure(at(1_000), &pool).is_none());
        assert_eq!(arrive(&mut fifo, &pool), None);
    }

    #[test]
    fn a_link_failure_behind_an_exported_packet_leaves_none_to_arrive() {
        let (mut fifo, mut pool, ids) = filled();
        assert_eq!(arrive(&mut fifo, &pool), Some((ids[0], at(0))));
        let lost = fifo.link_down(at(0), Duration::from_ps(7), &mut pool);
        assert!(lost.transmitted.is_empty());
        assert_eq!(lost.waiting.iter().map(|(id, _)| *id).collect::<Vec<_>>(), ids[1..]);
        assert_eq!((arrive(&mut fifo, &pool), fifo.in_system().packets), (None, 1));
        // Later packets queue behind the one in service.
        assert!(fifo.push(ids[5], at(200), at(207), &mut pool));
        depart(&mut fifo, &pool);
        assert_eq!(fifo.leaves_at(&pool), Some(at(200)));
        assert_eq!(arrive(&mut fifo, &pool), Some((ids[5], at(200))));
    }

    #[test]
    fn an_exported_packet_stays_transmitted() {
        let (mut fifo, mut pool, ids) = filled();
        for &id in &ids {
            assert_eq!(arrive(&mut fifo, &pool).map(|(id, _)| id), Some(id));
        }
        let next = put(&mut pool, &Packet { size: 100, ..any() }, 0);
        assert!(fifo.push(next, at(100), at(107), &mut pool), "none is on the way");
        for i in 0..=100 {
            assert_eq!(fifo.next_departure(at(200), &pool).unwrap().size, i);
            depart(&mut fifo, &pool);
        }
        assert_eq!(arrive(&mut fifo, &pool), Some((next, at(100))));
    }
}
