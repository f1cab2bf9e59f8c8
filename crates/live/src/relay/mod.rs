//! TCP relay between the kernel's TCP and lowtide's.
//!
//! Contract: for each connection that a [`RelayRoute`] accepts, one is opened to its target over
//! the other TCP. Bytes are forwarded in order, FIN as FIN, RST as RST. Backpressure: if one side
//! takes no data, at most one buffer per direction is read from the other. So memory is bounded and
//! the sender is slowed down. One thread serves all connections.

mod connection;
mod direction;
mod plan;
mod relay_socket;
mod service;
mod stats;

pub use plan::{ListenAddr, RelayPlan, RelayRoute};
pub use service::Relay;
pub use stats::RelayStats;
