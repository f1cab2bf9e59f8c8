//! The command of this crate: lowtide's, with the parts of this crate. One file per part.

mod abe;
mod command;
mod network;
mod ring_all_reduce;
#[path = "../../../../crates/cli/tests/cli/pages/transcript.rs"]
mod transcript;
mod tutorial;
