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

use lowtide_schema::Registry;

pub use api::{AckAction, AckPolicy, AckPolicyEntry, AckSetup, CeSample, RxSample};
pub use ce_state::{CeState, FLIP};
pub use cwr::{CWR_ACK, acks_cwr_at_once, expedite};
pub use delayed::DelayedAck;

/// All acknowledgement policies, sorted by name, then those that other crates registered.
// lowtide:registry list (kept by `cargo xtask registry`)
pub static REGISTRY: Registry<AckPolicyEntry> = Registry::new(&[
    &accecn::ENTRY,
    &dctcp::ENTRY,
    &odctcp::ENTRY,
    &rfc3168::ENTRY,
    &tdctcp::ENTRY,
]);
// lowtide:registry list end
