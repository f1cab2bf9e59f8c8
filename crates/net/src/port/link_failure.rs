//! Link failure and repair at a port.

use lowtide_units::Instant;

use super::{LINK_DOWN, Port};
use crate::packet::{PacketId, PacketPool};

impl Port {
    /// Takes the line down at `now`: its packets and later arrivals are lost. Each lost packet and
    /// its size is passed to `lost`. The port must be up to date at `now`.
    pub(crate) fn link_down(
        &mut self,
        now: Instant,
        pool: &mut PacketPool,
        mut lost: impl FnMut(PacketId, u32),
    ) {
        if self.is_event_port() {
            self.finish_event_port(now);
        } else {
            self.finish(now);
        }
        if let Some(loss) = &mut self.rules.loss {
            loss.set_down(true);
        }
        let mut dropped = self.fifo.link_down(now);
        if let Some(special) = self.special.as_deref_mut() {
            if let Some(bound) = &mut special.late_mark {
                bound.link_down(self.fifo.in_ring());
            }
            if let Some(event_port) = &mut special.event_port {
                event_port.link_down(now, &mut dropped);
            }
        }
        for (id, size) in dropped {
            self.counters.count_link_down_drop();
            self.digest.update(now.as_ps());
            self.digest.update(pool.state(id).meta.identity.wrapping_add(LINK_DOWN));
            lost(id, size);
            pool.discard(id);
        }
    }
    /// Takes the line up again.
    pub(crate) fn link_up(&mut self) {
        if let Some(loss) = &mut self.rules.loss {
            loss.set_down(false);
        }
    }
}
