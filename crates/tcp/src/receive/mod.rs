//! The receiving side: segment arrival, reassembly, the window and its memory.

mod input;
pub(crate) mod memory;
pub(crate) mod quick_acks;
mod reassembly;
pub(crate) mod receiver;
mod tuning;
