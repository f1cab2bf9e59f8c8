//! A port whose link fails, and comes back.

use lowtide_units::Instant;

use super::{CUT, Port};
use crate::packet::{PacketId, Pool};

impl Port {
    /// The line is dead from `now` on: what has not come off it is lost, and so will be what comes.
    /// `lost` is shown each packet and its size.
    pub(crate) fn cut(
        &mut self,
        now: Instant,
        pool: &mut Pool,
        mut lost: impl FnMut(PacketId, u32),
    ) {
        self.finish(now);
        if let Some(loss) = &mut self.loss {
            loss.set_down(true);
        }
        for (id, size) in self.fifo.cut(now, self.line.delay) {
            self.counters.cut();
            self.digest.update(now.as_ps());
            self.digest.update(pool.head(id).identity.wrapping_add(CUT));
            lost(id, size);
            pool.discard(id);
        }
    }
    /// The line works again.
    pub(crate) fn mend(&mut self) {
        if let Some(loss) = &mut self.loss {
            loss.set_down(false);
        }
    }
}
