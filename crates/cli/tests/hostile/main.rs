//! `lowtide live server` under hostile packets: memory, CPU time per packet, and service of an
//! honest client.
//!
//! Each attack sends `LOWTIDE_HOSTILE_PACKETS` packets (default: 2,000). Bounds on memory and on
//! failures of the honest client always apply. Bounds on time apply with 200,000 packets or more,
//! on an otherwise idle machine.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]
#![expect(clippy::disallowed_methods, reason = "it measures a server in real time")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "tests print what they measured")]

mod attacker;
mod attacks;
mod honest;
mod server;
mod trial;

use std::process::ExitCode;

use lowtide_test_needs::{NAMESPACES, TUN, run_tests, tests};

fn main() -> ExitCode {
    run_tests([tests!(&[NAMESPACES, TUN];
        attacks::right_edge,
        attacks::scattered_bytes,
        attacks::idle_connections,
        attacks::syn_flood,
        attacks::sack_blocks,
        attacks::duplicate_acks,
        attacks::forged_segments,
        attacks::closed_windows,
        attacks::martian_sources,
        attacks::extension_headers,
        attacks::garbage,
        attacks::tiny_window,
        attacks::blind_resets,
        attacks::forged_icmp,
    )])
}
