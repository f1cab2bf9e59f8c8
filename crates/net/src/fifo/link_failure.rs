//! A queue at a link failure, and at a change of the line's rate.

use lowtide_units::{Duration, Instant};

use super::Fifo;
use crate::line::Line;
use crate::packet_pool::{Descriptor, PacketId, PacketPool};

/// The packets of a queue that a link failure loses, each with its size.
#[derive(Clone, Debug, Default)]
pub(crate) struct LostPackets {
    /// In flight or in service: their arrival events remain ([`PacketPool::lose`]).
    pub(crate) transmitted: Vec<(PacketId, u32)>,
    /// Behind them: they are no longer in the queue.
    pub(crate) waiting: Vec<(PacketId, u32)>,
}

impl Fifo {
    /// Removes all packets that have not left the line by `now`: packets in flight, the one in
    /// service and all behind it, in this order. Departures up to `now` must have been processed.
    /// `delay` is that of the line.
    ///
    /// The line finishes the transmission in progress, and each packet on it or in flight keeps its
    /// events, so later packets cannot arrive earlier.
    pub(crate) fn link_down(
        &mut self,
        now: Instant,
        delay: Duration,
        pool: &mut PacketPool,
    ) -> LostPackets {
        let mut lost = LostPackets::default();
        // The packet in service may be exported already; then all others are behind it.
        let exported =
            self.in_service != PacketId::NONE && self.ids(pool).all(|id| id != self.in_service);
        let mut up_to_in_service = !exported;
        let mut at = self.head;
        while let Some(packet) = pool.get(at) {
            if !up_to_in_service {
                self.bytes -= u64::from(packet.size);
                self.packets -= 1;
                lost.waiting.push((at, packet.size));
            } else if packet.departure + delay > now && !packet.lost {
                lost.transmitted.push((at, packet.size));
            }
            up_to_in_service &= at != self.in_service;
            at = packet.next;
        }
        if exported {
            self.head = PacketId::NONE;
        }
        if self.in_service != PacketId::NONE {
            self.tail = self.in_service;
            pool.descriptor_mut(self.in_service).next = PacketId::NONE;
        }
        lost
    }
    /// Recomputes the departures and arrivals of the packets behind the one in service, which the
    /// line finishes, for a new `line`; each is passed to `moved` with both ends of its
    /// transmission. Departures up to now must have been processed. Returns the last arrival.
    pub(crate) fn reschedule(
        &mut self,
        line: &Line,
        delay: Duration,
        pool: &mut PacketPool,
        mut moved: impl FnMut(PacketId, [Instant; 2]),
    ) -> Option<Instant> {
        let sending = pool.get(self.in_service)?;
        let (mut free_at, mut arrival) = (sending.departure, sending.arrival);
        let (mut before, mut at) = (self.in_service, sending.next);
        while let Some(&Descriptor { departure, arrival: old, size, next, .. }) = pool.get(at) {
            let jitter = old.saturating_since(departure + delay);
            let start = free_at;
            free_at = start + line.serialization(size);
            arrival = arrival.max(free_at + delay + jitter);
            let packet = pool.descriptor_mut(at);
            (packet.departure, packet.arrival) = (free_at, arrival);
            pool.descriptor_mut(before).next_arrival = arrival;
            moved(at, [start, free_at]);
            (before, at) = (at, next);
        }
        (before != self.in_service).then_some(arrival)
    }
    /// Returns the packets between enqueue and the far end, including lost ones.
    pub(crate) fn in_list(&self, pool: &PacketPool) -> usize {
        self.ids(pool).count()
    }
    fn ids(&self, pool: &PacketPool) -> impl Iterator<Item = PacketId> {
        let some = |id: PacketId| (id != PacketId::NONE).then_some(id);
        std::iter::successors(some(self.head), move |id| some(pool.descriptor(*id).next))
    }
}
