//! Transcripts by topic, each test named by the section that it shows.

#[path = "../common/mod.rs"]
mod common;

mod ecn_handshake;
mod handshake;
