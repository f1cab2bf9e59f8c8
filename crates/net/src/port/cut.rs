//! A port whose link fails, and comes back.

use lowtide_units::Instant;

use super::{CUT, Port};
use crate::packet::{PacketId, Pool};

impl Port {
    /// The line is dead from `now` on: what has not come off it is lost, and so will be what comes.
    /// `lost` is shown each packet and its size. The port must have been brought up to `now`.
    pub(crate) fn cut(
        &mut self,
        now: Instant,
        pool: &mut Pool,
        mut lost: impl FnMut(PacketId, u32),
    ) {
        if self.is_staged() {
            self.finish_staged(now);
        } else {
            self.finish(now);
        }
        if let Some(loss) = &mut self.rules.loss {
            loss.set_down(true);
        }
        let mut gone = self.fifo.cut(now);
        if let Some(special) = self.special.as_deref_mut() {
            if let Some(bound) = &mut special.bound {
                bound.cut(self.fifo.under_way());
            }
            if let Some(staged) = &mut special.staged {
                staged.cut(now, &mut gone);
            }
        }
        for (id, size) in gone {
            self.counters.cut();
            self.digest.update(now.as_ps());
            self.digest.update(pool.head(id).moving.identity.wrapping_add(CUT));
            lost(id, size);
            pool.discard(id);
        }
    }
    /// The line works again.
    pub(crate) fn mend(&mut self) {
        if let Some(loss) = &mut self.rules.loss {
            loss.set_down(false);
        }
    }
}
