//! The bytes of one connection, by stream offset. `tcp` deals in ranges; a driver keeps the bytes here.
//!
//! Contract: offsets count payload bytes from zero and never wrap. Nothing here decides how much may be held:
//! the connection does, by its buffers. A range that is not held gives nothing, never a panic.

mod out_of_order;
mod pool;
mod queue;
mod receive;
mod send;

pub use pool::ChunkPool;
pub use receive::ReceiveBuffer;
pub use send::SendRing;
