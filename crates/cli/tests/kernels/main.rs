//! A fleet of kernels: Debian's 6.1, 6.12 and newest in virtual machines, beside the running one.
//! `cargo xtask suite kernels` runs it.
//!
//! This program is also process 1 of the guests ([`guest`]), which prints lines of JSON.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "tests print what they measured")]

mod aqm;
mod comparison;
mod enter;
mod guest;
mod initramfs;
mod jobs;
mod machine;
mod packages;
mod programs;
mod qdiscs;
mod refusals;
mod results;
mod scenario;
mod soak;
mod suite;

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::process::id() == 1 {
        guest::main();
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|word| word == "guest") {
        return enter::main(&args[1..]);
    }
    let filters: Vec<_> = args.into_iter().filter(|word| !word.starts_with('-')).collect();
    suite::main(&filters)
}
