//! The path of most packets: a port with one queue and nothing special, after the warm-up, that has
//! room and does not mark.
//!
//! Contract: a fast path does the steps of the complete one ([`Port::arrive`], [`Port::enqueue`],
//! [`Port::commit`]) that have an effect, and nothing else. Tests compare the two.

use lowtide_units::Instant;

use super::{ENQUEUED, FarEnd, Port};
use crate::packet_pool::{Descriptor, PacketId};

/// A packet that the fast path has enqueued.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Enqueued {
    pub(crate) departure: Instant,
    /// Its arrival time at the far end, if it must be scheduled.
    pub(crate) event: Option<Instant>,
}

impl Port {
    /// Takes the next packet at the far end, which is `arrived` and whose departure is processed
    /// first. Returns false if the port needs the complete path ([`Port::arrive`]).
    #[inline]
    pub(crate) fn arrive_fast(&mut self, id: PacketId, arrived: &Descriptor) -> bool {
        if !self.fast_arrival {
            return false;
        }
        if self.fifo.in_service() == id {
            self.counters.departure(arrived.departure, self.fifo.in_system().packets);
            self.fifo.depart(arrived);
        }
        self.fifo.arrive(arrived);
        true
    }
    /// Enqueues packet `id`. `delay_arrival` returns its arrival time at the far end, given the one
    /// without host jitter. Returns `None` if the port needs the complete path ([`Port::enqueue`]);
    /// it is then unchanged but for departures up to `now`.
    #[expect(clippy::inline_always, reason = "every hop, and two callers")]
    #[inline(always)]
    pub(crate) fn enqueue_fast(
        &mut self,
        now: Instant,
        id: PacketId,
        descriptors: &mut [Descriptor],
        delay_arrival: impl FnOnce(FarEnd, Instant) -> Instant,
    ) -> Option<Enqueued> {
        if !self.fast_enqueue {
            return None;
        }
        let &Descriptor { identity, size, .. } = descriptors.get(id.index())?;
        while let Some(sending) = descriptors.get(self.fifo.in_service().index())
            && sending.departure <= now
        {
            self.counters.departure(sending.departure, self.fifo.in_system().packets);
            self.fifo.depart(sending);
        }
        let found = self.fifo.in_system();
        let constants = &*self.constants;
        if !constants.forward_limit.holds(found, size) {
            return None;
        }
        self.digest.update(now.as_ps());
        self.digest.update(identity.wrapping_add(ENQUEUED));
        let mut start = now;
        if let Some(sending) = descriptors.get(self.fifo.in_service().index()) {
            let in_service = if constants.count_in_service { 0 } else { sending.size };
            self.counters.arrival_at_busy(now, found.packets);
            self.counters.update_max_bytes(found.bytes + u64::from(size) - u64::from(in_service));
            start = self.fifo.free_at(descriptors).unwrap_or(now);
        } else if constants.count_in_service {
            match u16::try_from(size) {
                Ok(size) => self.largest_alone = self.largest_alone.max(size),
                Err(_) => self.counters.update_max_bytes(u64::from(size)),
            }
        }
        self.counters.admit(size);
        let departure = start + constants.line.fast_serialization(size);
        let arrival = delay_arrival(self.far_end.node(), departure + constants.delay);
        let first = self.fifo.push_in(id, departure, arrival, descriptors);
        Some(Enqueued { departure, event: first.then_some(arrival) })
    }
}
