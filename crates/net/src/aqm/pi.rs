//! A proportional-integral controller: mark with a probability that moves until the queue is as wished.
//!
//! ## What it does
//! Every `period` T the probability becomes `p(kT) = p((k-1)T) + a (q(kT) - q_ref) - b (q((k-1)T) - q_ref)`
//! (Hollot, Misra, Towsley and Gong 2001, eq. 12), held between zero and one, q being the queue in packets
//! as the port counts it, at that instant. Each arriving packet is marked with that probability. With
//! their values for 15 Mbit/s and 246 ms, `a = 1.822e-5`, `b = 1.816e-5`, 160 times a second, it settles
//! in many seconds: the gains and the period belong to the rate and the round trip of the link.
//!
//! The queue at an instant of its own is known only where each departure is an event, so such a port
//! takes two per packet.

use lowtide_sim::{Rng, Seed};
use lowtide_units::Instant;

use super::{Aqm, AqmVerdict, EnqueueInfo, params};
use crate::registry::{Param, ParamFormat, RegistryEntry};
use crate::{Occupancy, PiSpec};

/// Registration.
pub static ENTRY: RegistryEntry = RegistryEntry {
    name: "pi",
    summary: "mark or drop at random, the probability steered so that the queue has a given length",
    spec: "Hollot, Misra, Towsley, Gong 2001",
    params: &[
        Param {
            name: "a",
            kind: ParamFormat::Share,
            default: Some("18220 ppb"),
            doc: "What the error of now adds to the probability, per packet.",
        },
        Param {
            name: "b",
            kind: ParamFormat::Share,
            default: Some("18160 ppb"),
            doc: "What the error of a period ago takes off, per packet; below a.",
        },
        Param {
            name: "q-ref",
            kind: ParamFormat::Number,
            default: None,
            doc: "The length that the queue is to have, in packets.",
        },
        Param {
            name: "period",
            kind: ParamFormat::Duration,
            default: Some("6250 us"),
            doc: "The time between two updates.",
        },
        params::SIGNAL,
        params::CHOSEN,
    ],
};

/// A probability of one.
const ONE: i128 = 1_000_000_000;

/// The controller.
#[derive(Clone, Debug)]
pub struct Pi {
    spec: PiSpec,
    /// Parts per billion.
    chance: u64,
    /// The error a period ago, in packets.
    error: i128,
    next: Instant,
    rng: Rng,
}

impl Pi {
    /// The first update is a period after the start; chance comes from `seed`.
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
        // The queue has not changed since: the rest adds the same each time.
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
