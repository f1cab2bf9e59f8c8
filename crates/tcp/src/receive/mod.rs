//! The receiving side: segment arrival, reassembly, the window and its memory.

mod input;
pub(crate) mod memory;
mod reassembly;
pub(crate) mod receiver;
