//! Congestion control: how much may be in flight. One file per control, found by name.
//!
//! A control knows nothing of sockets, timers, retransmission or the receiver. It is told one
//! [`AckSample`] per ACK and the rare [`CongestionEvent`], and it states a window.

pub mod alpha;
mod api;
mod window;
// lowtide:registry begin (kept by `cargo xtask registry`)
pub mod cubic;
pub mod dctcp;
pub mod dx;
pub mod newreno;
// lowtide:registry end

pub use api::{
    AckSample, CongestionControl, CongestionEvent, Declares, Entry, Exemption, Path, Reaction,
    Signal, Wants,
};
pub use window::{Factor, Window};

/// Every congestion control, by name.
// lowtide:registry list (kept by `cargo xtask registry`)
pub static REGISTRY: &[&Entry] = &[&cubic::ENTRY, &dctcp::ENTRY, &dx::ENTRY, &newreno::ENTRY];
// lowtide:registry list end

/// The control of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().copied().find(|e| e.name == name)
}

/// The names of all controls.
pub fn names() -> alloc::vec::Vec<&'static str> {
    REGISTRY.iter().map(|e| e.name).collect()
}
