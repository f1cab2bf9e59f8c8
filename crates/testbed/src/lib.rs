//! A scenario's network out of namespaces, and its traffic over real TCP, the kernel's or lowtide's.
//!
//! Contract: the same resolved run that the simulator takes ([`lowtide_host::Setup`]) goes on in real time: a
//! [`lowtide_bottleneck::Bottleneck`] is its network, each host is a thread with the applications of its flows, over
//! the kernel's TCP in a namespace of the host, or over lowtide's. The rows are those of the simulator. What an
//! end cannot know or do is said: null in the tables, a sentence in the manifest.
#![cfg(target_os = "linux")]

mod apps;
mod backend;
mod error;
mod hosts;
mod kernel;
mod lowtide_sockets;
pub mod persistent;
mod plan;
mod run;
mod run_state;
mod socket_info;
mod sockets;
mod stack_choice;
mod tables;
mod writer;

pub use backend::Testbed;
pub use error::TestbedError;
pub use stack_choice::{StackChoice, StackKind};
