//! RED (random early detection): marks with a probability that grows with the average queue.
//!
//! ## Algorithm
//! Each arriving packet moves the average towards the queue that it finds by 2^-`weight` of the
//! difference. After an idle period the average instead decays once for every typical packet that
//! the line could have sent (Floyd and Jacobson §4). Below `min` no packet is marked. From `min` to
//! `max` the probability p_b rises from zero to `max_p` and is made uniform. With p_b / (1 - n
//! p_b), where n packets have passed since the last mark, marks are 1 to 1 / p_b packets apart,
//! each distance equally likely (§7, method 2). Above `max` all packets are marked, or with
//! `gentle` p_b rises from `max_p` to one at twice `max`.
//!
//! ## Deviations
//! Above `max` ECN-capable packets are marked, not dropped. RFC 3168 §7 asks for drops there; Linux
//! also marks unless `harddrop` is set. The count starts at zero after a mark, as in §7. In the
//! pseudo-code of §4 it starts at one, so its marks are 1 to 1 / p_b - 1 apart. The probability
//! does not depend on the packet size, even if the average is in bytes.

use lowtide_schema::DefaultValue::{Is, Required};
use lowtide_schema::{Param, ParamError, ValueKind, Values};
use lowtide_sim::{Rng, Seed};
use lowtide_units::{Bytes, Duration, Fraction, Instant, QueueLength};

use super::{
    Aqm, AqmVerdict, CongestionSignal, EnqueueInfo, Marker, MarkerConfig, MarkerEntry, MarkerSetup,
    SignalCondition, params,
};

/// Registration.
pub static ENTRY: MarkerEntry = MarkerEntry {
    name: "red",
    summary: "mark or drop with a probability that grows with the average queue",
    spec: "Floyd and Jacobson 1993; RFC 7567 §2.2; gentle: Floyd 2000",
    params: &[
        Param {
            name: "min",
            kind: ValueKind::Length,
            default: Required,
            doc: "No packet is marked below this average queue length, in packets or bytes.",
            source: "Floyd and Jacobson §4",
        },
        Param {
            name: "max",
            kind: ValueKind::Length,
            default: Required,
            doc: "All packets are marked from this average queue length on, unless `gentle`; in the unit of `min`.",
            source: "Floyd and Jacobson §4",
        },
        Param {
            name: "max-p",
            kind: ValueKind::SHARE,
            default: Is("10 %"),
            doc: "Marking probability just below `max`; above 0 %.",
            source: "Floyd 1997",
        },
        Param {
            name: "weight",
            kind: ValueKind::Count { min: 0, max: 24 },
            default: Is("9"),
            doc: "The gain of the average is 2^-`weight`; 0 is no averaging.",
            source: "Floyd and Jacobson §6",
        },
        Param {
            name: "gentle",
            kind: ValueKind::Bool,
            default: Is("false"),
            doc: "The probability grows linearly to one between `max` and twice `max`.",
            source: "Floyd 2000",
        },
        params::MEAN_PACKET,
        params::SIGNAL,
        params::SIGNAL_NOT_ECT,
    ],
    configure: |values| Ok(Box::new(RedConfig::new(values)?)),
};

/// The configuration.
#[derive(Clone, Copy, Debug)]
struct RedConfig {
    min: QueueLength,
    /// In the unit of `min`, above it.
    max: QueueLength,
    /// Above zero, at most one.
    max_p: Fraction,
    /// 0 (no average) to 24.
    weight: u8,
    gentle: bool,
    /// IP bytes of a typical packet, for the decay of the average while the line is idle.
    mean_packet: Bytes,
    signal: CongestionSignal,
}

impl RedConfig {
    fn new(values: &mut Values) -> Result<Self, ParamError> {
        let (min, max) = (values.length("min"), values.length("max"));
        let ordered = match (min, max) {
            (QueueLength::Packets(min), QueueLength::Packets(max)) => min < max,
            (QueueLength::Bytes(min), QueueLength::Bytes(max)) => min < max,
            _ => {
                let message = "`max` has another unit than `min`";
                return Err(ParamError::new("max", message, "write both in one unit"));
            }
        };
        if !ordered {
            let message = format!("`max` of {max} is not above `min` of {min}");
            return Err(ParamError::new("max", message, "raise `max`, or lower `min`"));
        }
        let max_p = values.fraction("max-p");
        if max_p == Fraction::ZERO {
            return Err(ParamError::new(
                "max-p",
                "no packet would be marked below `max`",
                "give a share above 0 %, as `max-p = \"10 %\"`",
            ));
        }
        Ok(Self {
            min,
            max,
            max_p,
            weight: values.count("weight") as u8,
            gentle: values.bool("gentle"),
            mean_packet: values.bytes("mean-packet"),
            signal: params::signal(values)?,
        })
    }
}

impl MarkerConfig for RedConfig {
    fn start(&self, setup: &MarkerSetup) -> Marker {
        let mean = u32::try_from(self.mean_packet.as_u64()).unwrap_or(u32::MAX);
        Marker::new(Red::new(*self, setup.serialization(mean), setup.seed()))
    }

    fn sets_ce(&self) -> bool {
        self.signal.sets_ce()
    }

    fn forwards_not_ect(&self) -> bool {
        self.signal.forwards_not_ect()
    }

    fn signal_condition(&self) -> SignalCondition {
        SignalCondition::FoundQueue { param: "min", length: self.min }
    }
}

/// Fractional bits of the average.
const FRAC_BITS: u32 = 32;
/// A probability of one.
const ONE: i128 = 1_000_000_000;

/// The state of RED.
#[derive(Clone, Debug)]
struct Red {
    config: RedConfig,
    /// In the unit of `config.min`, with [`FRAC_BITS`] fractional bits.
    average: i128,
    min: i128,
    max: i128,
    /// Packets since the last mark, minus one, while the average is between the thresholds.
    count: i64,
    /// Serialisation time of a typical packet.
    slot: Duration,
    rng: Rng,
}

impl Red {
    /// Returns a marker; a typical packet takes `slot` on the line, and `seed` seeds its random
    /// draws.
    fn new(config: RedConfig, slot: Duration, seed: Seed) -> Self {
        let scaled = |count| match count {
            QueueLength::Packets(n) => i128::from(n) << FRAC_BITS,
            QueueLength::Bytes(n) => i128::from(n.as_u64()) << FRAC_BITS,
        };
        let (min, max) = (scaled(config.min), scaled(config.max));
        Self { config, average: 0, min, max, count: -1, slot, rng: seed.rng() }
    }

    fn note(&mut self, now: Instant, packet: &EnqueueInfo) {
        let idle = now.saturating_since(packet.idle_since);
        if idle > Duration::ZERO {
            let slots = idle.as_ps() / self.slot.as_ps().max(1);
            self.average = (self.average * decay(self.config.weight, slots)) >> FRAC_BITS;
            return;
        }
        let found = match self.config.min {
            QueueLength::Packets(_) => i128::from(packet.backlog.packets),
            QueueLength::Bytes(_) => i128::from(packet.backlog.bytes),
        };
        self.average += ((found << FRAC_BITS) - self.average) >> self.config.weight;
    }

    /// Returns the probability before it is made uniform, in parts per billion; `None` if all
    /// packets are chosen.
    fn chance(&self) -> Option<i128> {
        let max_p = i128::from(self.config.max_p.as_ppb());
        let above = self.average - self.max;
        if above < 0 {
            return Some(max_p * (self.average - self.min) / (self.max - self.min));
        }
        if !self.config.gentle || above >= self.max {
            return None;
        }
        Some(max_p + (ONE - max_p) * above / self.max)
    }

    fn chooses(&mut self) -> bool {
        if self.average < self.min {
            self.count = -1;
            return false;
        }
        let Some(chance) = self.chance() else {
            self.count = -1;
            return true;
        };
        self.count += 1;
        let rest = ONE - i128::from(self.count) * chance;
        let chosen = rest <= 0 || {
            let uniform = (chance * ONE / rest).min(ONE);
            self.rng.chance(u64::try_from(uniform).unwrap_or_default())
        };
        if chosen {
            self.count = -1;
        }
        chosen
    }
}

/// Returns (1 - 2^-weight)^n with [`FRAC_BITS`] fractional bits.
fn decay(weight: u8, mut n: u64) -> i128 {
    let mut base = (1_i128 << FRAC_BITS) - (1_i128 << (FRAC_BITS - u32::from(weight)));
    let mut out = 1_i128 << FRAC_BITS;
    while n > 0 {
        if n & 1 == 1 {
            out = (out * base) >> FRAC_BITS;
        }
        base = (base * base) >> FRAC_BITS;
        n >>= 1;
    }
    out
}

impl Aqm for Red {
    fn on_enqueue(&mut self, now: Instant, packet: &EnqueueInfo) -> AqmVerdict {
        self.note(now, packet);
        if self.chooses() { self.config.signal.verdict(packet.ecn) } else { AqmVerdict::Forward }
    }
}

#[cfg(test)]
#[allow(clippy::float_arithmetic, reason = "the closed form to compare with")]
mod tests;
