//! Link failure and repair at a port, and changes of its rate.

use std::sync::Arc;

use lowtide_units::{Duration, Instant, Rate};

use super::{LINK_DOWN, Port, PortConstants};
use crate::Occupancy;
use crate::fifo::LostPackets;
use crate::line::Line;
use crate::packet_pool::{PacketId, PacketPool};

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
            self.finish(now, pool);
        }
        if let Some(loss) = &mut self.rules.loss {
            loss.set_down(true);
        }
        let free_at = self.state(pool).free_at;
        let delay = self.delay();
        let LostPackets { transmitted, mut waiting } = self.fifo.link_down(now, delay, pool);
        let bytes = waiting.iter().map(|(_, size)| u64::from(*size)).sum();
        let removed = Occupancy { packets: waiting.len() as u32, bytes };
        let sooner = free_at.saturating_since(self.state(pool).free_at);
        let uneven = !self.line().has_fast_serialization();
        self.counters.remove(removed, if uneven { sooner } else { Duration::ZERO });
        if let Some(special) = self.special.as_deref_mut() {
            if let Some(late_mark) = &mut special.late_mark {
                late_mark.link_down(self.fifo.in_list(pool));
            }
            if let Some(event_port) = &mut special.event_port {
                event_port.link_down(now, &mut waiting);
            }
        }
        for (&(id, size), waits) in
            transmitted.iter().map(|p| (p, false)).chain(waiting.iter().map(|p| (p, true)))
        {
            self.rejections().link_down_drops += 1;
            self.digest.update(now.as_ps());
            self.digest.update(pool.descriptor(id).identity.wrapping_add(LINK_DOWN));
            lost(id, size);
            if waits { pool.discard(id) } else { pool.lose(id) }
        }
    }
    /// Changes the rate of the line. The transmission in progress ends as planned. Packets behind
    /// it are sent at the new rate; each is passed to `moved` with both ends of its transmission.
    /// Returns the last changed arrival. The port must be up to date.
    pub(crate) fn set_rate(
        &mut self,
        rate: Rate,
        pool: &mut PacketPool,
        moved: impl FnMut(PacketId, [Instant; 2]),
    ) -> Option<Instant> {
        let line = Line::changeable(rate, self.line().overhead());
        self.constants = Arc::new(PortConstants { line, ..*self.constants });
        // An event port has only the packet in service there; it serialises the others later.
        let before = self.state(pool).free_at;
        let last = self.fifo.reschedule(&line, self.delay(), pool, moved);
        let after = self.state(pool).free_at;
        self.counters.add_serialization(after.saturating_since(before));
        self.counters.remove(Occupancy::default(), before.saturating_since(after));
        last
    }
    /// Takes the line up again.
    pub(crate) fn link_up(&mut self) {
        if let Some(loss) = &mut self.rules.loss {
            loss.set_down(false);
        }
    }
}
