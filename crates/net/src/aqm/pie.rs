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
//! timestamps; PIE is always on (§5.3); no cap of a step (§5.5). De-randomisation (§5.4), which
//! Linux always has, is off unless `derandomise` is set: it nearly halves the rate of signals. The
//! period is exact: Linux at HZ = 250 updates every 20 ms if asked for 15 ms (`mod_timer`). A
//! packet that is not ECN-capable passes below `mark-limit` with `not-ect = "ignore"`; the RFC
//! drops it.

use lowtide_schema::DefaultValue::Is;
use lowtide_schema::{Param, ValueKind};
use lowtide_sim::{Rng, Seed};
use lowtide_units::{Bytes, Duration, Fraction, Instant, Ratio};

use super::{
    Aqm, AqmVerdict, CongestionSignal, DecisionPoint, DequeueInfo, EnqueueInfo, Marker,
    MarkerConfig, MarkerEntry, MarkerSetup, SignalCondition, params,
};
use crate::Occupancy;

/// Registration.
pub static ENTRY: MarkerEntry = MarkerEntry {
    name: "pie",
    summary: "mark or drop with a probability that is steered towards a target queueing delay",
    spec: "RFC 8033",
    params: &[
        Param {
            name: "target",
            kind: ValueKind::TIME,
            default: Is("15 ms"),
            doc: "Target queueing delay (QDELAY_REF).",
            source: "RFC 8033 §4.2",
        },
        Param {
            name: "period",
            kind: ValueKind::POSITIVE_TIME,
            default: Is("15 ms"),
            doc: "Time between two updates (T_UPDATE).",
            source: "RFC 8033 §4.2",
        },
        Param {
            name: "alpha",
            kind: ValueKind::Ratio,
            default: Is("1/8"),
            doc: "Gain on the delay above `target`, probability per second at each update; some hundred times higher for a target of microseconds.",
            source: "RFC 8033 §4.2",
        },
        Param {
            name: "beta",
            kind: ValueKind::Ratio,
            default: Is("5/4"),
            doc: "Gain on the change of delay since the last update, probability per second.",
            source: "RFC 8033 §4.2",
        },
        Param {
            name: "burst",
            kind: ValueKind::TIME,
            default: Is("150 ms"),
            doc: "Burst allowance, time without signals after the queue was short (MAX_BURST).",
            source: "RFC 8033 §4.4",
        },
        Param {
            name: "mark-limit",
            kind: ValueKind::SHARE,
            default: Is("10 %"),
            doc: "From this probability on packets are dropped, ECN-capable or not (MARK_ECNTH).",
            source: "RFC 8033 §5.1",
        },
        Param {
            name: "derandomise",
            kind: ValueKind::Bool,
            default: Is("false"),
            doc: "No signal until the probabilities since the last one add up to 0.85, and one at 8.5.",
            source: "RFC 8033 §5.4",
        },
        Param {
            doc: "IP bytes of a typical packet; a queue of two is exempt (MEAN_PKTSIZE).",
            source: "RFC 8033 §4.1",
            ..params::MEAN_PACKET
        },
        params::SIGNAL,
        params::SIGNAL_NOT_ECT,
    ],
    configure: |values| {
        Ok(Box::new(PieConfig {
            target: values.duration("target"),
            period: values.duration("period"),
            alpha: values.ratio("alpha"),
            beta: values.ratio("beta"),
            burst: values.duration("burst"),
            mark_limit: values.fraction("mark-limit"),
            derandomise: values.bool("derandomise"),
            mean_packet: values.bytes("mean-packet"),
            signal: params::signal(values)?,
        }))
    },
};

/// The configuration.
#[derive(Clone, Copy, Debug)]
struct PieConfig {
    target: Duration,
    /// Not zero.
    period: Duration,
    alpha: Ratio,
    beta: Ratio,
    burst: Duration,
    mark_limit: Fraction,
    derandomise: bool,
    /// IP bytes.
    mean_packet: Bytes,
    signal: CongestionSignal,
}

impl MarkerConfig for PieConfig {
    fn start(&self, setup: &MarkerSetup) -> Marker {
        Marker::new(Pie::new(*self, setup.seed()))
    }

    fn sets_ce(&self) -> bool {
        self.signal.sets_ce()
    }

    fn decision_point(&self) -> DecisionPoint {
        DecisionPoint::DequeueDrop
    }

    /// A probability of 20 % also ends the exemption of delays below half the target (RFC 8033
    /// §4.1). Below the target only a growing delay raises the probability, by `beta` per second.
    fn signal_condition(&self) -> SignalCondition {
        let (num, den) = (u128::from(self.beta.num), u128::from(self.beta.den.get()));
        let fifth = (PS_PER_SECOND / 5 * den).div_ceil(num.max(1));
        let or = u64::try_from(fifth).ok().map(Duration::from_ps);
        SignalCondition::Sojourn { param: "target", target: self.target, divisor: 2, or }
    }
}

const PS_PER_SECOND: u128 = 1_000_000_000_000;

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
struct Pie {
    config: PieConfig,
    /// In units of [`ONE`].
    drop_prob: i128,
    /// Sum of the probabilities since the last signal, in units of [`ONE`].
    accu_prob: i128,
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
    fn new(config: PieConfig, seed: Seed) -> Self {
        Self {
            config,
            drop_prob: 0,
            accu_prob: 0,
            qdelay: Duration::ZERO,
            qdelay_old: Duration::ZERO,
            burst_allowance: config.burst,
            next: Instant::ZERO + config.period,
            rng: seed.rng(),
        }
    }

    /// Performs an update (RFC 8033 §4.2, §4.4).
    fn update(&mut self, delay: Duration) {
        let (now, old) = (i128::from(delay.as_ps()), i128::from(self.qdelay_old.as_ps()));
        let error = now - i128::from(self.config.target.as_ps());
        let step = gain_term(self.config.alpha, error) + gain_term(self.config.beta, now - old);
        let small = TUNING.iter().find(|(below, _)| self.drop_prob < ONE / below);
        self.drop_prob += step / small.map_or(1, |(_, by)| *by);
        if now == 0 && old == 0 {
            self.drop_prob = self.drop_prob * 98 / 100;
        }
        self.drop_prob = self.drop_prob.clamp(0, ONE);
        self.burst_allowance = self.burst_allowance.saturating_sub(self.config.period);
        if self.drop_prob == 0
            && self.below_half_target(delay)
            && self.below_half_target(self.qdelay_old)
        {
            self.burst_allowance = self.config.burst;
        }
        self.qdelay_old = delay;
    }

    fn below_half_target(&self, delay: Duration) -> bool {
        delay < self.config.target / 2
    }

    /// Returns true if no packet is chosen, whatever the probability (RFC 8033 §4.1, §4.4).
    fn bypasses_drop(&self, found: Occupancy) -> bool {
        self.burst_allowance > Duration::ZERO
            || (self.below_half_target(self.qdelay_old) && self.drop_prob < ONE / 5)
            || found.bytes <= 2 * self.config.mean_packet.as_u64()
    }

    /// Draws for a packet that is not exempt.
    fn chooses(&mut self) -> bool {
        let ppb = u64::try_from(self.drop_prob / PER_PPB).unwrap_or_default();
        if !self.config.derandomise {
            return self.rng.chance(ppb);
        }
        self.accu_prob = if self.drop_prob == 0 { 0 } else { self.accu_prob + self.drop_prob };
        let chosen = self.accu_prob >= ONE * 85 / 100
            && (self.accu_prob >= ONE * 85 / 10 || self.rng.chance(ppb));
        if chosen {
            self.accu_prob = 0;
        }
        chosen
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
            self.next += self.config.period;
            if before == (self.drop_prob, self.qdelay_old, self.burst_allowance)
                && self.next < until
            {
                // Steady state: further updates change nothing.
                let span = until.saturating_since(self.next).as_ps() - 1;
                let more = span / self.config.period.as_ps().max(1);
                self.next += self.config.period.saturating_mul(more + 1);
            }
        }
    }

    fn on_enqueue(&mut self, _: Instant, packet: &EnqueueInfo) -> AqmVerdict {
        if self.bypasses_drop(packet.backlog) || !self.chooses() {
            AqmVerdict::Forward
        } else if self.drop_prob < i128::from(self.config.mark_limit.as_ppb()) * PER_PPB {
            self.config.signal.verdict(packet.ecn)
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
