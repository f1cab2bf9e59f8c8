//! The kernel's TCP as an end of flows: what can be set, what it shows.

pub(crate) mod diag;
pub(crate) mod sockets;
pub(crate) mod tcp_config;
