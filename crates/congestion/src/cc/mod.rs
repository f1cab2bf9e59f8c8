//! Congestion control: limits the data in flight. One file per control, found by name.
//!
//! A control is independent of sockets, timers, retransmission and the receiver. It gets one
//! [`AckSample`] per ACK and a rare [`CongestionEvent`], and returns a window.

pub mod alpha;
mod api;
mod bbr;
mod hystart;
mod rate;
mod window;
// lowtide:registry begin (kept by `cargo xtask registry`)
pub mod bbr1;
pub mod bbr3;
pub mod cubic;
pub mod dctcp;
pub mod dx;
pub mod hull;
pub mod newreno;
pub mod swift;
pub mod tdctcp;
pub mod vegas;
// lowtide:registry end

/// Checks that the file of another crate compiles here unchanged.
#[cfg(test)]
#[path = "../../../../examples/own-parts/src/abe.rs"]
#[expect(unreachable_pub, reason = "it is not part of this crate")]
mod example_abe;
#[cfg(test)]
const _: &CcEntry = &example_abe::ENTRY;

use lowtide_schema::Registry;

pub use api::{
    AckSample, CcEntry, CcSetup, CongestionControl, CongestionEvent, DeclaredProperties,
    DelackDetection, Exemption, GrowthCounts, LostSegment, RateSample, Reaction, Requirements,
    Signal, WindowRules,
};
pub use rate::per_round_trip;
pub use window::{CongestionWindow, Factor, SLOW_START_END, overshoots};

/// All congestion controls, sorted by name, then those that other crates registered.
// lowtide:registry list (kept by `cargo xtask registry`)
pub static REGISTRY: Registry<CcEntry> = Registry::new(&[
    &bbr1::ENTRY,
    &bbr3::ENTRY,
    &cubic::ENTRY,
    &dctcp::ENTRY,
    &dx::ENTRY,
    &hull::ENTRY,
    &newreno::ENTRY,
    &swift::ENTRY,
    &tdctcp::ENTRY,
    &vegas::ENTRY,
]);
// lowtide:registry list end
