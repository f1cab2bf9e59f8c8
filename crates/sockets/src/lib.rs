//! Connections with their bytes over [`lowtide_tcp::Endpoint`], which handles ranges only.
//!
//! Contract: no device, no clock, no thread; every call takes the time. [`Sockets`] stores payload,
//! passes calls to the endpoint and keeps the state of each connection as its application sees it.
//! It does not decide when to send: after each change a driver sends what the endpoint has to send
//! and calls [`Sockets::poll_events`].

mod conn;
mod payload;
mod sockets;
#[cfg(test)]
mod tests;

pub use conn::{Conn, ConnInfo};
pub use payload::{ChunkPool, ReceiveBuffer, SendRing};
pub use sockets::{ConnKey, Polled, Sockets};
