//! TCN: marks by the time that a packet waited, not by the length of its queue.
//!
//! ## Algorithm
//! A packet whose queueing delay exceeds `threshold` at the start of its transmission is marked.
//! There is no state. With several queues of a port, the drain rate of each varies, so a threshold
//! in bytes fits one rate only; a time fits all.
//!
//! ## Spec
//! Bai et al., Enabling ECN over Generic Packet Scheduling (CoNEXT 2016), §4: T = RTT x lambda.
//!
//! ## Deviations
//! The treatment of packets that are not ECN-capable is a choice here.

use lowtide_net::aqm::{
    Aqm, AqmVerdict, DecisionPoint, DequeueInfo, IGNORES_ARRIVALS, Marker, MarkerConfig,
    MarkerEntry, MarkerSetup, NotEct, SignalCondition, params,
};
use lowtide_schema::{DefaultValue, Param, ValueKind};
use lowtide_units::{Duration, Instant, QueueLength};

/// Registration.
pub(crate) static ENTRY: MarkerEntry = MarkerEntry {
    name: "tcn",
    summary: "mark packets that waited longer than a threshold",
    spec: "Bai et al., CoNEXT 2016, §4",
    params: &[
        Param {
            name: "threshold",
            kind: ValueKind::TIME,
            default: DefaultValue::Required,
            doc: "Queueing delay above which packets are marked.",
            source: "Bai et al., CoNEXT 2016, §4: RTT x lambda",
        },
        params::NOT_ECT,
    ],
    configure: |values| {
        let (threshold, not_ect) = (values.duration("threshold"), params::not_ect(values));
        Ok(Box::new(Tcn { threshold, not_ect }))
    },
};

/// Configuration and, as it has no state, the marker.
#[derive(Clone, Copy, Debug)]
struct Tcn {
    threshold: Duration,
    not_ect: NotEct,
}

impl MarkerConfig for Tcn {
    fn start(&self, _: &MarkerSetup) -> Marker {
        Marker::new(*self)
    }

    fn sets_ce(&self) -> bool {
        true
    }

    fn decision_point(&self) -> DecisionPoint {
        match self.not_ect {
            NotEct::Ignore => DecisionPoint::DequeueMark,
            NotEct::Drop => DecisionPoint::DequeueDrop,
        }
    }

    fn signal_condition(&self) -> SignalCondition {
        SignalCondition::Sojourn {
            param: "threshold",
            target: self.threshold,
            divisor: 1,
            or: None,
        }
    }
}

impl Aqm for Tcn {
    fn on_dequeue(&mut self, _: Instant, packet: &DequeueInfo) -> AqmVerdict {
        if packet.sojourn > self.threshold {
            self.not_ect.verdict(packet.ecn)
        } else {
            AqmVerdict::Forward
        }
    }

    fn unmarked_limit(&self) -> Option<QueueLength> {
        IGNORES_ARRIVALS
    }
}
