//! PIE: marks or drops with a probability that is steered towards a target queueing delay.
//!
//! ## Algorithm
//! Every `period` (`T_UPDATE`) the probability moves by `alpha (delay - target) + beta (delay -
//! delay_old)`, scaled down by 2 to 2048 while it is small. It decays by 2 % when the delay is and
//! was zero (RFC 8033 §4.2). Each arriving packet is chosen with that probability, with three
//! exceptions: during the burst allowance (§4.4), in a queue of at most two typical packets, and
//! while the probability is below a fifth and the delay below half the target (§4.1). With marking,
//! chosen packets are marked while the probability is below `mark-limit`, and dropped from there
//! on, ECN-capable or not (§5.1).
//!
//! The delay is that of the last transmitted packet (§4.3, timestamps), zero if the queue is empty.
//! `alpha` and `beta` are probabilities per second. The RFC's values suit targets of milliseconds;
//! for 50 us they must be some hundred times larger.
//!
//! ## Deviations
//! Optional elements are absent. Estimation of the departure rate (§5.2) is useless with
//! timestamps; PIE is always on (§5.3); no de-randomisation (§5.4), no cap of a step (§5.5). A
//! packet that is not ECN-capable passes below `mark-limit` with `not-ect = "ignore"`; the RFC
//! drops it.

use lowtide_sim::{Rng, Seed};
use lowtide_units::{Duration, Instant};

use super::{Aqm, AqmVerdict, DequeueInfo, EnqueueInfo};
use crate::registry::{Param, ParamFormat, RegistryEntry};
use crate::{Occupancy, PieSpec, Ratio};

/// Registration.
pub static ENTRY: RegistryEntry = RegistryEntry {
    name: "pie",
    summary: "mark or drop with a probability that is steered towards a target queueing delay",
    spec: "RFC 8033",
    params: &[
        Param {
            name: "target",
            kind: ParamFormat::Duration,
            default: Some("15 ms"),
            doc: "The target queueing delay (QDELAY_REF).",
        },
        Param {
            name: "period",
            kind: ParamFormat::Duration,
            default: Some("15 ms"),
            doc: "The update period (T_UPDATE).",
        },
        Param {
            name: "alpha",
            kind: ParamFormat::Ratio,
            default: Some("1/8"),
            doc: "Increase of the probability per update and second above the target.",
        },
        Param {
            name: "beta",
            kind: ParamFormat::Ratio,
            default: Some("5/4"),
            doc: "Increase of the probability per second of delay growth since the last update.",
        },
        Param {
            name: "burst",
            kind: ParamFormat::Duration,
            default: Some("150 ms"),
            doc: "Time without signals after the queue was calm (MAX_BURST).",
        },
        Param {
            name: "mark-limit",
            kind: ParamFormat::Share,
            default: Some("10 %"),
            doc: "Chosen packets are dropped at or above this probability (MARK_ECNTH).",
        },
        Param {
            name: "mean-packet",
            kind: ParamFormat::Size,
            default: Some("1500 B"),
            doc: "A typical packet; a queue of two is exempt (MEAN_PKTSIZE).",
        },
        Param {
            name: "signal",
            kind: ParamFormat::Choice(&["mark", "drop"]),
            default: Some("mark"),
            doc: "The treatment of chosen packets.",
        },
        Param {
            name: "not-ect",
            kind: ParamFormat::Choice(&["ignore", "drop"]),
            default: Some("ignore"),
            doc: "Chosen packets that are not ECN-capable pass below `mark-limit`, or are dropped.",
        },
    ],
};

/// A probability of one: the resolution of 10^-18 is far below the steps of the controller.
const ONE: i128 = 1_000_000_000_000_000_000;
/// Units of [`ONE`] per part per billion.
const PER_PPB: i128 = 1_000_000_000;
/// A second is 10^12 ps.
const PER_PS: i128 = ONE / 1_000_000_000_000;
/// Divisors of a step while the probability is below one over the first number (RFC 8033 §4.2).
const TUNING: [(i128, i128); 6] =
    [(1_000_000, 2_048), (100_000, 512), (10_000, 128), (1_000, 32), (100, 8), (10, 2)];

/// The controller state.
#[derive(Clone, Debug)]
pub struct Pie {
    spec: PieSpec,
    /// In units of [`ONE`].
    drop_prob: i128,
    /// Queueing delay of the last transmitted packet.
    qdelay: Duration,
    /// The delay at the last update.
    qdelay_old: Duration,
    /// Remaining burst allowance.
    burst_allowance: Duration,
    next: Instant,
    rng: Rng,
}

impl Pie {
    /// Returns a controller whose first update is one period after the start; `seed` seeds its
    /// random draws.
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

    /// Performs an update (RFC 8033 §4.2, §4.4).
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

    /// Returns true if no packet is chosen, whatever the probability (RFC 8033 §4.1, §4.4).
    fn bypasses_drop(&self, found: Occupancy) -> bool {
        self.burst_allowance > Duration::ZERO
            || (self.below_half_target(self.qdelay_old) && self.drop_prob < ONE / 5)
            || found.bytes <= 2 * self.spec.mean_packet.as_u64()
    }
}

/// Returns the change of the probability for an error of `ps` picoseconds.
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
                // Steady state: further updates change nothing.
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
