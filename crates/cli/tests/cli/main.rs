//! The command as a user sees it, and the workspace: one binary, so that it is linked once.

mod analyze;
#[cfg(target_os = "linux")]
mod bottleneck;
mod damage;
mod layers;
#[cfg(target_os = "linux")]
mod live;
mod matrix;
mod modules;
mod packetdrill;
#[cfg(target_os = "linux")]
mod pathologies;
mod questions;
mod runs;
#[cfg(target_os = "linux")]
mod testbed;
#[cfg(target_os = "linux")]
mod uml;
