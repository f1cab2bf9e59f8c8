//! Transcripts by topic, each test named by the section that it shows.

#[path = "../common/mod.rs"]
mod common;

mod blind;
mod both_ends;
mod closing;
mod delayed_ack;
mod echo;
mod ecn_handshake;
mod handshake;
mod liveness;
mod nagle;
mod reassembly;
mod resets;
mod sack_receiver;
mod windows;
