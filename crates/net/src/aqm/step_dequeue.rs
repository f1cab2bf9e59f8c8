//! Step marking at dequeue: one threshold on the queue that a packet leaves behind.
//!
//! ## Algorithm
//! At the start of a transmission the packet is marked if more than K packets remain behind it. So
//! the mark reflects the current queue, not the queue at arrival. Senders learn of congestion
//! earlier by the queueing delay of the packet. (With `count-in-service` the packet itself, now on
//! the line, counts too.)
//!
//! The order of transmission is known at enqueue, so no event is needed. The next arrival at the
//! port, or the packet's arrival at the far end, decides the mark retroactively. With drops of
//! packets that are not ECN-capable each departure is an event, because a drop advances the next
//! departures.

use lowtide_units::{Instant, QueueLength};

use super::{
    Aqm, AqmVerdict, DecisionPoint, DequeueInfo, IGNORES_ARRIVALS, Marker, MarkerConfig,
    MarkerEntry, MarkerSetup, NotEct, SignalCondition, Threshold, params,
};

/// Registration.
pub static ENTRY: MarkerEntry = MarkerEntry {
    name: "step-dequeue",
    summary: "mark a departing packet if the queue behind it exceeds K",
    spec: "DCTCP §3.1, applied at dequeue; RFC 8257 §3.1 leaves this open",
    params: &[params::K, params::NOT_ECT],
    configure: |values| {
        Ok(Box::new(StepDequeue { k: values.length("k"), not_ect: params::not_ect(values) }))
    },
};

/// The configuration.
#[derive(Clone, Copy, Debug)]
struct StepDequeue {
    k: QueueLength,
    not_ect: NotEct,
}

impl MarkerConfig for StepDequeue {
    fn start(&self, _: &MarkerSetup) -> Marker {
        Marker::new(RemainingQueue(Threshold::new(self.k, self.not_ect)))
    }

    fn sets_ce(&self) -> bool {
        true
    }

    fn forwards_not_ect(&self) -> bool {
        self.not_ect == NotEct::Ignore
    }

    fn decision_point(&self) -> DecisionPoint {
        match self.not_ect {
            NotEct::Ignore => DecisionPoint::DequeueMark,
            NotEct::Drop => DecisionPoint::DequeueDrop,
        }
    }

    fn signal_condition(&self) -> SignalCondition {
        SignalCondition::FoundQueue { param: "k", length: self.k }
    }
}

/// The threshold on the queue that remains.
#[derive(Clone, Copy, Debug)]
struct RemainingQueue(Threshold);

impl Aqm for RemainingQueue {
    fn on_dequeue(&mut self, _: Instant, packet: &DequeueInfo) -> AqmVerdict {
        self.0.judge(&packet.backlog, packet.ecn)
    }

    fn unmarked_limit(&self) -> Option<QueueLength> {
        IGNORES_ARRIVALS
    }
}

#[cfg(test)]
mod tests {
    use lowtide_units::{Bytes, Duration};
    use lowtide_wire::Ecn;

    use super::*;
    use crate::Occupancy;

    fn judge(k: QueueLength, not_ect: NotEct, packets: u32, bytes: u64, ecn: Ecn) -> AqmVerdict {
        let left = Occupancy { packets, bytes };
        let packet = DequeueInfo { backlog: left, sojourn: Duration::ZERO, size: 1_500, ecn };
        RemainingQueue(Threshold::new(k, not_ect)).on_dequeue(Instant::ZERO, &packet)
    }

    #[test]
    fn k_itself_does_not_mark_and_the_codepoint_decides() {
        let k = QueueLength::Packets(20);
        assert_eq!(judge(k, NotEct::Ignore, 20, u64::MAX, Ecn::Ect0), AqmVerdict::Forward);
        assert_eq!(judge(k, NotEct::Ignore, 21, 0, Ecn::Ect0), AqmVerdict::Mark);
        assert_eq!(judge(k, NotEct::Ignore, 21, 0, Ecn::NotEct), AqmVerdict::Forward);
        assert_eq!(judge(k, NotEct::Drop, 21, 0, Ecn::NotEct), AqmVerdict::Drop);
        assert_eq!(judge(k, NotEct::Drop, 21, 0, Ecn::Ce), AqmVerdict::Mark);
        let k = QueueLength::Bytes(Bytes::new(30_000));
        assert_eq!(judge(k, NotEct::Ignore, u32::MAX, 30_000, Ecn::Ect0), AqmVerdict::Forward);
        assert_eq!(judge(k, NotEct::Ignore, 0, 30_001, Ecn::Ect0), AqmVerdict::Mark);
    }
}
