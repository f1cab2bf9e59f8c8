//! A queue at a link failure.

use lowtide_units::Instant;

use super::Fifo;
use crate::packet_pool::{PacketId, PacketPool};

/// The packets of a queue that a link failure loses, each with its size.
#[derive(Clone, Debug, Default)]
pub(crate) struct LostPackets {
    /// In flight or on the line: their arrival events remain ([`PacketPool::lose`]).
    pub(crate) on_line: Vec<(PacketId, u32)>,
    /// Behind them: they are no longer in the queue.
    pub(crate) waiting: Vec<(PacketId, u32)>,
}

impl Fifo {
    /// Removes all packets that have not left the line by `now`: packets in flight, the one on the
    /// line and all behind it, in this order. Departures up to `now` must have been processed.
    ///
    /// The line finishes the transmission in progress, and each packet on it or in flight keeps its
    /// events, so later packets cannot arrive earlier.
    pub(crate) fn link_down(&mut self, now: Instant, pool: &mut PacketPool) -> LostPackets {
        let mut lost = LostPackets::default();
        // The packet in service may be exported already; then all others are behind it.
        let exported = self.line != PacketId::NONE && self.ids(pool).all(|id| id != self.line);
        let mut on_line = !exported;
        let mut at = self.head;
        while let Some(packet) = pool.get(at) {
            if !on_line {
                self.bytes -= u64::from(packet.size);
                self.packets -= 1;
                lost.waiting.push((at, packet.size));
            } else if packet.departure + self.delay > now && !packet.lost {
                lost.on_line.push((at, packet.size));
            }
            on_line &= at != self.line;
            at = packet.next;
        }
        if exported {
            self.head = PacketId::NONE;
        }
        if let Some(sending) = pool.get(self.line) {
            self.tail = self.line;
            self.free_at = sending.departure;
            pool.descriptor_mut(self.line).next = PacketId::NONE;
        }
        lost
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
