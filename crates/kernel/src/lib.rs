//! BPF twins of the congestion controls in the running Linux kernel.
//!
//! A twin is a congestion control of `kernel/*.bpf.c` with the integer rules of its Rust control.
//! It is registered for the whole machine, without a module and without a reboot (BPF
//! `struct_ops`). A socket option, a cgroup, a route or a namespace's default selects it. Pins on a
//! BPF file system keep it registered after the loader's exit. This crate removes only what it
//! loaded.
//!
//! Without the feature `objects` the programs are not in the binary, and every operation that needs
//! them fails with [`KernelError::NotBuilt`].

mod bpffs;
mod error;
mod kernel;
mod list;
mod load;
mod objects;
mod routes;
mod select;
mod sockets;
mod twin;
mod unload;

pub use error::KernelError;
pub use kernel::{DEFAULT_CONTROL, set_default};
pub use list::{LoadedTwin, TwinState, list};
pub use load::load;
pub use routes::{routes_with, select_for_route};
pub use select::{CgroupSelection, select_for_cgroup};
pub use sockets::{SocketView, prometheus, sockets};
pub use twin::{Ends, TWINS, Twin, find_twin};
pub use unload::unload;
