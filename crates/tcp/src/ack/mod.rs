//! Acknowledgement policies: when a receiver acknowledges, and what it echoes. One file per policy.
//!
//! The receiver core itself acknowledges at once what must be (a gap, the filling of one, FIN, a
//! window that opens): a policy can only ask for sooner, never for later.

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

use crate::registered::{AppendList, NameTaken};

/// Every acknowledgement policy, by name.
// lowtide:registry list (kept by `cargo xtask registry`)
pub static REGISTRY: &[&AckPolicyEntry] =
    &[&accecn::ENTRY, &dctcp::ENTRY, &odctcp::ENTRY, &rfc3168::ENTRY, &tdctcp::ENTRY];
// lowtide:registry list end

/// Those that other crates added.
static ADDED: AppendList<AckPolicyEntry> = AppendList::new();

/// Adds a policy from outside of this crate, for the whole process; to be called before anything
/// else. Command line, scenario files and errors then know its name as they know the others.
pub fn register(entry: &'static AckPolicyEntry) -> Result<(), NameTaken> {
    ADDED.add(REGISTRY, entry, |e| e.name)
}

/// Every policy: [`REGISTRY`], then what was added, in the order in which it was.
pub fn all() -> impl Iterator<Item = &'static AckPolicyEntry> {
    REGISTRY.iter().copied().chain(ADDED.iter())
}

/// The policy of that name.
pub fn find(name: &str) -> Option<&'static AckPolicyEntry> {
    all().find(|e| e.name == name)
}

/// The names of all policies.
pub fn names() -> alloc::vec::Vec<&'static str> {
    all().map(|e| e.name).collect()
}
