//! Markers (AQM): what becomes of a packet that found room. One file per marker, found by name.
//!
//! A marker sees the queue that the packet found, as the port counts it, the packet's size and ECN
//! codepoint, and when it will be on the line. It knows neither memory nor the order of service.

// lowtide:registry begin (kept by `cargo xtask registry`)
pub mod droptail;
pub mod phantom;
pub mod step;
// lowtide:registry end

use lowtide_units::Instant;
use lowtide_wire::Ecn;

use crate::line::Line;
use crate::registry::Entry;
use crate::{MarkSpec, Occupancy};

/// Every marker, by name.
// lowtide:registry list (kept by `cargo xtask registry`)
pub static REGISTRY: &[&Entry] = &[&droptail::ENTRY, &phantom::ENTRY, &step::ENTRY];
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

/// A packet that was admitted, as a marker sees it.
#[derive(Clone, Copy, Debug)]
pub struct Arriving {
    /// The queue that it found, itself not counted.
    pub found: Occupancy,
    /// Its IP bytes.
    pub size: u32,
    /// Its codepoint.
    pub ecn: Ecn,
    /// When its first bit will be on the line.
    pub on_line: Instant,
}

/// A marker that decides when a packet arrives.
pub trait Aqm {
    /// A packet arrived at `now` and was admitted.
    fn on_enqueue(&mut self, now: Instant, packet: &Arriving) -> Verdict;
}

/// Any registered marker. An enum, since this is on the path of every packet.
#[derive(Clone, Debug)]
pub(crate) enum Marker {
    DropTail(droptail::DropTail),
    Step(step::Step),
    /// Boxed: it is large, and most ports have another.
    Phantom(Box<phantom::Phantom>),
}

impl Marker {
    pub(crate) fn new(spec: &MarkSpec, line: &Line) -> Self {
        match *spec {
            MarkSpec::None => Self::DropTail(droptail::DropTail),
            // Refused by `check` until they are built.
            MarkSpec::StepDequeue { .. }
            | MarkSpec::Red(_)
            | MarkSpec::CoDel(_)
            | MarkSpec::Pi(_) => Self::DropTail(droptail::DropTail),
            MarkSpec::Step { k, not_ect } => Self::Step(step::Step::new(k, not_ect)),
            MarkSpec::Phantom { k, gamma, not_ect } => {
                let (rate, overhead) = (line.rate(), line.overhead());
                Self::Phantom(Box::new(phantom::Phantom::new(k, gamma, not_ect, rate, overhead)))
            }
        }
    }
}

impl Aqm for Marker {
    #[inline]
    fn on_enqueue(&mut self, now: Instant, packet: &Arriving) -> Verdict {
        match self {
            Self::DropTail(m) => m.on_enqueue(now, packet),
            Self::Step(m) => m.on_enqueue(now, packet),
            Self::Phantom(m) => m.on_enqueue(now, packet),
        }
    }
}
