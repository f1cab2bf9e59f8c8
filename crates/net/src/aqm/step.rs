//! Step marking: one threshold on the instantaneous queue (DCTCP §3.1).
//!
//! "Each arriving packet is marked with the CE codepoint if the queue occupancy is greater than K
//! upon its arrival": the queue excludes the packet itself, and a queue of exactly K does not mark.
//! RFC 8257 §3.1 leaves the choice of marking to the switch. Switches that run RED with both
//! thresholds at K on the instantaneous queue, as in the paper, behave the same.

use lowtide_units::QueueLength;

use super::{
    Marker, MarkerConfig, MarkerEntry, MarkerSetup, NotEct, SignalCondition, Threshold, params,
};

/// Registration.
pub static ENTRY: MarkerEntry = MarkerEntry {
    name: "step",
    summary: "mark an arriving packet if the queue exceeds K",
    spec: "DCTCP §3.1, RFC 8257 §3.1",
    params: &[params::K, params::NOT_ECT],
    configure: |values| {
        Ok(Box::new(Step { k: values.length("k"), not_ect: params::not_ect(values) }))
    },
};

/// The configuration.
#[derive(Clone, Copy, Debug)]
struct Step {
    k: QueueLength,
    not_ect: NotEct,
}

impl MarkerConfig for Step {
    fn start(&self, _: &MarkerSetup) -> Marker {
        Marker::threshold(Threshold::new(self.k, self.not_ect))
    }

    fn sets_ce(&self) -> bool {
        true
    }

    fn forwards_not_ect(&self) -> bool {
        self.not_ect == NotEct::Ignore
    }

    fn signal_condition(&self) -> SignalCondition {
        SignalCondition::FoundQueue { param: "k", length: self.k }
    }
}

#[cfg(test)]
mod tests {
    use lowtide_units::{Bytes, Instant};
    use lowtide_wire::Ecn;

    use super::*;
    use crate::Occupancy;
    use crate::aqm::{Aqm, AqmVerdict, EnqueueInfo};

    fn judge(k: QueueLength, not_ect: NotEct, packets: u32, bytes: u64, ecn: Ecn) -> AqmVerdict {
        let found = Occupancy { packets, bytes };
        let packet = EnqueueInfo {
            backlog: found,
            size: 1_500,
            ecn,
            tx_start: Instant::ZERO,
            idle_since: Instant::ZERO,
        };
        Threshold::new(k, not_ect).on_enqueue(Instant::ZERO, &packet)
    }

    #[test]
    fn k_itself_does_not_mark() {
        let (k, pass) = (QueueLength::Packets(20), NotEct::Ignore);
        assert_eq!(judge(k, pass, 20, u64::MAX, Ecn::Ect0), AqmVerdict::Forward);
        assert_eq!(judge(k, pass, 21, 0, Ecn::Ect0), AqmVerdict::Mark);
        let k = QueueLength::Bytes(Bytes::new(30_000));
        assert_eq!(judge(k, pass, u32::MAX, 30_000, Ecn::Ect0), AqmVerdict::Forward);
        assert_eq!(judge(k, pass, 0, 30_001, Ecn::Ect0), AqmVerdict::Mark);
    }

    #[test]
    fn a_threshold_of_zero_spares_only_the_empty_queue() {
        let k = QueueLength::Packets(0);
        assert_eq!(judge(k, NotEct::Ignore, 0, 0, Ecn::Ect1), AqmVerdict::Forward);
        assert_eq!(judge(k, NotEct::Ignore, 1, 40, Ecn::Ect1), AqmVerdict::Mark);
    }

    #[test]
    fn the_codepoint_decides_between_mark_and_drop() {
        let k = QueueLength::Packets(1);
        for not_ect in [NotEct::Ignore, NotEct::Drop] {
            for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
                assert_eq!(judge(k, not_ect, 2, 0, ecn), AqmVerdict::Mark);
            }
            assert_eq!(judge(k, not_ect, 1, 0, Ecn::NotEct), AqmVerdict::Forward);
        }
        assert_eq!(judge(k, NotEct::Ignore, 2, 0, Ecn::NotEct), AqmVerdict::Forward);
        assert_eq!(judge(k, NotEct::Drop, 2, 0, Ecn::NotEct), AqmVerdict::Drop);
    }
}
