//! A queue at a link failure.

use lowtide_units::Instant;

use super::Fifo;
use crate::packet::PacketId;

impl Fifo {
    /// Removes all packets that have not left the line by `now`: packets in flight, the one on the
    /// line and all behind it, in this order, each with its size. [`Fifo::next_departure`] up to
    /// `now` must have been taken.
    ///
    /// The line finishes the transmission in progress, and each entry on it or in flight keeps its
    /// events, so later packets cannot arrive earlier. Its packet is [`PacketId::GONE`] when it
    /// arrives.
    pub(crate) fn link_down(&mut self, now: Instant) -> Vec<(PacketId, u32)> {
        let begun = self.tail.min(self.line + 1);
        let mask = self.ring.len().wrapping_sub(1);
        let mut lost = Vec::new();
        for position in self.head..self.tail {
            let entry = &mut self.ring[position as usize & mask];
            if entry.departure + self.delay <= now || entry.packet.id == PacketId::GONE {
                continue;
            }
            lost.push((entry.packet.id, entry.packet.size));
            if position < begun {
                entry.packet.id = PacketId::GONE;
            } else {
                self.bytes -= u64::from(entry.packet.size);
            }
        }
        if begun < self.tail {
            self.tail = begun;
            if let Some(late) = &mut self.late {
                late.arrivals.truncate(begun.saturating_sub(self.head) as usize);
            }
            self.free_at = self.entry(self.line).departure;
        }
        lost
    }
    /// Returns the packets between enqueue and the far end, including lost ones.
    pub(crate) const fn in_ring(&self) -> usize {
        (self.tail - self.head) as usize
    }
}
