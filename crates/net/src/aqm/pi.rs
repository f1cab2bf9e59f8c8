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

use lowtide_sim::{Rng, Seed};
use lowtide_units::Instant;

use super::{Aqm, AqmVerdict, EnqueueInfo, params};
use crate::registry::{Param, ParamFormat, RegistryEntry};
use crate::{Occupancy, PiSpec};

/// Registration.
pub static ENTRY: RegistryEntry = RegistryEntry {
    name: "pi",
    summary: "mark or drop with a probability that is steered towards a target queue length",
    spec: "Hollot, Misra, Towsley, Gong 2001",
    params: &[
        Param {
            name: "a",
            kind: ParamFormat::Share,
            default: Some("18220 ppb"),
            doc: "Weight of the current error in the probability, per packet.",
        },
        Param {
            name: "b",
            kind: ParamFormat::Share,
            default: Some("18160 ppb"),
            doc: "Weight of the error one period ago, subtracted, per packet; below a.",
        },
        Param {
            name: "q-ref",
            kind: ParamFormat::Number,
            default: None,
            doc: "The target queue length, in packets.",
        },
        Param {
            name: "period",
            kind: ParamFormat::Duration,
            default: Some("6250 us"),
            doc: "The update period.",
        },
        params::SIGNAL,
        params::CHOSEN,
    ],
};

/// A probability of one.
const ONE: i128 = 1_000_000_000;

/// The controller state.
#[derive(Clone, Debug)]
pub struct Pi {
    spec: PiSpec,
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
    pub fn new(spec: PiSpec, seed: Seed) -> Self {
        let error = -i128::from(spec.q_ref);
        Self { spec, chance: 0, error, next: Instant::ZERO + spec.period, rng: seed.rng() }
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
        let (a, b) = (i128::from(self.spec.a.as_ppb()), i128::from(self.spec.b.as_ppb()));
        let error = i128::from(queue.packets) - i128::from(self.spec.q_ref);
        self.add(a * error - b * self.error);
        self.error = error;
        // The queue has not changed since: each further update adds the same step.
        let span = until.saturating_since(self.next).as_ps() - 1;
        let more = span / self.spec.period.as_ps().max(1);
        self.add((a - b) * error * i128::from(more));
        let spans = self.spec.period.saturating_mul(more + 1);
        self.next += spans;
    }

    fn on_enqueue(&mut self, _: Instant, packet: &EnqueueInfo) -> AqmVerdict {
        if self.rng.chance(self.chance) {
            self.spec.signal.verdict(packet.ecn)
        } else {
            AqmVerdict::Forward
        }
    }
}

#[cfg(test)]
mod tests;
