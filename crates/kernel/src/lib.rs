//! BPF twins of the congestion controls in the running Linux kernel.
//!
//! A twin is a congestion control of `kernel/*.bpf.c` with the integer rules of its Rust control.
//! It is registered for the whole machine, without a module and without a reboot (BPF
//! `struct_ops`). A socket option, a cgroup, a route or a namespace's default selects it. Pins on a
//! BPF file system keep it registered after the loader's exit. This crate removes only what it
//! loaded.
//!
//! [`KernelBottleneck`] is not a twin: it marks at the output ports of a switch of devices.
//!
//! Without the feature `objects` the programs are not in the binary, and every operation that needs
//! them fails with [`KernelError::NotBuilt`].

mod bottleneck;
#[cfg(feature = "objects")]
mod bpf;
mod error;
#[cfg(not(feature = "objects"))]
mod not_built;
mod twin;
mod view;

#[cfg(feature = "objects")]
use bpf as operations;
#[cfg(not(feature = "objects"))]
use not_built as operations;

pub use bottleneck::{MAX_PACKETS, PortCounts, PortSettings, Shaper};
pub use error::KernelError;
pub use operations::{
    KernelBottleneck, SocketReader, list, load, register_object, select, unload, untested_release,
};
pub use twin::{Ends, TWINS, Twin, find_twin};
pub use view::{LoadedTwin, Registration, Selections, SocketView, TwinState};

/// Major and minor number of the newest Linux on which the suite `kernels` tested the programs.
/// `docs/evidence/tested-kernels.md` names its release.
pub const NEWEST_TESTED: (u32, u32) = (7, 2);
