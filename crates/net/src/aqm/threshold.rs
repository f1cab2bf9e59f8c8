//! A threshold on the queue, shared by the step markers.

use lowtide_units::{Instant, QueueLength};
use lowtide_wire::Ecn;

use super::api::{Aqm, AqmVerdict, EnqueueInfo, NotEct};
use crate::Occupancy;
use crate::limit::Limit;

/// The threshold K, and the treatment of packets that cannot be marked. As a running marker it
/// judges an arriving packet by the queue that it finds.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    k: Limit,
    not_ect: NotEct,
}

impl Threshold {
    /// Returns the threshold `k`.
    pub const fn new(k: QueueLength, not_ect: NotEct) -> Self {
        Self { k: Limit::new(k), not_ect }
    }

    /// Returns the decision on a packet with this codepoint and queue.
    pub fn judge(&self, queue: &Occupancy, ecn: Ecn) -> AqmVerdict {
        if self.k.is_exceeded(*queue) { self.not_ect.verdict(ecn) } else { AqmVerdict::Forward }
    }
}

impl Aqm for Threshold {
    #[inline]
    fn on_enqueue(&mut self, _: Instant, packet: &EnqueueInfo) -> AqmVerdict {
        self.judge(&packet.backlog, packet.ecn)
    }

    fn unmarked_limit(&self) -> Option<QueueLength> {
        Some(self.k.length())
    }
}
