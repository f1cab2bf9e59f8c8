//! CoDel (controlled delay): signals when no packet of an interval waited less than the target.
//!
//! ## Algorithm
//! The input is the queueing delay of each packet at the start of its transmission. When it has
//! been at least `target` for a whole `interval`, one packet is dropped (or marked). Another
//! follows `interval / sqrt(n)` after the n-th, until a packet waited less (RFC 8289 §4, §5). A
//! queue of at most one packet of the largest size seen is exempt.
//!
//! ## Deviations
//! RFC 8289 §3 only says that marking may replace dropping. As in Linux, a marked packet is sent,
//! and the next signal waits for its own time. The square root is exact. Linux takes one Newton
//! step per signal, which signals more after an episode (3 % in `docs/evidence/findings.md`).

use lowtide_schema::DefaultValue::Is;
use lowtide_schema::{Param, ValueKind};
use lowtide_units::{Duration, Instant, QueueLength};

use super::{
    Aqm, AqmVerdict, CongestionSignal, DecisionPoint, DequeueInfo, IGNORES_ARRIVALS, Marker,
    MarkerConfig, MarkerEntry, MarkerSetup, SignalCondition, params,
};

/// Registration.
pub static ENTRY: MarkerEntry = MarkerEntry {
    name: "codel",
    summary: "mark or drop when the queueing delay exceeds the target for an interval",
    spec: "RFC 8289",
    params: &[
        Param {
            name: "target",
            kind: ValueKind::TIME,
            default: Is("5 ms"),
            doc: "Acceptable queueing delay.",
            source: "RFC 8289 §4",
        },
        Param {
            name: "interval",
            kind: ValueKind::POSITIVE_TIME,
            default: Is("100 ms"),
            doc: "Time that `target` may be exceeded; about the longest usual round trip.",
            source: "RFC 8289 §4",
        },
        params::SIGNAL,
        params::SIGNAL_NOT_ECT,
    ],
    configure: |values| {
        Ok(Box::new(CoDelConfig {
            target: values.duration("target"),
            interval: values.duration("interval"),
            signal: params::signal(values)?,
        }))
    },
};

/// The configuration.
#[derive(Clone, Copy, Debug)]
struct CoDelConfig {
    target: Duration,
    /// Not zero.
    interval: Duration,
    signal: CongestionSignal,
}

impl MarkerConfig for CoDelConfig {
    fn start(&self, _: &MarkerSetup) -> Marker {
        Marker::new(CoDel::new(*self))
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
        SignalCondition::Sojourn { param: "target", target: self.target, divisor: 1, or: None }
    }
}

/// The consequence of a drop for the next packet, which is examined at the same instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AfterDrop {
    /// No drop.
    Nothing,
    /// The first drop of an episode: the next packet is sent whatever its delay.
    First,
    /// A later drop: the next signal depends on the delay of the next packet.
    Later,
}

/// The state of the control law.
#[derive(Clone, Debug)]
struct CoDel {
    config: CoDelConfig,
    /// The time at which the delay will have exceeded the target for an interval; `None` while it
    /// does not.
    first_above: Option<Instant>,
    dropping: bool,
    drop_next: Instant,
    count: u64,
    last_count: u64,
    after_drop: AfterDrop,
    max_packet: u32,
}

impl CoDel {
    /// Returns a controller that is not dropping.
    const fn new(config: CoDelConfig) -> Self {
        Self {
            config,
            first_above: None,
            dropping: false,
            drop_next: Instant::ZERO,
            count: 0,
            last_count: 0,
            after_drop: AfterDrop::Nothing,
            max_packet: 0,
        }
    }

    /// Returns true if the delay has exceeded the target for an interval (RFC 8289 §5.6,
    /// `dodequeue`).
    fn ok_to_drop(&mut self, now: Instant, packet: &DequeueInfo) -> bool {
        self.max_packet = self.max_packet.max(packet.size);
        if packet.sojourn < self.config.target || packet.backlog.bytes <= u64::from(self.max_packet)
        {
            self.first_above = None;
            return false;
        }
        let first_above = *self.first_above.get_or_insert(now + self.config.interval);
        now >= first_above
    }

    /// Returns `at` plus `interval / sqrt(count)` (RFC 8289 §5.6, `control_law`).
    fn control_law(&self, at: Instant) -> Instant {
        let square =
            u128::from(self.config.interval.as_ps()).pow(2) / u128::from(self.count.max(1));
        at + Duration::from_ps(u64::try_from(square.isqrt()).unwrap_or(u64::MAX))
    }

    fn enter(&mut self, now: Instant) {
        let long_ago = self.config.interval.saturating_mul(16);
        let more = self.count.saturating_sub(self.last_count);
        let recent = now.saturating_since(self.drop_next) < long_ago;
        self.dropping = true;
        self.count = if more > 1 && recent { more } else { 1 };
        self.last_count = self.count;
        self.drop_next = self.control_law(now);
    }
}

impl Aqm for CoDel {
    fn on_dequeue(&mut self, now: Instant, packet: &DequeueInfo) -> AqmVerdict {
        let above = self.ok_to_drop(now, packet);
        match std::mem::replace(&mut self.after_drop, AfterDrop::Nothing) {
            AfterDrop::First => return AqmVerdict::Forward,
            AfterDrop::Later if above => self.drop_next = self.control_law(self.drop_next),
            AfterDrop::Later | AfterDrop::Nothing => {}
        }
        if self.dropping {
            if !above {
                self.dropping = false;
            } else if now >= self.drop_next {
                self.count += 1;
                let verdict = self.config.signal.verdict(packet.ecn);
                if verdict == AqmVerdict::Drop {
                    self.after_drop = AfterDrop::Later;
                } else {
                    self.drop_next = self.control_law(self.drop_next);
                }
                return verdict;
            }
            return AqmVerdict::Forward;
        }
        if above {
            self.enter(now);
            let verdict = self.config.signal.verdict(packet.ecn);
            if verdict == AqmVerdict::Drop {
                self.after_drop = AfterDrop::First;
            }
            return verdict;
        }
        AqmVerdict::Forward
    }

    fn on_empty(&mut self) {
        self.first_above = None;
        if self.after_drop == AfterDrop::Later {
            self.dropping = false;
        }
        self.after_drop = AfterDrop::Nothing;
    }

    fn unmarked_limit(&self) -> Option<QueueLength> {
        IGNORES_ARRIVALS
    }
}

#[cfg(test)]
#[allow(clippy::float_arithmetic, reason = "the closed form to compare with")]
mod tests;
