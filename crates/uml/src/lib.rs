//! Runs a lowtide command inside a separate Linux, as an ordinary process: User Mode Linux.
//!
//! Contract: [`Machine::run`] boots the kernel of Debian's package `user-mode-linux`, runs this
//! program in it with other arguments, forwards its output and exit status, and leaves nothing
//! behind. The machine sees the host's files, read-only except for given folders. Its network is
//! isolated and has the kernel's `dctcp` and queueing disciplines.
//!
//! Two halves: [`Machine`] on the host; [`guest`], the first process inside, which never returns.
#![cfg(target_os = "linux")]

mod error;
mod follow;
pub mod guest;
mod job;
mod job_dir;
mod kernel;
mod machine;
mod modules;

pub use error::UmlError;
pub use guest::is_inside;
pub use kernel::Kernel;
pub use machine::{GuestExit, Machine, MachineEvent};
pub use modules::NETWORK_MODULES;
