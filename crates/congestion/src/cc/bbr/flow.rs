//! A flow for the tests of both versions: ACKs with the facts of a path.

use lowtide_units::{Instant, Probe, Unit};

use super::super::{CcEntry, CcSetup, CongestionControl, WindowRules};
use super::*;
use alloc::boxed::Box;
use lowtide_schema::Values;

pub(in crate::cc) const MSS: u64 = 1448;
pub(in crate::cc) const RTT: Duration = Duration::from_ms(40);

pub(in crate::cc) fn setup() -> CcSetup {
    CcSetup {
        mss: MSS as u32,
        initial_window: 10 * MSS,
        floor: 2 * MSS,
        ssthresh_floor: 0,
        abc_limit: 2 * MSS,
        ecn: false,
        now: Instant::ZERO,
        seed: 0,
        rtt: Some(RTT),
        rules: WindowRules::RFC,
    }
}

/// A control with the ACKs of a path that delivers `segments` per round trip.
pub(in crate::cc) struct Flow {
    pub(in crate::cc) cc: Box<dyn CongestionControl>,
    pub(in crate::cc) now: Instant,
    pub(in crate::cc) delivered: u64,
}

impl Flow {
    pub(in crate::cc) fn new(entry: &CcEntry, setup: &CcSetup) -> Self {
        let cc = (entry.build)(&Values::parse(&[], &[]).expect("none"), setup);
        Self { cc, now: Instant::ZERO, delivered: 0 }
    }

    /// An ACK after a round trip that delivered `segments`; `change` edits it.
    pub(in crate::cc) fn round(&mut self, segments: u64, change: impl FnOnce(&mut AckSample)) {
        self.now += RTT;
        let bytes = segments * MSS;
        let mut ack = AckSample {
            now: self.now,
            acked_bytes: bytes,
            acked_segments: segments as u32,
            delivered_bytes: bytes,
            delivered_segments: segments as u32,
            rtt: Some(RTT),
            prior_in_flight: bytes,
            rate_sample: Some(RateSample {
                prior_delivered: self.delivered,
                delivered: bytes,
                interval: RTT,
                app_limited: false,
                tx_in_flight: 0,
                lost: 0,
            }),
            ..AckSample::default()
        };
        change(&mut ack);
        self.delivered += bytes;
        let _ = self.cc.on_ack(&ack);
    }

    pub(in crate::cc) fn value(&self, wanted: &str) -> u64 {
        struct One<'a>(&'a str, Option<u64>);
        impl Probe for One<'_> {
            fn value(&mut self, name: &str, _: Unit, value: u64) {
                if name == self.0 {
                    self.1 = Some(value);
                }
            }
        }
        let mut one = One(wanted, None);
        self.cc.probe(&mut one);
        one.1.expect("a probed value")
    }

    pub(in crate::cc) fn mode(&self) -> u64 {
        self.value("mode")
    }
}

/// 100 segments per 40 ms, bit/s.
pub(in crate::cc) const BW: u64 = 100 * MSS * 8 * 25;
