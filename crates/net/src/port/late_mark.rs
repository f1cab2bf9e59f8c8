//! Marks that are decided as the line begins to send a packet, and bound when it is handed over.
//!
//! The queue that a packet leaves behind is what came before the line began to send it. So the decision
//! can wait for the next thing that happens to the port: its next arrival, or the packet's own arrival at
//! the far end, whichever is first. No event is needed at the time itself.

use std::collections::VecDeque;

use lowtide_units::Instant;
use lowtide_wire::Ecn;

use super::{MARKED_LEAVING, Port, Special};
use crate::aqm::{Aqm, AqmVerdict, DequeueInfo};
use crate::packet::{PacketMeta, PacketState};

/// Packets from their place in the queue to the far end of the line.
#[derive(Clone, Debug, Default)]
pub(crate) struct LateMark {
    ring: VecDeque<PendingMark>,
    /// How many of them the line has begun to send.
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
    /// The line died, and so many packets have still to come to its far end.
    pub(super) fn link_down(&mut self, under_way: usize) {
        self.ring.truncate(under_way);
    }
}

impl Port {
    /// A packet has taken its place, the port having been brought up to `now`.
    pub(crate) fn push_late_mark(&mut self, now: Instant, head: &PacketState) {
        let Some(Special { late_mark: Some(bound), .. }) = self.special.as_deref_mut() else {
            return;
        };
        let &PacketState { meta: PacketMeta { identity, size, .. }, ecn, .. } = head;
        bound.ring.push_back(PendingMark { identity, enqueued_at: now, size, ecn, marked: false });
        if self.fifo.in_system() == 1 {
            self.decide_late_mark(now);
        }
    }
    /// The line begins to send the next packet, if there is one.
    pub(super) fn decide_late_mark(&mut self, at: Instant) {
        let Some(Special { late_mark: Some(bound), .. }) = self.special.as_deref_mut() else {
            return;
        };
        if self.fifo.in_system() == 0 {
            return;
        }
        let Some(pending) = bound.ring.get_mut(bound.begun) else { return };
        bound.begun += 1;
        let left = self.fifo.occupancy(self.count_in_service);
        let &mut PendingMark { identity, enqueued_at: came, size, ecn, .. } = pending;
        let waited = at.saturating_since(came);
        let verdict = self
            .rules
            .aqm
            .on_dequeue(at, &DequeueInfo { backlog: left, sojourn: waited, size, ecn });
        // One that would drop has departures that are events.
        if verdict == AqmVerdict::Mark {
            pending.marked = true;
            self.counters.judged(verdict);
            self.digest.update(at.as_ps());
            self.digest.update(identity.wrapping_add(MARKED_LEAVING));
        }
    }
    /// The packet that arrives at the far end is handed over; whether it was marked on the way out. The
    /// port has been brought up to now.
    pub(crate) fn pop_late_mark(&mut self) -> bool {
        let Some(Special { late_mark: Some(bound), .. }) = self.special.as_deref_mut() else {
            return false;
        };
        let Some(pending) = bound.ring.pop_front() else { return false };
        bound.begun = bound.begun.saturating_sub(1);
        pending.marked
    }
}
