//! A command of lowtide inside a Linux of its own, as an ordinary process: User Mode Linux.
//!
//! Contract: [`Machine::run`] boots the kernel of Debian's package `user-mode-linux`, has it run this very program
//! with other arguments, hands on what that prints and with which status it ends, and leaves nothing behind. The
//! machine sees the files of the host, read-only but for the folders that it is given. It has a network of its
//! own without any way out, the kernel's `dctcp` and its queueing disciplines among it.
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
