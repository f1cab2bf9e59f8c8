//! A relay: connections of the kernel's TCP on one side, of lowtide's on the other, and the bytes in between.
//!
//! Contract: for each connection that a [`Route`] accepts, one is opened to its target over the other TCP, and each is what
//! the other was: bytes in order, the end of a direction as FIN, a reset as a reset. What one side does not take
//! is not read from the other, but for one buffer for each direction, so that memory is bounded and the sender is held back. One thread
//! serves all connections; none is started for a connection.

mod connection;
mod direction;
mod plan;
mod relay_socket;
mod service;
mod stats;

pub use plan::{ListenAddr, RelayPlan, RelayRoute};
pub use service::Relay;
pub use stats::RelayStats;
