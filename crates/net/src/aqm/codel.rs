//! Controlled delay: signal when no packet of an interval waited less than the target.
//!
//! ## What it does
//! What counts is how long a packet waited, seen as the line begins to send it. When that has been above
//! `target` for a whole `interval`, one packet is dropped (or marked), and then one more after
//! `interval / sqrt(n)` for the n-th, until a packet waited less (RFC 8289 §4, §5). A queue of at most
//! one packet of the largest size seen is left alone.
//!
//! ## Deviations
//! RFC 8289 §3 only says that marking may take the place of dropping. As in Linux, a marked packet is
//! sent, and the next one is judged when its own time comes.

use lowtide_units::{Duration, Instant};

use super::{Aqm, AqmVerdict, DequeueInfo, params};
use crate::CoDelSpec;
use crate::registry::{Param, ParamFormat, RegistryEntry};

/// Registration.
pub static ENTRY: RegistryEntry = RegistryEntry {
    name: "codel",
    summary: "mark or drop when packets have waited too long for too long",
    spec: "RFC 8289",
    params: &[
        Param {
            name: "target",
            kind: ParamFormat::Duration,
            default: Some("5 ms"),
            doc: "The time in the queue that is acceptable.",
        },
        Param {
            name: "interval",
            kind: ParamFormat::Duration,
            default: Some("100 ms"),
            doc: "How long it may be exceeded: about the longest usual round trip.",
        },
        params::SIGNAL,
        params::CHOSEN,
    ],
};

/// What a drop leaves to the packet behind it, which is looked at in the same instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AfterDrop {
    /// Nothing was dropped.
    Nothing,
    /// The first drop of an episode: the next packet is sent whatever it waited.
    First,
    /// A later one: when the next is due depends on how long the next packet waited.
    Later,
}

/// The state of the control law.
#[derive(Clone, Debug)]
pub struct CoDel {
    spec: CoDelSpec,
    /// When packets will have waited too long for an interval; `None` while they have not.
    first_above: Option<Instant>,
    dropping: bool,
    drop_next: Instant,
    count: u64,
    last_count: u64,
    after_drop: AfterDrop,
    max_packet: u32,
}

impl CoDel {
    /// Not dropping.
    pub const fn new(spec: CoDelSpec) -> Self {
        Self {
            spec,
            first_above: None,
            dropping: false,
            drop_next: Instant::ZERO,
            count: 0,
            last_count: 0,
            after_drop: AfterDrop::Nothing,
            max_packet: 0,
        }
    }

    /// Whether packets have been waiting too long for an interval (RFC 8289 §5.6, `dodequeue`).
    fn ok_to_drop(&mut self, now: Instant, packet: &DequeueInfo) -> bool {
        self.max_packet = self.max_packet.max(packet.size);
        if packet.sojourn < self.spec.target || packet.backlog.bytes <= u64::from(self.max_packet) {
            self.first_above = None;
            return false;
        }
        let first_above = *self.first_above.get_or_insert(now + self.spec.interval);
        now >= first_above
    }

    /// `interval / sqrt(count)` later (RFC 8289 §5.6, `control_law`).
    fn control_law(&self, at: Instant) -> Instant {
        let square = u128::from(self.spec.interval.as_ps()).pow(2) / u128::from(self.count.max(1));
        at + Duration::from_ps(u64::try_from(square.isqrt()).unwrap_or(u64::MAX))
    }

    fn enter(&mut self, now: Instant) {
        let long_ago = self.spec.interval.saturating_mul(16);
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
                let verdict = self.spec.signal.verdict(packet.ecn);
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
            let verdict = self.spec.signal.verdict(packet.ecn);
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
}

#[cfg(test)]
#[allow(clippy::float_arithmetic, reason = "the closed form to compare with")]
mod tests;
