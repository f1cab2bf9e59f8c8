//! Congestion control: limits the data in flight. One file per control, found by name.
//!
//! A control is independent of sockets, timers, retransmission and the receiver. It gets one
//! [`AckSample`] per ACK and a rare [`CongestionEvent`], and returns a window.

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

/// Checks that the file of another crate compiles here unchanged.
#[cfg(test)]
#[path = "../../../../examples/own-parts/src/abe.rs"]
#[expect(unreachable_pub, reason = "it is not part of this crate")]
mod example_abe;

pub use api::{
    AckSample, CcEntry, CcSetup, CongestionControl, CongestionEvent, DeclaredProperties,
    DelackDetection, Exemption, Reaction, Requirements, Signal,
};
pub use rate::per_round_trip;
pub use window::{CongestionWindow, Factor, SLOW_START_END, overshoots};

use crate::settings::registered::{AppendList, NameTaken};

/// All congestion controls, sorted by name.
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

/// Controls that other crates added.
static ADDED: AppendList<CcEntry> = AppendList::new();

/// Registers a control from another crate, for the whole process, before anything else runs.
/// Command line, scenario files and errors then know its name.
pub fn register(entry: &'static CcEntry) -> Result<(), NameTaken> {
    ADDED.add(REGISTRY, entry, |e| e.name)
}

/// All controls: [`REGISTRY`], then the added ones in order of registration.
pub fn all() -> impl Iterator<Item = &'static CcEntry> {
    REGISTRY.iter().copied().chain(ADDED.iter())
}

/// Finds a control by its name.
pub fn find(name: &str) -> Option<&'static CcEntry> {
    all().find(|e| e.name == name)
}

/// The names of all controls.
pub fn names() -> alloc::vec::Vec<&'static str> {
    all().map(|e| e.name).collect()
}
