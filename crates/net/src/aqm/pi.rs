//! PI controller: marks with a probability that is steered towards a target queue length.
//!
//! ## Algorithm
//! Every `period` T the probability becomes `p(kT) = p((k-1)T) + a (q(kT) - q_ref) - b (q((k-1)T) -
//! q_ref)` (Hollot, Misra, Towsley and Gong 2001, eq. 12), clamped to 0..1. q is the instantaneous
//! queue in packets, as the port counts it. Each arriving packet is marked with that probability.
//! With their values for 15 Mbit/s and 246 ms, `a = 1.822e-5`, `b = 1.816e-5`, 160 times a second,
//! it settles in many seconds. Gains and period must match rate and RTT of the link.
//!
//! The queue at the time of an update is known only if each departure is an event, so such a port
//! takes two events per packet.

use lowtide_schema::DefaultValue::{Is, Required};
use lowtide_schema::{Param, ParamError, ValueKind, Values};
use lowtide_sim::{Rng, Seed};
use lowtide_units::{Duration, Fraction, Instant, QueueLength};

use super::{
    Aqm, AqmVerdict, CongestionSignal, DecisionPoint, EnqueueInfo, Marker, MarkerConfig,
    MarkerEntry, MarkerSetup, SignalCondition, params,
};
use crate::Occupancy;

/// Registration.
pub static ENTRY: MarkerEntry = MarkerEntry {
    name: "pi",
    summary: "mark or drop with a probability that is steered towards a target queue length",
    spec: "Hollot, Misra, Towsley, Gong 2001",
    params: &[
        Param {
            name: "a",
            kind: ValueKind::SHARE,
            default: Is(A),
            doc: "Gain on the current error, probability per packet.",
            source: "Hollot et al. 2001, eq. 12",
        },
        Param {
            name: "b",
            kind: ValueKind::SHARE,
            default: Is(B),
            doc: "Gain on the previous error, probability per packet, subtracted; below `a`.",
            source: "Hollot et al. 2001, eq. 12",
        },
        Param {
            name: "q-ref",
            kind: ValueKind::Count { min: 1, max: 1_000_000 },
            default: Required,
            doc: "Target queue length, in packets.",
            source: "Hollot et al. 2001, eq. 12",
        },
        Param {
            name: "period",
            kind: ValueKind::POSITIVE_TIME,
            default: Is("6250 us"),
            doc: "Time between two updates.",
            source: "Hollot et al. 2001: 160 times a second",
        },
        params::SIGNAL,
        params::SIGNAL_NOT_ECT,
    ],
    configure: |values| Ok(Box::new(PiConfig::new(values)?)),
};

/// Gains of the authors.
const A: &str = "18220 ppb";
const B: &str = "18160 ppb";

/// The configuration.
#[derive(Clone, Copy, Debug)]
struct PiConfig {
    a: Fraction,
    /// Below `a`, not negative.
    b: Fraction,
    /// In packets.
    q_ref: u64,
    /// Not zero.
    period: Duration,
    signal: CongestionSignal,
}

impl PiConfig {
    fn new(values: &mut Values) -> Result<Self, ParamError> {
        let (a, b) = (values.fraction("a"), values.fraction("b"));
        if b >= a {
            let message = format!("gains of {a} and {b} are unstable: `a` must be above `b`");
            return Err(ParamError::new("b", message, format!("the authors use {A} and {B}")));
        }
        let (q_ref, period) = (values.count("q-ref"), values.duration("period"));
        Ok(Self { a, b, q_ref, period, signal: params::signal(values)? })
    }
}

impl MarkerConfig for PiConfig {
    fn start(&self, setup: &MarkerSetup) -> Marker {
        Marker::new(Pi::new(*self, setup.seed()))
    }

    fn sets_ce(&self) -> bool {
        self.signal.sets_ce()
    }

    fn forwards_not_ect(&self) -> bool {
        self.signal.forwards_not_ect()
    }

    fn decision_point(&self) -> DecisionPoint {
        DecisionPoint::DequeueDrop
    }

    fn signal_condition(&self) -> SignalCondition {
        let length = QueueLength::Packets(self.q_ref);
        SignalCondition::AnyQueue { param: "q-ref", length }
    }
}

/// A probability of one.
const ONE: i128 = 1_000_000_000;

/// The controller state.
#[derive(Clone, Debug)]
struct Pi {
    config: PiConfig,
    /// Parts per billion.
    chance: u64,
    /// The error one period ago, in packets.
    error: i128,
    next: Instant,
    rng: Rng,
}

impl Pi {
    /// Returns a controller whose first update is one period after the start; `seed` seeds its
    /// random draws.
    fn new(config: PiConfig, seed: Seed) -> Self {
        let error = -i128::from(config.q_ref);
        Self { config, chance: 0, error, next: Instant::ZERO + config.period, rng: seed.rng() }
    }

    fn add(&mut self, ppb: i128) {
        let chance = (i128::from(self.chance) + ppb).clamp(0, ONE);
        self.chance = u64::try_from(chance).unwrap_or_default();
    }
}

impl Aqm for Pi {
    fn advance(&mut self, until: Instant, queue: Occupancy) {
        if self.next >= until {
            return;
        }
        let (a, b) = (i128::from(self.config.a.as_ppb()), i128::from(self.config.b.as_ppb()));
        let error = i128::from(queue.packets) - i128::from(self.config.q_ref);
        self.add(a * error - b * self.error);
        self.error = error;
        // The queue has not changed since: each further update adds the same step.
        let span = until.saturating_since(self.next).as_ps() - 1;
        let more = span / self.config.period.as_ps().max(1);
        self.add((a - b) * error * i128::from(more));
        let spans = self.config.period.saturating_mul(more + 1);
        self.next += spans;
    }

    fn on_enqueue(&mut self, _: Instant, packet: &EnqueueInfo) -> AqmVerdict {
        if self.rng.chance(self.chance) {
            self.config.signal.verdict(packet.ecn)
        } else {
            AqmVerdict::Forward
        }
    }
}

#[cfg(test)]
mod tests;
