//! The kernel's TCP as an end of flows: settings and socket info.

pub(crate) mod diag;
pub(crate) mod release;
pub(crate) mod sockets;
pub(crate) mod tcp_config;
