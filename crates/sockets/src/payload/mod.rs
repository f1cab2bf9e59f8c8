//! Send and receive buffers of one connection, by stream offset. `tcp` handles ranges only.
//!
//! Contract: offsets count payload bytes from zero and never wrap. The connection's buffer sizes
//! limit the bytes held; nothing here does. A range that is not held yields no bytes, never a
//! panic.

mod out_of_order;
mod pool;
mod queue;
mod receive;
mod send;

pub use pool::ChunkPool;
pub use receive::ReceiveBuffer;
pub use send::SendRing;
