//! Schemes under comparison (`sack`, `ecn`, `dctcp`), as bundles of switches over a profile. One
//! file per scheme.
//!
//! Contract: a scheme is data and overrides any profile, so two schemes differ in the same switches
//! over every profile. It sets every switch on which the comparison depends by definition, and no
//! other: loss detection and window reduction are the profile's and equal for all.

mod api;
#[cfg(test)]
mod tests;
// lowtide:registry begin (kept by `cargo xtask registry`)
pub mod accecn;
pub mod bbr1;
pub mod bbr3;
pub mod cubic;
pub mod dctcp;
pub mod dctcp_accecn;
pub mod dx;
pub mod ecn;
pub mod hull;
pub mod odctcp;
pub mod odctcp_receiver;
pub mod odctcp_sender;
pub mod sack;
pub mod swift;
pub mod tdctcp;
pub mod vegas;
// lowtide:registry end

use lowtide_schema::Registry;

pub use api::Scheme;

/// All schemes, sorted by name, then those that other crates registered.
// lowtide:registry list (kept by `cargo xtask registry`)
pub static REGISTRY: Registry<Scheme> = Registry::new(&[
    &accecn::ENTRY,
    &bbr1::ENTRY,
    &bbr3::ENTRY,
    &cubic::ENTRY,
    &dctcp::ENTRY,
    &dctcp_accecn::ENTRY,
    &dx::ENTRY,
    &ecn::ENTRY,
    &hull::ENTRY,
    &odctcp::ENTRY,
    &odctcp_receiver::ENTRY,
    &odctcp_sender::ENTRY,
    &sack::ENTRY,
    &swift::ENTRY,
    &tdctcp::ENTRY,
    &vegas::ENTRY,
]);
// lowtide:registry list end
