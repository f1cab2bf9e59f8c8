//! Marks decided at the start of transmission and applied at the far end.
//!
//! The queue that a packet leaves behind consists of earlier arrivals. So the decision can wait for
//! the next event of the port: its next arrival, or the packet's own arrival at the far end. No
//! separate event is needed.

use std::collections::VecDeque;

use lowtide_units::Instant;
use lowtide_wire::Ecn;

use super::{MARKED_LEAVING, Port, Special};
use crate::aqm::{Aqm, AqmVerdict, DequeueInfo};
use crate::packet_pool::{Descriptor, PacketPool};

/// Packets from enqueue to the far end of the line.
#[derive(Clone, Debug, Default)]
pub(crate) struct LateMark {
    ring: VecDeque<PendingMark>,
    /// Number of them whose transmission has started.
    begun: usize,
}

#[derive(Clone, Copy, Debug)]
struct PendingMark {
    identity: u64,
    enqueued_at: Instant,
    size: u32,
    ecn: Ecn,
    marked: bool,
}

impl LateMark {
    /// Keeps only the `under_way` packets that still arrive after a link failure.
    pub(super) fn link_down(&mut self, under_way: usize) {
        self.ring.truncate(under_way);
    }
}

impl Port {
    /// Records an enqueued packet; the port is up to date at `now`.
    pub(crate) fn push_late_mark(&mut self, now: Instant, packet: &Descriptor, pool: &PacketPool) {
        let Some(Special { late_mark: Some(late_mark), .. }) = self.special.as_deref_mut() else {
            return;
        };
        let &Descriptor { identity, size, ecn, .. } = packet;
        late_mark.ring.push_back(PendingMark {
            identity,
            enqueued_at: now,
            size,
            ecn,
            marked: false,
        });
        if self.fifo.in_system().packets == 1 {
            self.decide_late_mark(now, pool);
        }
    }
    /// Decides on the next packet at the start of its transmission, if there is one.
    pub(super) fn decide_late_mark(&mut self, at: Instant, pool: &PacketPool) {
        let Some(Special { late_mark: Some(late_mark), .. }) = self.special.as_deref_mut() else {
            return;
        };
        if self.fifo.in_system().packets == 0 {
            return;
        }
        let Some(pending) = late_mark.ring.get_mut(late_mark.begun) else { return };
        late_mark.begun += 1;
        let left = self.fifo.occupancy(self.constants.count_in_service, pool);
        let &mut PendingMark { identity, enqueued_at: came, size, ecn, .. } = pending;
        let waited = at.saturating_since(came);
        let verdict = self
            .rules
            .aqm
            .on_dequeue(at, &DequeueInfo { backlog: left, sojourn: waited, size, ecn });
        // A marker that drops needs departure events.
        if verdict == AqmVerdict::Mark {
            pending.marked = true;
            self.counters.rejections().judged(verdict);
            self.digest.update(at.as_ps());
            self.digest.update(identity.wrapping_add(MARKED_LEAVING));
        }
    }
    /// Removes the packet that arrives at the far end. Returns true if it was marked at dequeue.
    /// The port is up to date.
    pub(crate) fn pop_late_mark(&mut self) -> bool {
        let Some(Special { late_mark: Some(late_mark), .. }) = self.special.as_deref_mut() else {
            return false;
        };
        let Some(pending) = late_mark.ring.pop_front() else { return false };
        late_mark.begun = late_mark.begun.saturating_sub(1);
        pending.marked
    }
}
