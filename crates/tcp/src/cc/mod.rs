//! Congestion control: how much may be in flight. One file per control, found by name.
//!
//! A control knows nothing of sockets, timers, retransmission or the receiver. It is told one
//! [`AckSample`] per ACK and the rare [`CongestionEvent`], and it states a window.

pub mod alpha;
mod api;
mod rate;
mod window;
// lowtide:registry begin (kept by `cargo xtask registry`)
pub mod cubic;
pub mod dctcp;
pub mod dx;
pub mod hull;
pub mod newreno;
pub mod tdctcp;
pub mod vegas;
// lowtide:registry end

/// A file in a crate of its own could stand in here as it is.
#[cfg(test)]
#[path = "../../../../examples/own-scheme/src/abe.rs"]
#[expect(unreachable_pub, reason = "it is no part of this crate")]
mod example_abe;

pub use api::{
    AckSample, CcEntry, CcSetup, CongestionControl, CongestionEvent, DeclaredProperties,
    DelackDetection, Exemption, Reaction, Requirements, Signal,
};
pub use rate::per_round_trip;
pub use window::{CongestionWindow, Factor, SLOW_START_END, overshoots};

use crate::registered::{AppendList, NameTaken};

/// Every congestion control, by name.
// lowtide:registry list (kept by `cargo xtask registry`)
pub static REGISTRY: &[&CcEntry] = &[
    &cubic::ENTRY,
    &dctcp::ENTRY,
    &dx::ENTRY,
    &hull::ENTRY,
    &newreno::ENTRY,
    &tdctcp::ENTRY,
    &vegas::ENTRY,
];
// lowtide:registry list end

/// Those that other crates added.
static ADDED: AppendList<CcEntry> = AppendList::new();

/// Adds a control from outside of this crate, for the whole process; to be called before anything
/// else. Command line, scenario files and errors then know its name as they know the others.
pub fn register(entry: &'static CcEntry) -> Result<(), NameTaken> {
    ADDED.add(REGISTRY, entry, |e| e.name)
}

/// Every control: [`REGISTRY`], then what was added, in the order in which it was.
pub fn all() -> impl Iterator<Item = &'static CcEntry> {
    REGISTRY.iter().copied().chain(ADDED.iter())
}

/// The control of that name.
pub fn find(name: &str) -> Option<&'static CcEntry> {
    all().find(|e| e.name == name)
}

/// The names of all controls.
pub fn names() -> alloc::vec::Vec<&'static str> {
    all().map(|e| e.name).collect()
}
