//! Marks that are decided as the line begins to send a packet, and bound when it is handed over.
//!
//! The queue that a packet leaves behind is what came before the line began to send it. So the decision
//! can wait for the next thing that happens to the port: its next arrival, or the packet's own arrival at
//! the far end, whichever is first. No event is needed at the time itself.

use std::collections::VecDeque;

use lowtide_units::Instant;
use lowtide_wire::Ecn;

use super::{MARKED_LEAVING, Port, Special};
use crate::aqm::{Aqm, Leaving, Verdict};
use crate::packet::{Head, Moving};

/// Packets from their place in the queue to the far end of the line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bound {
    ring: VecDeque<Pending>,
    /// How many of them the line has begun to send.
    begun: usize,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    identity: u64,
    came: Instant,
    size: u32,
    ecn: Ecn,
    marked: bool,
}

impl Bound {
    /// The line died, and so many packets have still to come to its far end.
    pub(super) fn cut(&mut self, under_way: usize) {
        self.ring.truncate(under_way);
    }
}

impl Port {
    /// A packet has taken its place, the port having been brought up to `now`.
    pub(crate) fn bind(&mut self, now: Instant, head: &Head) {
        let Some(Special { bound: Some(bound), .. }) = self.special.as_deref_mut() else { return };
        let &Head { moving: Moving { identity, size, .. }, ecn, .. } = head;
        bound.ring.push_back(Pending { identity, came: now, size, ecn, marked: false });
        if self.fifo.in_system() == 1 {
            self.next_on_line(now);
        }
    }
    /// The line begins to send the next packet, if there is one.
    pub(super) fn next_on_line(&mut self, at: Instant) {
        let Some(Special { bound: Some(bound), .. }) = self.special.as_deref_mut() else { return };
        if self.fifo.in_system() == 0 {
            return;
        }
        let Some(pending) = bound.ring.get_mut(bound.begun) else { return };
        bound.begun += 1;
        let left = self.fifo.occupancy(self.count_in_service);
        let &mut Pending { identity, came, size, ecn, .. } = pending;
        let waited = at.saturating_since(came);
        let verdict = self.rules.aqm.on_dequeue(at, &Leaving { left, waited, size, ecn });
        // One that would drop has departures that are events.
        if verdict == Verdict::Mark {
            pending.marked = true;
            self.counters.judged(verdict);
            self.digest.update(at.as_ps());
            self.digest.update(identity.wrapping_add(MARKED_LEAVING));
        }
    }
    /// The packet that arrives at the far end is handed over; whether it was marked on the way out. The
    /// port has been brought up to now.
    pub(crate) fn hand_over(&mut self) -> bool {
        let Some(Special { bound: Some(bound), .. }) = self.special.as_deref_mut() else {
            return false;
        };
        let Some(pending) = bound.ring.pop_front() else { return false };
        bound.begun = bound.begun.saturating_sub(1);
        pending.marked
    }
}
