//! Applications, each bound to one end of a connection: those of flows, query clients and servers.

mod collective;
pub(crate) mod exchange;
pub(crate) mod query;
mod query_client;
pub(crate) mod query_clients;
mod query_server;
pub(crate) mod ranks;
pub(crate) mod transfer;
pub(crate) mod writer;
