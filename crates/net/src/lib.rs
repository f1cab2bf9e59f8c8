//! Links, switches, buffers, markers and topologies. Knows packets, not TCP.

mod blueprint;

pub use blueprint::{
    Blueprint, BufferSpec, Count, Framing, HostId, LinkSpec, MarkSpec, NodeId, NotEct, PortSpec,
};
