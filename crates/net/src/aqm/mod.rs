//! Markers (AQM): decisions on admitted packets. One file per marker, found by name.
//!
//! A marker sees the queue of the packet, as the port counts it, the packet's size and ECN
//! codepoint, and its queueing delay. It does not see memory or the order of service. It decides on
//! arrival or at the start of transmission.

// lowtide:registry begin (kept by `cargo xtask registry`)
pub mod codel;
pub mod droptail;
pub mod phantom;
pub mod pi;
pub mod pie;
pub mod red;
pub mod step;
pub mod step_dequeue;
// lowtide:registry end
mod params;

use lowtide_sim::Seed;
use lowtide_units::{Duration, Instant};
use lowtide_wire::Ecn;

use crate::limit::Limit;
use crate::line::Line;
use crate::registry::RegistryEntry;
use crate::{CongestionSignal, MarkSpec, NotEct, Occupancy};

/// Every marker, by name.
// lowtide:registry list (kept by `cargo xtask registry`)
pub static REGISTRY: &[&RegistryEntry] = &[
    &codel::ENTRY,
    &droptail::ENTRY,
    &phantom::ENTRY,
    &pi::ENTRY,
    &pie::ENTRY,
    &red::ENTRY,
    &step::ENTRY,
    &step_dequeue::ENTRY,
];
// lowtide:registry list end

/// Returns the marker with that name.
pub fn find(name: &str) -> Option<&'static RegistryEntry> {
    REGISTRY.iter().copied().find(|e| e.name == name)
}

/// A decision of a marker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AqmVerdict {
    /// Forward it unchanged.
    Forward,
    /// Set CE. A packet that already has CE also counts as marked, as in Linux.
    Mark,
    /// Drop it.
    Drop,
}

impl NotEct {
    /// Returns the decision on a packet with this codepoint that is to be marked.
    pub const fn verdict(self, ecn: Ecn) -> AqmVerdict {
        match (ecn.is_capable(), self) {
            (true, _) => AqmVerdict::Mark,
            (false, Self::Ignore) => AqmVerdict::Forward,
            (false, Self::Drop) => AqmVerdict::Drop,
        }
    }
}

impl CongestionSignal {
    /// Returns the decision on a chosen packet with this codepoint.
    pub const fn verdict(self, ecn: Ecn) -> AqmVerdict {
        match self {
            Self::Mark(not_ect) => not_ect.verdict(ecn),
            Self::Drop => AqmVerdict::Drop,
        }
    }
}

/// An admitted packet, as seen by a marker.
#[derive(Clone, Copy, Debug)]
pub struct EnqueueInfo {
    /// The queue that it found, without the packet itself.
    pub backlog: Occupancy,
    /// Its IP bytes.
    pub size: u32,
    /// Its codepoint.
    pub ecn: Ecn,
    /// Expected start of its transmission.
    pub tx_start: Instant,
    /// Start of the idle period of its queue; not before now if the queue was busy.
    pub idle_since: Instant,
}

/// A packet at the start of its transmission, as seen by a marker.
#[derive(Clone, Copy, Debug)]
pub struct DequeueInfo {
    /// The queue that remains. Includes the packet itself if the port counts the packet on the
    /// line.
    pub backlog: Occupancy,
    /// Its queueing delay.
    pub sojourn: Duration,
    /// Its IP bytes.
    pub size: u32,
    /// Its codepoint.
    pub ecn: Ecn,
}

/// A marker. It decides in one of the two callbacks; the other always forwards.
pub trait Aqm {
    /// Called when a packet was admitted at `now`.
    fn on_enqueue(&mut self, _now: Instant, _packet: &EnqueueInfo) -> AqmVerdict {
        AqmVerdict::Forward
    }
    /// Called before transmission of a packet starts at `now`. If it is dropped, the next one
    /// follows at once.
    fn on_dequeue(&mut self, _now: Instant, _packet: &DequeueInfo) -> AqmVerdict {
        AqmVerdict::Forward
    }
    /// Called when the last packet of the queue was dropped at dequeue.
    fn on_empty(&mut self) {}
    /// Called when time has passed: the queue had this length until just before `until`.
    fn advance(&mut self, _until: Instant, _queue: Occupancy) {}
}

/// Any registered marker. An enum, since it is on the fast path; variants with state are boxed,
/// since most ports have none.
#[derive(Clone, Debug)]
pub(crate) enum Marker {
    DropTail(droptail::DropTail),
    Step(step::Step),
    Phantom(Box<phantom::Phantom>),
    Red(Box<red::Red>),
    StepDequeue(Box<step_dequeue::StepDequeue>),
    CoDel(Box<codel::CoDel>),
    Pi(Box<pi::Pi>),
    Pie(Box<pie::Pie>),
}

impl Marker {
    pub(crate) fn new(spec: &MarkSpec, line: &Line, seed: Seed) -> Self {
        match *spec {
            MarkSpec::None => Self::DropTail(droptail::DropTail),
            MarkSpec::Step { k, not_ect } => Self::Step(step::Step::new(k, not_ect)),
            MarkSpec::StepDequeue { k, not_ect } => {
                Self::StepDequeue(Box::new(step_dequeue::StepDequeue::new(k, not_ect)))
            }
            MarkSpec::Phantom { k, gamma, not_ect } => {
                let (rate, overhead) = (line.rate(), line.overhead());
                Self::Phantom(Box::new(phantom::Phantom::new(k, gamma, not_ect, rate, overhead)))
            }
            MarkSpec::Red(spec) => {
                let mean = u32::try_from(spec.mean_packet.as_u64()).unwrap_or(u32::MAX);
                Self::Red(Box::new(red::Red::new(spec, line.serialization(mean), seed)))
            }
            MarkSpec::CoDel(spec) => Self::CoDel(Box::new(codel::CoDel::new(spec))),
            MarkSpec::Pi(spec) => Self::Pi(Box::new(pi::Pi::new(spec, seed))),
            MarkSpec::Pie(spec) => Self::Pie(Box::new(pie::Pie::new(spec, seed))),
        }
    }
}

impl Marker {
    /// Returns the queue length up to which every packet is forwarded, without effect on the
    /// marker's state. `None` if the marker must see each packet.
    pub(crate) const fn unmarked_limit(&self) -> Option<Limit> {
        match self {
            Self::DropTail(_) | Self::StepDequeue(_) | Self::CoDel(_) => Some(Limit::NONE),
            Self::Step(step) => Some(step.k()),
            Self::Phantom(_) | Self::Red(_) | Self::Pi(_) | Self::Pie(_) => None,
        }
    }
}

impl Aqm for Marker {
    fn on_enqueue(&mut self, now: Instant, packet: &EnqueueInfo) -> AqmVerdict {
        match self {
            Self::DropTail(m) => m.on_enqueue(now, packet),
            Self::Step(m) => m.on_enqueue(now, packet),
            Self::Phantom(m) => m.on_enqueue(now, packet),
            Self::Red(m) => m.on_enqueue(now, packet),
            Self::Pi(m) => m.on_enqueue(now, packet),
            Self::Pie(m) => m.on_enqueue(now, packet),
            Self::StepDequeue(_) | Self::CoDel(_) => AqmVerdict::Forward,
        }
    }
    fn on_dequeue(&mut self, now: Instant, packet: &DequeueInfo) -> AqmVerdict {
        match self {
            Self::StepDequeue(m) => m.on_dequeue(now, packet),
            Self::CoDel(m) => m.on_dequeue(now, packet),
            Self::Pie(m) => m.on_dequeue(now, packet),
            _ => AqmVerdict::Forward,
        }
    }
    fn on_empty(&mut self) {
        if let Self::CoDel(m) = self {
            m.on_empty();
        }
    }
    fn advance(&mut self, until: Instant, queue: Occupancy) {
        match self {
            Self::Pi(m) => m.advance(until, queue),
            Self::Pie(m) => m.advance(until, queue),
            _ => {}
        }
    }
}
