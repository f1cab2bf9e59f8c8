//! PIE: mark or drop with a probability that moves until packets wait as long as wished.
//!
//! ## What it does
//! Every `period` (`T_UPDATE`) the probability moves by `alpha (delay - target) + beta (delay - delay_old)`,
//! scaled down by 2 to 2048 while it is small, and loses 2 % when nothing waits and nothing did
//! (RFC 8033 §4.2). Each arriving packet is chosen with that probability, but not while the allowance for bursts lasts
//! (§4.4), not in a queue of at most two typical packets, and not below a fifth while packets waited less
//! than half of the target (§4.1). Chosen packets are marked where that is said, while the probability is
//! below `mark-limit`; from there on they are dropped, ECN-capable or not (§5.1).
//!
//! The delay is that of the last packet that the line took (§4.3, time stamps), zero when none waits.
//! `alpha` and `beta` are probabilities per second: the RFC's are for targets of milliseconds; for 50 us
//! they have to be some hundred times as large.
//!
//! ## Deviations
//! Optional elements are absent: the estimate of the departure rate (§5.2) has no use beside time stamps; PIE is
//! always on (§5.3); no de-randomisation (§5.4), no cap of a step (§5.5). A packet that is not ECN-capable passes
//! below `mark-limit` where `not-ect = "ignore"`; the RFC drops it.

use lowtide_sim::{Rng, Seed};
use lowtide_units::{Duration, Instant};

use super::{Aqm, AqmVerdict, DequeueInfo, EnqueueInfo};
use crate::registry::{Param, ParamFormat, RegistryEntry};
use crate::{Occupancy, PieSpec, Ratio};

/// Registration.
pub static ENTRY: RegistryEntry = RegistryEntry {
    name: "pie",
    summary: "mark or drop at random, the probability steered so that packets wait a given time",
    spec: "RFC 8033",
    params: &[
        Param {
            name: "target",
            kind: ParamFormat::Duration,
            default: Some("15 ms"),
            doc: "The time in the queue that is wished (QDELAY_REF).",
        },
        Param {
            name: "period",
            kind: ParamFormat::Duration,
            default: Some("15 ms"),
            doc: "The time between two updates (T_UPDATE).",
        },
        Param {
            name: "alpha",
            kind: ParamFormat::Ratio,
            default: Some("1/8"),
            doc: "What a second above the target adds to the probability at each update.",
        },
        Param {
            name: "beta",
            kind: ParamFormat::Ratio,
            default: Some("5/4"),
            doc: "What a second more than at the last update adds.",
        },
        Param {
            name: "burst",
            kind: ParamFormat::Duration,
            default: Some("150 ms"),
            doc: "How long nothing is chosen after the queue was calm (MAX_BURST).",
        },
        Param {
            name: "mark-limit",
            kind: ParamFormat::Share,
            default: Some("10 %"),
            doc: "From this probability on chosen packets are dropped (MARK_ECNTH).",
        },
        Param {
            name: "mean-packet",
            kind: ParamFormat::Size,
            default: Some("1500 B"),
            doc: "A typical packet: a queue of two is left alone (MEAN_PKTSIZE).",
        },
        Param {
            name: "signal",
            kind: ParamFormat::Choice(&["mark", "drop"]),
            default: Some("mark"),
            doc: "What is done to the packets that it chooses.",
        },
        Param {
            name: "not-ect",
            kind: ParamFormat::Choice(&["ignore", "drop"]),
            default: Some("ignore"),
            doc: "Chosen packets that are not ECN-capable pass below `mark-limit`, or are dropped.",
        },
    ],
};

/// A probability of one: 10^-18 is the least that is kept, far below what moves the controller.
const ONE: i128 = 1_000_000_000_000_000_000;
/// Parts of [`ONE`] per part per billion.
const PER_PPB: i128 = 1_000_000_000;
/// A second is 10^12 ps.
const PER_PS: i128 = ONE / 1_000_000_000_000;
/// By what a step is divided while the probability is below one over this (RFC 8033 §4.2).
const TUNING: [(i128, i128); 6] =
    [(1_000_000, 2_048), (100_000, 512), (10_000, 128), (1_000, 32), (100, 8), (10, 2)];

/// The controller.
#[derive(Clone, Debug)]
pub struct Pie {
    spec: PieSpec,
    /// Of [`ONE`].
    drop_prob: i128,
    /// How long the packet waited that the line took last.
    qdelay: Duration,
    /// The delay at the last update.
    qdelay_old: Duration,
    /// What is left of the allowance for bursts.
    burst_allowance: Duration,
    next: Instant,
    rng: Rng,
}

impl Pie {
    /// The first update is a period after the start; chance comes from `seed`.
    pub fn new(spec: PieSpec, seed: Seed) -> Self {
        Self {
            spec,
            drop_prob: 0,
            qdelay: Duration::ZERO,
            qdelay_old: Duration::ZERO,
            burst_allowance: spec.burst,
            next: Instant::ZERO + spec.period,
            rng: seed.rng(),
        }
    }

    /// One update (RFC 8033 §4.2, §4.4).
    fn update(&mut self, delay: Duration) {
        let (now, old) = (i128::from(delay.as_ps()), i128::from(self.qdelay_old.as_ps()));
        let error = now - i128::from(self.spec.target.as_ps());
        let step = gain_term(self.spec.alpha, error) + gain_term(self.spec.beta, now - old);
        let small = TUNING.iter().find(|(below, _)| self.drop_prob < ONE / below);
        self.drop_prob += step / small.map_or(1, |(_, by)| *by);
        if now == 0 && old == 0 {
            self.drop_prob = self.drop_prob * 98 / 100;
        }
        self.drop_prob = self.drop_prob.clamp(0, ONE);
        self.burst_allowance = self.burst_allowance.saturating_sub(self.spec.period);
        if self.drop_prob == 0
            && self.below_half_target(delay)
            && self.below_half_target(self.qdelay_old)
        {
            self.burst_allowance = self.spec.burst;
        }
        self.qdelay_old = delay;
    }

    fn below_half_target(&self, delay: Duration) -> bool {
        delay < self.spec.target / 2
    }

    /// Nothing is chosen, whatever the probability (RFC 8033 §4.1, §4.4).
    fn bypasses_drop(&self, found: Occupancy) -> bool {
        self.burst_allowance > Duration::ZERO
            || (self.below_half_target(self.qdelay_old) && self.drop_prob < ONE / 5)
            || found.bytes <= 2 * self.spec.mean_packet.as_u64()
    }
}

/// What so many picoseconds add to the probability.
fn gain_term(gain: Ratio, ps: i128) -> i128 {
    ps * PER_PS * i128::from(gain.num) / i128::from(gain.den.get())
}

impl Aqm for Pie {
    fn advance(&mut self, until: Instant, queue: Occupancy) {
        let delay = if queue.packets == 0 { Duration::ZERO } else { self.qdelay };
        while self.next < until {
            let before = (self.drop_prob, self.qdelay_old, self.burst_allowance);
            self.update(delay);
            self.next += self.spec.period;
            if before == (self.drop_prob, self.qdelay_old, self.burst_allowance)
                && self.next < until
            {
                // At rest: all further updates change nothing.
                let span = until.saturating_since(self.next).as_ps() - 1;
                let more = span / self.spec.period.as_ps().max(1);
                self.next += self.spec.period.saturating_mul(more + 1);
            }
        }
    }

    fn on_enqueue(&mut self, _: Instant, packet: &EnqueueInfo) -> AqmVerdict {
        let ppb = u64::try_from(self.drop_prob / PER_PPB).unwrap_or_default();
        if self.bypasses_drop(packet.backlog) || !self.rng.chance(ppb) {
            AqmVerdict::Forward
        } else if self.drop_prob < i128::from(self.spec.mark_limit.as_ppb()) * PER_PPB {
            self.spec.signal.verdict(packet.ecn)
        } else {
            AqmVerdict::Drop
        }
    }

    fn on_dequeue(&mut self, _: Instant, packet: &DequeueInfo) -> AqmVerdict {
        self.qdelay = packet.sojourn;
        AqmVerdict::Forward
    }
}

#[cfg(test)]
mod tests;
