//! Tests of the command as a process, and of the workspace. Tests that need root are in
//! `tests/privileged`.

mod advise;
mod analyze;
mod effective_transport;
#[cfg(feature = "figures")]
mod figure;
mod hostile_text;
mod input_files;
mod kernel_results;
mod matrix;
mod meanings;
mod messages;
mod modules;
mod not_simulated;
mod other_version;
mod packetdrill;
mod page_links;
mod pages;
mod plan_compare_tasks;
mod portability;
mod process;
mod publish;
mod runs;
mod small_commands;
mod sweeps;
mod switch_config;
mod tails;
mod unsafe_code;
mod unwritable_output;
mod workspace;
