//! Host profiles: NIC and clock of known kinds of hosts, as data. One
//! file per profile.
//!
//! Contract: a profile replaces a host's NIC and clock, and sets the TCP switches that depend on
//! its hardware (segmentation offload, timer tick); nothing else of TCP. A profile of one kernel
//! (`freebsd-2013`) also sets its timers, windows and buffers, for each congestion control;
//! `transport.sender` and `transport.receiver` replace it. `ideal` is the default.
//! [`HostProfile::omits`] says what a profile leaves out, and why.

mod api;
#[cfg(test)]
mod tests;
// lowtide:registry begin (kept by `cargo xtask registry`)
pub mod freebsd_2013;
pub mod ideal;
pub mod linux;
pub mod papers_2010;
// lowtide:registry end

use lowtide_schema::Registry;

pub use api::HostProfile;

/// All host profiles, sorted by name, then those that other crates registered.
// lowtide:registry list (kept by `cargo xtask registry`)
pub static REGISTRY: Registry<HostProfile> =
    Registry::new(&[&freebsd_2013::ENTRY, &ideal::ENTRY, &linux::ENTRY, &papers_2010::ENTRY]);
// lowtide:registry list end
