//! A queue whose line fails.

use lowtide_units::Instant;

use super::Fifo;
use crate::packet::PacketId;

impl Fifo {
    /// Takes out what has not come off the line by `now`: packets in flight, the one on the
    /// line and all behind it, in this order, each with its size. [`Fifo::next_departure`] up to `now`
    /// must have been taken.
    ///
    /// The line finishes what it has begun, and each place on it or in flight keeps its events, so that
    /// whatever comes later cannot arrive earlier; its packet is [`PacketId::GONE`] when it arrives.
    pub(crate) fn link_down(&mut self, now: Instant) -> Vec<(PacketId, u32)> {
        let begun = self.tail.min(self.line + 1);
        let mask = self.ring.len().wrapping_sub(1);
        let mut lost = Vec::new();
        for position in self.head..self.tail {
            let place = &mut self.ring[position as usize & mask];
            if place.departure + self.delay <= now || place.packet.id == PacketId::GONE {
                continue;
            }
            lost.push((place.packet.id, place.packet.size));
            if position < begun {
                place.packet.id = PacketId::GONE;
            } else {
                self.bytes -= u64::from(place.packet.size);
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
    /// Packets between their place in the queue and the far end, those that are gone included.
    pub(crate) const fn in_ring(&self) -> usize {
        (self.tail - self.head) as usize
    }
}
