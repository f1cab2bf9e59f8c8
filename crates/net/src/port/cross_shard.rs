//! A port at a cut link: this end is in one shard, the far end in another.
//!
//! The shard at this end has the port. It works as any other, but its packets are exported before
//! they arrive. The shard at the far end has an **inlet** with the same number, a line without a
//! queue, in which they arrive.

use lowtide_units::Instant;

use super::{FarEnd, PackedFarEnd, Port, PortConfig, SharedConstants};
use crate::packet_pool::{PacketId, PacketPool};
use crate::{BufferSpec, LineSpec, MarkSpec, PortSpec};

impl Port {
    /// Returns the far end of a line in another shard.
    pub(crate) fn inlet(
        spec: &LineSpec,
        config: &PortConfig<'_>,
        shared: &mut SharedConstants,
    ) -> Self {
        let port =
            PortSpec { buffer: BufferSpec::Unlimited, mark: MarkSpec::NONE, ..PortSpec::NIC };
        Self::new(&LineSpec { port, loss: lowtide_units::Fraction::ZERO, ..*spec }, config, shared)
    }
    /// Makes the port export its packets.
    pub(crate) fn set_cross_shard(&mut self) {
        self.flags.cross_shard = true;
        self.select_paths();
    }
    /// Takes the next packet that arrives before `until` for export, and whether it was marked at
    /// dequeue. All events before `done` are processed; transmission of the packet started before
    /// `done`, and may not have ended.
    pub(crate) fn export_before(
        &mut self,
        done: Instant,
        until: Instant,
        pool: &PacketPool,
    ) -> Option<(PacketId, bool)> {
        let id = self.fifo.next_to_arrive();
        let exported = pool.get(id).filter(|next| next.arrival < until)?;
        // Events at `done` itself are not known yet.
        self.process_departures(Instant::from_ps(done.as_ps().saturating_sub(1)), pool);
        self.fifo.arrive(exported);
        let marked = self.pop_late_mark() && !exported.lost;
        Some((id, marked))
    }
    /// Returns true if the departure of an exported packet is processed, so that its slot is free.
    /// All events before `done` are processed.
    pub(crate) fn has_left(&mut self, id: PacketId, done: Instant, pool: &PacketPool) -> bool {
        self.process_departures(Instant::from_ps(done.as_ps().saturating_sub(1)), pool);
        self.fifo.in_service() != id
    }
    /// Imports a packet that left the other end at `departure`. Returns its arrival time if it is
    /// the next one.
    pub(crate) fn import(
        &mut self,
        id: PacketId,
        departure: Instant,
        pool: &mut PacketPool,
    ) -> Option<Instant> {
        let arrival = departure + self.delay();
        let next = self.fifo.push(id, departure, arrival, pool);
        // The transmission is counted at the other end.
        self.fifo.depart(pool.descriptor(id));
        next.then_some(arrival)
    }
    /// Sets its far end in local numbers.
    pub(crate) fn set_far_end(&mut self, far: FarEnd) {
        self.far_end = PackedFarEnd::new(far);
    }
}
