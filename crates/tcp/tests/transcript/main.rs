//! Transcripts by topic, each test named by the section that it shows.

#[path = "../common/mod.rs"]
mod common;

mod both_ends;
mod closing;
mod delayed_ack;
mod echo;
mod ecn_handshake;
mod handshake;
mod nagle;
mod reassembly;
mod resets;
mod sack_receiver;
mod windows;
