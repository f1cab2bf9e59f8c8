//! Markers (AQM): what becomes of a packet that found room. One file per marker, found by name.
//!
//! A marker sees the queue that the packet found, as the port counts it, and the packet's ECN
//! codepoint. It knows neither memory nor the order of service.

// lowtide:registry begin (kept by `cargo xtask registry`)
pub mod droptail;
pub mod step;
// lowtide:registry end

use lowtide_units::Instant;
use lowtide_wire::Ecn;

use crate::registry::Entry;
use crate::{MarkSpec, Occupancy};

/// Every marker, by name.
// lowtide:registry list (kept by `cargo xtask registry`)
pub static REGISTRY: &[&Entry] = &[&droptail::ENTRY, &step::ENTRY];
// lowtide:registry list end

/// The marker of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().copied().find(|e| e.name == name)
}

/// What a marker decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Let it pass as it is.
    Forward,
    /// Set CE. A packet that has it already counts as marked here too, as in Linux.
    Mark,
    /// Drop it.
    Drop,
}

/// A marker that decides when a packet arrives.
pub trait Aqm {
    /// A packet with codepoint `ecn` arrived at `now`, was admitted, and found the queue `found`,
    /// itself not counted.
    fn on_enqueue(&mut self, now: Instant, found: Occupancy, ecn: Ecn) -> Verdict;
}

/// Any registered marker. An enum, since this is on the path of every packet.
#[derive(Clone, Debug)]
pub(crate) enum Marker {
    DropTail(droptail::DropTail),
    Step(step::Step),
}

impl Marker {
    pub(crate) fn new(spec: &MarkSpec) -> Self {
        match *spec {
            MarkSpec::None => Self::DropTail(droptail::DropTail),
            MarkSpec::Step { k, not_ect } => Self::Step(step::Step::new(k, not_ect)),
        }
    }
}

impl Aqm for Marker {
    #[inline]
    fn on_enqueue(&mut self, now: Instant, found: Occupancy, ecn: Ecn) -> Verdict {
        match self {
            Self::DropTail(m) => m.on_enqueue(now, found, ecn),
            Self::Step(m) => m.on_enqueue(now, found, ecn),
        }
    }
}
