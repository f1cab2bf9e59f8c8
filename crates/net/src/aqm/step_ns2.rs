//! The step of ns-2: RED with both thresholds at K, without averaging, as the DCTCP scripts of ns-2
//! set it up.
//!
//! ## Algorithm
//! An arriving packet is marked if the queue that it finds has at least K packets or bytes, and at
//! least two packets. The first packet that finds such a queue after one that did not is not
//! marked: it only sets the state from which RED marks. ns-2 does not count the packet in
//! transmission (`count-in-service = false`).
//!
//! ## Spec
//! `queue/red.cc` of ns-2.35, `enque` and `drop_early`, with the DCTCP patch (docs/evidence/tools,
//! R). Compared with [`step`](super::step) the threshold is K - 1, and each crossing of it marks
//! one packet less. Not checked against the tool.

use lowtide_units::{Bytes, Instant, QueueLength};

use super::{
    Aqm, AqmVerdict, EnqueueInfo, Marker, MarkerConfig, MarkerEntry, MarkerSetup, NotEct,
    SignalCondition, params,
};

/// Registration.
pub static ENTRY: MarkerEntry = MarkerEntry {
    name: "step-ns2",
    summary: "mark an arriving packet if the queue has K, except the first that finds it so",
    spec: "ns-2.35 queue/red.cc with the DCTCP patch",
    params: &[params::K, params::NOT_ECT],
    configure: |values| {
        Ok(Box::new(StepNs2 { k: values.length("k"), not_ect: params::not_ect(values) }))
    },
};

/// The configuration.
#[derive(Clone, Copy, Debug)]
struct StepNs2 {
    k: QueueLength,
    not_ect: NotEct,
}

impl MarkerConfig for StepNs2 {
    fn start(&self, _: &MarkerSetup) -> Marker {
        Marker::new(Running { config: *self, above: false })
    }

    fn sets_ce(&self) -> bool {
        true
    }

    fn forwards_not_ect(&self) -> bool {
        self.not_ect == NotEct::Ignore
    }

    fn signal_condition(&self) -> SignalCondition {
        // A queue of K is sufficient.
        let length = match self.k {
            QueueLength::Packets(k) => QueueLength::Packets(k.saturating_sub(1)),
            QueueLength::Bytes(k) => QueueLength::Bytes(Bytes::new(k.as_u64().saturating_sub(1))),
        };
        SignalCondition::FoundQueue { param: "k", length }
    }
}

/// The state of one queue.
#[derive(Clone, Copy, Debug)]
struct Running {
    config: StepNs2,
    /// The last packet found a queue of at least K.
    above: bool,
}

impl Aqm for Running {
    fn on_enqueue(&mut self, _: Instant, packet: &EnqueueInfo) -> AqmVerdict {
        let found = packet.backlog;
        let reached = match self.config.k {
            QueueLength::Packets(k) => u64::from(found.packets) >= k,
            QueueLength::Bytes(k) => found.bytes >= k.as_u64(),
        };
        let before = core::mem::replace(&mut self.above, reached && found.packets > 1);
        if before && self.above {
            self.config.not_ect.verdict(packet.ecn)
        } else {
            AqmVerdict::Forward
        }
    }
}

#[cfg(test)]
mod tests {
    use lowtide_wire::Ecn;

    use super::*;
    use crate::Occupancy;
    use crate::aqm::Threshold;

    /// A packet that finds a queue of `packets` packets of 1500 B.
    fn arrival(packets: u32, ecn: Ecn) -> EnqueueInfo {
        let backlog = Occupancy { packets, bytes: 1_500 * u64::from(packets) };
        let (tx_start, idle_since) = (Instant::ZERO, Instant::ZERO);
        EnqueueInfo { backlog, size: 1_500, ecn, tx_start, idle_since }
    }

    /// Verdicts on packets that find queues of `lengths` packets.
    fn verdicts(k: QueueLength, not_ect: NotEct, ecn: Ecn, lengths: &[u32]) -> Vec<AqmVerdict> {
        let mut marker = Running { config: StepNs2 { k, not_ect }, above: false };
        let arrivals = lengths.iter().map(|packets| arrival(*packets, ecn));
        arrivals.map(|packet| marker.on_enqueue(Instant::ZERO, &packet)).collect()
    }

    #[test]
    fn k_itself_marks_and_the_first_of_each_crossing_does_not() {
        use AqmVerdict::{Forward, Mark};
        let lengths = [19, 20, 20, 21, 19, 20, 21];
        let expected = [Forward, Forward, Mark, Mark, Forward, Forward, Mark];
        for k in [QueueLength::Packets(20), QueueLength::Bytes(Bytes::new(30_000))] {
            assert_eq!(verdicts(k, NotEct::Ignore, Ecn::Ect0, &lengths), expected);
        }
    }

    #[test]
    fn a_queue_of_one_packet_never_marks() {
        use AqmVerdict::{Forward, Mark};
        let k = QueueLength::Packets(1);
        let verdicts = verdicts(k, NotEct::Ignore, Ecn::Ect0, &[1, 1, 2, 2, 1, 2, 2]);
        assert_eq!(verdicts, [Forward, Forward, Forward, Mark, Forward, Forward, Mark]);
    }

    #[test]
    fn packets_that_cannot_be_marked_pass_or_are_dropped() {
        for (not_ect, last) in
            [(NotEct::Ignore, AqmVerdict::Forward), (NotEct::Drop, AqmVerdict::Drop)]
        {
            let verdicts = verdicts(QueueLength::Packets(5), not_ect, Ecn::NotEct, &[5, 6]);
            assert_eq!(verdicts, [AqmVerdict::Forward, last]);
        }
    }

    #[test]
    fn each_crossing_marks_one_packet_less_than_the_step_at_k_minus_one() {
        // Two times from 10 packets up to 24 and down again.
        let lengths: Vec<u32> = (10..24).chain((10..25).rev()).cycle().take(58).collect();
        let (k, not_ect) = (QueueLength::Packets(20), NotEct::Ignore);
        let marks = |verdicts: Vec<AqmVerdict>| {
            verdicts.iter().filter(|verdict| **verdict == AqmVerdict::Mark).count()
        };
        let mut step = Threshold::new(QueueLength::Packets(19), not_ect);
        let of_step = lengths
            .iter()
            .map(|packets| step.on_enqueue(Instant::ZERO, &arrival(*packets, Ecn::Ect0)))
            .collect();
        let of_ns2 = marks(verdicts(k, not_ect, Ecn::Ect0, &lengths));
        assert_eq!((of_ns2 + 2, of_ns2), (marks(of_step), 16));
    }
}
