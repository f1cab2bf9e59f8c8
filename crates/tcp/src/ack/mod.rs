//! Acknowledgement policies: when a receiver acknowledges, and what it echoes. One file per policy.
//!
//! The receiver core itself acknowledges at once what must be (a gap, the filling of one, FIN, a
//! window that opens): a policy can only ask for sooner, never for later.

mod api;
mod cwr;
mod delayed;
mod flips;
// lowtide:registry begin (kept by `cargo xtask registry`)
pub mod accecn;
pub mod dctcp;
pub mod odctcp;
pub mod rfc3168;
// lowtide:registry end

pub use api::{AckAction, AckPolicy, Entry, Marks, RxSample, Setup};
pub use cwr::{CWR_ACK, answers_cwr, hasten};
pub use delayed::DelayedAck;
pub use flips::{FLIP, Flips};

/// Every acknowledgement policy, by name.
// lowtide:registry list (kept by `cargo xtask registry`)
pub static REGISTRY: &[&Entry] = &[&accecn::ENTRY, &dctcp::ENTRY, &odctcp::ENTRY, &rfc3168::ENTRY];
// lowtide:registry list end

/// The policy of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().copied().find(|e| e.name == name)
}

/// The names of all policies.
pub fn names() -> alloc::vec::Vec<&'static str> {
    REGISTRY.iter().map(|e| e.name).collect()
}
