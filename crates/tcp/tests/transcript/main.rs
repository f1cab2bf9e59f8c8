//! Transcripts by topic; each test is named after the section that it tests.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "tests print what they measured")]

#[path = "../common/mod.rs"]
mod common;

mod accecn;
mod accecn_handshake;
mod blind;
mod both_ends;
mod buffer_tuning;
mod closing;
mod dctcp_sender;
mod delack_timeout;
mod delayed_ack;
mod echo;
mod ecn_handshake;
mod ecn_sender;
mod endpoint;
mod growth;
mod handshake;
mod liveness;
mod loss_probe;
mod nagle;
mod newreno;
mod offload;
mod options;
mod pacing;
mod path;
mod prr;
mod rack;
mod reassembly;
mod resets;
mod sack_receiver;
mod sack_sender;
mod samples;
mod send_buffer;
mod small_window;
mod stacks;
mod syn_checks;
mod syn_loss;
mod timeout;
mod timestamps;
mod undo;
mod windows;
