//! Interoperability tests of our TCP with independent stacks.
//!
//! Contract: a case is one connection between our stack and a peer's. Each is on a TUN interface in
//! its own namespace, with a [`lowtide_bottleneck::Bottleneck`] between them that drops, delays,
//! duplicates, corrupts and marks packets. Both ends follow a [`script`] and report a checksum of
//! the received bytes and how the connection ended. A case is bounded in time; its processes and
//! namespaces end with it.
//!
//! Peers are the kernel of this machine, gVisor's netstack (Go), smoltcp (Rust) and lwIP (C). The
//! suite skips a peer that this machine lacks, with its reason.
#![cfg(target_os = "linux")]

mod case_scripts;
pub mod cases;
pub mod exchange;
mod pattern;
pub mod peer;
pub mod peers;
pub mod run;
pub mod script;
pub mod suite;
pub mod table;
pub mod testnet;
pub mod verify;
