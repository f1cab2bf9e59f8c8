//! SONiC: [`Settings`] to and from the tables of CONFIG_DB (`WRED_PROFILE`, `QUEUE`,
//! `BUFFER_POOL`, `BUFFER_PROFILE`, `BUFFER_QUEUE`, `PORT`).
//!
//! Thresholds are in bytes and may be equal. Packets that are not ECT are taken as dropped where
//! others are marked; this depends on the ASIC and its SAI. Packets are green unless a switch
//! meters them, so only the green thresholds count. Importing a merged export returns the same
//! marker and alpha.

mod bindings;
mod export;
mod import;
mod merge;
mod tables;

pub(crate) use export::export;
pub use import::{Import, import};
pub use merge::merge;

use crate::vendor::Vendor;

const VENDOR: Vendor = Vendor::Sonic;
/// Egress queues of a port, unicast and multicast.
const QUEUES: u8 = 20;
/// Name of the exported profiles.
const PROFILE: &str = "LOWTIDE";

#[cfg(test)]
mod tests;
