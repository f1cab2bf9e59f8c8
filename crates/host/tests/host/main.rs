//! Small hand-built runs: one binary, so that it is linked once.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "tests print what they measured")]

mod accecn;
mod buffer_tuning;
mod collectives;
mod common;
mod dctcp_queue;
mod dx_control;
mod dx_delay;
mod failures;
mod fallbacks;
mod nic;
mod queries;
mod related_schemes;
mod reused_ports;
mod sources;
mod stack;
mod swift;
mod threads;
mod ticks;
mod traces;
mod transfers;
