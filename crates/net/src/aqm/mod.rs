//! Markers (AQM): what becomes of a packet that found room. One file per marker, found by name.
//!
//! A marker sees the queue of the packet, as the port counts it, the packet's size and ECN codepoint, and
//! how long it waits. It knows neither memory nor the order of service. It decides when a packet arrives,
//! or when the line begins to send it.

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

/// The marker of that name.
pub fn find(name: &str) -> Option<&'static RegistryEntry> {
    REGISTRY.iter().copied().find(|e| e.name == name)
}

/// What a marker decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AqmVerdict {
    /// Let it pass as it is.
    Forward,
    /// Set CE. A packet that has it already counts as marked here too, as in Linux.
    Mark,
    /// Drop it.
    Drop,
}

impl NotEct {
    /// What becomes of a packet of this codepoint that is to be marked.
    pub const fn verdict(self, ecn: Ecn) -> AqmVerdict {
        match (ecn.is_capable(), self) {
            (true, _) => AqmVerdict::Mark,
            (false, Self::Ignore) => AqmVerdict::Forward,
            (false, Self::Drop) => AqmVerdict::Drop,
        }
    }
}

impl CongestionSignal {
    /// What becomes of a packet of this codepoint that was chosen.
    pub const fn verdict(self, ecn: Ecn) -> AqmVerdict {
        match self {
            Self::Mark(not_ect) => not_ect.verdict(ecn),
            Self::Drop => AqmVerdict::Drop,
        }
    }
}

/// A packet that was admitted, as a marker sees it.
#[derive(Clone, Copy, Debug)]
pub struct EnqueueInfo {
    /// The queue that it found, itself not counted.
    pub backlog: Occupancy,
    /// Its IP bytes.
    pub size: u32,
    /// Its codepoint.
    pub ecn: Ecn,
    /// When its first bit will be on the line, as far as is known.
    pub tx_start: Instant,
    /// Since when there had been nothing of its queue to send when it came; not before now if there was
    /// something.
    pub idle_since: Instant,
}

/// A packet that the line begins to send, as a marker sees it.
#[derive(Clone, Copy, Debug)]
pub struct DequeueInfo {
    /// The queue that it leaves behind. The packet itself counts if the port counts what is on the line.
    pub backlog: Occupancy,
    /// How long it was in the queue.
    pub sojourn: Duration,
    /// Its IP bytes.
    pub size: u32,
    /// Its codepoint.
    pub ecn: Ecn,
}

/// A marker. It decides in one of the two places and forwards in the other, where it may look.
pub trait Aqm {
    /// A packet arrived at `now` and was admitted.
    fn on_enqueue(&mut self, _now: Instant, _packet: &EnqueueInfo) -> AqmVerdict {
        AqmVerdict::Forward
    }
    /// The line is about to send a packet at `now`. One that is dropped is followed at once by the next.
    fn on_dequeue(&mut self, _now: Instant, _packet: &DequeueInfo) -> AqmVerdict {
        AqmVerdict::Forward
    }
    /// What was dropped at dequeue was the last packet of the queue.
    fn on_empty(&mut self) {}
    /// Since the last change the queue was this, and it is until just before `until`.
    fn advance(&mut self, _until: Instant, _queue: Occupancy) {}
}

/// Any registered marker. An enum, since this is on the path of every packet; those with state are boxed,
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
    /// A packet that finds no more than this is let pass whatever its codepoint, and nothing is learned
    /// from it; `None` where each packet is a matter for the marker.
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
