//! Acknowledgement policies: when a receiver acknowledges and its echo. One file per policy.
//!
//! The receiver core itself sends the mandatory immediate ACKs (a gap, a filled gap, FIN, a window
//! that opens): a policy can only acknowledge sooner, never later.

mod api;
mod ce_state;
mod cwr;
mod delayed;
// lowtide:registry begin (kept by `cargo xtask registry`)
pub mod accecn;
pub mod dctcp;
pub mod odctcp;
pub mod rfc3168;
pub mod tdctcp;
// lowtide:registry end

pub use api::{AckAction, AckPolicy, AckPolicyEntry, AckSetup, CeSample, RxSample};
pub use ce_state::{CeState, FLIP};
pub use cwr::{CWR_ACK, acks_cwr_at_once, expedite};
pub use delayed::DelayedAck;

use crate::settings::registered::{AppendList, NameTaken};

/// All acknowledgement policies, sorted by name.
// lowtide:registry list (kept by `cargo xtask registry`)
pub static REGISTRY: &[&AckPolicyEntry] =
    &[&accecn::ENTRY, &dctcp::ENTRY, &odctcp::ENTRY, &rfc3168::ENTRY, &tdctcp::ENTRY];
// lowtide:registry list end

/// Policies that other crates added.
static ADDED: AppendList<AckPolicyEntry> = AppendList::new();

/// Registers a policy from another crate, for the whole process, before anything else runs. Command
/// line, scenario files and errors then know its name.
pub fn register(entry: &'static AckPolicyEntry) -> Result<(), NameTaken> {
    ADDED.add(REGISTRY, entry, |e| e.name)
}

/// All policies: [`REGISTRY`], then the added ones in order of registration.
pub fn all() -> impl Iterator<Item = &'static AckPolicyEntry> {
    REGISTRY.iter().copied().chain(ADDED.iter())
}

/// Finds a policy by its name.
pub fn find(name: &str) -> Option<&'static AckPolicyEntry> {
    all().find(|e| e.name == name)
}

/// The names of all policies.
pub fn names() -> alloc::vec::Vec<&'static str> {
    all().map(|e| e.name).collect()
}
