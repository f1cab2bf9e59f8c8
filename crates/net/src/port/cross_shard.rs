//! A port at a cut link: this end is in one shard, the far end in another.
//!
//! The shard at this end has the port. It works as any other, but its packets are exported before
//! they arrive. The shard at the far end has an **inlet** with the same number, a line without a
//! queue, in which they arrive.

use lowtide_units::Instant;

use super::{FarEnd, Port, PortConfig};
use crate::packet::{PacketId, PacketMeta};
use crate::scheduler::LineArrival;
use crate::{BufferSpec, LineSpec, MarkSpec, PortSpec};

impl Port {
    /// Returns the far end of a line in another shard.
    pub(crate) fn inlet(spec: &LineSpec, config: &PortConfig<'_>) -> Self {
        let port =
            PortSpec { buffer: BufferSpec::Unlimited, mark: MarkSpec::NONE, ..PortSpec::NIC };
        Self::new(&LineSpec { port, loss: lowtide_units::Fraction::ZERO, ..*spec }, config)
    }
    /// Makes the port export its packets.
    pub(crate) fn set_cross_shard(&mut self) {
        self.cross_shard = true;
    }
    /// Returns the arrival time of the next packet at the far end.
    pub(crate) fn arrives_at(&self) -> Option<Instant> {
        self.fifo.arrives_at()
    }
    /// Exports the next packet that arrives before `until`, and whether it was marked at dequeue.
    /// All events before `done` are processed; transmission of the packet started before `done`.
    pub(crate) fn export_before(
        &mut self,
        done: Instant,
        until: Instant,
    ) -> Option<(LineArrival, bool)> {
        if self.fifo.arrives_at()? >= until {
            return None;
        }
        let mut marked = false;
        let arrived = if self.plain_far {
            self.fifo.arrive()?
        } else {
            // Events at `done` itself are not known yet.
            self.retire(Instant::from_ps(done.as_ps().saturating_sub(1)));
            let arrived = self.fifo.arrive()?;
            marked = self.pop_late_mark() && arrived.packet.id != PacketId::GONE;
            arrived
        };
        Some((arrived, marked))
    }
    /// Imports a packet that left the other end at `departure`. Returns its arrival time if it is
    /// the next one.
    pub(crate) fn import(&mut self, packet: PacketMeta, departure: Instant) -> Option<Instant> {
        let arrival = departure + self.delay();
        let next = self.fifo.push(packet, departure, arrival);
        self.fifo.depart(packet.size);
        next.then_some(arrival)
    }
    /// Sets its far end in local numbers.
    pub(crate) fn set_far_end(&mut self, far: FarEnd) {
        self.far_end = far;
    }
}
