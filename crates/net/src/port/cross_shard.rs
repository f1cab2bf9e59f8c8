//! A port at a link that is cut: this end is in one part of the network, the far end in another.
//!
//! The part at this end has the port, which works as any other but that nobody awaits its packets: they are
//! handed over some time before they arrive. The part at the far end has an **inlet** of the same number,
//! a line without a queue, in which they arrive.

use lowtide_units::Instant;

use super::{FarEnd, Port, PortConfig};
use crate::packet::{PacketId, PacketMeta};
use crate::scheduler::LineArrival;
use crate::{BufferSpec, LineSpec, MarkSpec, PortSpec};

impl Port {
    /// The far end of a line in another part.
    pub(crate) fn inlet(spec: &LineSpec, setting: &PortConfig<'_>) -> Self {
        let port =
            PortSpec { buffer: BufferSpec::Unlimited, mark: MarkSpec::None, ..PortSpec::NIC };
        Self::new(&LineSpec { port, loss: lowtide_units::Fraction::ZERO, ..*spec }, setting)
    }
    /// From now on packets are handed over.
    pub(crate) fn set_cross_shard(&mut self) {
        self.cross_shard = true;
    }
    /// When the next packet arrives at the far end.
    pub(crate) fn arrives_at(&self) -> Option<Instant> {
        self.fifo.arrives_at()
    }
    /// Hands over the next packet that arrives before `until`, and whether it was marked on its way out. All is
    /// done that happens before `done`, by when the line has begun to send it.
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
            // What happens at `done` itself is not known yet.
            self.retire(Instant::from_ps(done.as_ps().saturating_sub(1)));
            let arrived = self.fifo.arrive()?;
            marked = self.pop_late_mark() && arrived.packet.id != PacketId::GONE;
            arrived
        };
        Some((arrived, marked))
    }
    /// A packet that left the other end at `departure` will arrive here; when, if it is the next one.
    pub(crate) fn import(&mut self, packet: PacketMeta, departure: Instant) -> Option<Instant> {
        let arrival = departure + self.delay();
        let next = self.fifo.push(packet, departure, arrival);
        self.fifo.depart(packet.size);
        next.then_some(arrival)
    }
    /// Where its line ends, as its part counts.
    pub(crate) fn set_far_end(&mut self, far: FarEnd) {
        self.far_end = far;
    }
}
