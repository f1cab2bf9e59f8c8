//! A port whose link fails, and comes back.

use lowtide_units::Instant;

use super::{LINK_DOWN, Port};
use crate::packet::{PacketId, PacketPool};

impl Port {
    /// The line is dead from `now` on: what has not come off it is lost, and so will be what comes.
    /// `lost` is shown each packet and its size. The port must have been brought up to `now`.
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
        let mut gone = self.fifo.link_down(now);
        if let Some(special) = self.special.as_deref_mut() {
            if let Some(bound) = &mut special.late_mark {
                bound.link_down(self.fifo.in_ring());
            }
            if let Some(staged) = &mut special.event_port {
                staged.link_down(now, &mut gone);
            }
        }
        for (id, size) in gone {
            self.counters.count_link_down_drop();
            self.digest.update(now.as_ps());
            self.digest.update(pool.state(id).meta.identity.wrapping_add(LINK_DOWN));
            lost(id, size);
            pool.discard(id);
        }
    }
    /// The line works again.
    pub(crate) fn link_up(&mut self) {
        if let Some(loss) = &mut self.rules.loss {
            loss.set_down(false);
        }
    }
}
