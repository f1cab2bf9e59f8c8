//! Runs a scenario's network in namespaces, with real TCP: the kernel's or lowtide's.
//!
//! Contract: it takes the simulator's resolved run ([`lowtide_host::Setup`]) and executes it in
//! real time. A [`lowtide_bottleneck::Bottleneck`] is the network, or devices of the kernel
//! ([`BottleneckKind`]). Each host is a thread with the
//! applications of its flows, over the kernel's TCP in the host's namespace or over lowtide's TCP.
//! The rows are those of the simulator. Unknown values are null in the tables; unsupported settings
//! are named in the manifest.
#![cfg(target_os = "linux")]

mod apps;
mod backend;
mod error;
mod hosts;
mod kernel;
mod kernel_switch;
mod lost_interface;
mod lowtide_sockets;
pub mod persistent;
mod plan;
mod run;
mod run_state;
pub mod scripts;
mod socket_info;
mod socket_observer;
mod sockets;
mod stack_choice;
mod tables;
mod traffic;
mod writer;

pub use backend::Testbed;
pub use error::TestbedError;
pub use kernel::diag::{KernelWindow, kernel_windows};
pub use kernel_switch::BottleneckKind;
pub use stack_choice::{StackChoice, StackKind};
