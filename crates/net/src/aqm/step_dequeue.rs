//! Step marking at dequeue: one threshold on the queue that a packet leaves behind.
//!
//! ## What it does
//! As the line begins to send a packet, the packets still behind it are counted, and if they are more
//! than K it is marked. So the mark says what the queue is now, and not what it was when the packet
//! came: senders learn of it earlier by the time that the packet waited. (Where `count-in-service` holds,
//! the packet itself, now on the line, counts too.)
//!
//! The line's next packet is known when it has its place, so nothing need happen at that time: who comes
//! later, or takes the packet at the far end, decides for it. Only where packets that are not ECN-capable
//! are dropped does each departure take an event, because a drop lets the next ones leave earlier.

use lowtide_units::Instant;

use super::step::{self, Step};
use super::{Aqm, AqmVerdict, DequeueInfo};
use crate::registry::RegistryEntry;
use crate::{Count, NotEct};

/// Registration.
pub static ENTRY: RegistryEntry = RegistryEntry {
    name: "step-dequeue",
    summary: "mark when the queue that a packet leaves behind is longer than K",
    spec: "DCTCP §3.1 at the other end of the queue; RFC 8257 §3.1 leaves it open",
    params: step::ENTRY.params,
};

/// The same threshold as at enqueue, for another queue.
#[derive(Clone, Copy, Debug)]
pub struct StepDequeue(Step);

impl StepDequeue {
    /// Marks above `k`.
    pub const fn new(k: Count, not_ect: NotEct) -> Self {
        Self(Step::new(k, not_ect))
    }
}

impl Aqm for StepDequeue {
    fn on_dequeue(&mut self, _: Instant, packet: &DequeueInfo) -> AqmVerdict {
        self.0.judge(&packet.backlog, packet.ecn)
    }
}

#[cfg(test)]
mod tests {
    use lowtide_units::{Bytes, Duration};
    use lowtide_wire::Ecn;

    use super::*;
    use crate::Occupancy;

    fn judge(k: Count, not_ect: NotEct, packets: u32, bytes: u64, ecn: Ecn) -> AqmVerdict {
        let left = Occupancy { packets, bytes };
        let packet = DequeueInfo { backlog: left, sojourn: Duration::ZERO, size: 1_500, ecn };
        StepDequeue::new(k, not_ect).on_dequeue(Instant::ZERO, &packet)
    }

    #[test]
    fn k_itself_does_not_mark_and_the_codepoint_decides() {
        let k = Count::Packets(20);
        assert_eq!(judge(k, NotEct::Ignore, 20, u64::MAX, Ecn::Ect0), AqmVerdict::Forward);
        assert_eq!(judge(k, NotEct::Ignore, 21, 0, Ecn::Ect0), AqmVerdict::Mark);
        assert_eq!(judge(k, NotEct::Ignore, 21, 0, Ecn::NotEct), AqmVerdict::Forward);
        assert_eq!(judge(k, NotEct::Drop, 21, 0, Ecn::NotEct), AqmVerdict::Drop);
        assert_eq!(judge(k, NotEct::Drop, 21, 0, Ecn::Ce), AqmVerdict::Mark);
        let k = Count::Bytes(Bytes::new(30_000));
        assert_eq!(judge(k, NotEct::Ignore, u32::MAX, 30_000, Ecn::Ect0), AqmVerdict::Forward);
        assert_eq!(judge(k, NotEct::Ignore, 0, 30_001, Ecn::Ect0), AqmVerdict::Mark);
    }
}
