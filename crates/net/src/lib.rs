//! Links, switches, buffers, markers and topologies. Knows packets, not TCP.
//!
//! Contract: a [`Blueprint`] says what there is, [`Network::build`] checks it and makes it run. A
//! host gives a [`Packet`] to [`Network::send`]; the owner of the event loop hands each event of
//! kind [`Network::PORT_KIND`] to [`Network::on_port_event`], which sooner or later hands the packet
//! back with the host that it reached. It calls [`Network::prime`] first and hands events of kind
//! [`Network::LINK_KIND`] to [`Network::on_link_event`], for links that fail ([`Failure`]). The rest is
//! definitions, and they hold exactly:
//!
//! - A port serves first in, first out at the rate of its line, or several queues in the order of their
//!   classes ([`PortSpec::classes`]); either way it rests only when it has nothing. A packet of `size` IP
//!   bytes is on the line for `size` plus framing, then travels for the delay of the link.
//! - **At equal times a departure precedes an arrival**: a packet finds a queue without those that
//!   finish at its very instant, and the line chooses its next packet before those that arrive then.
//!   Memory is freed at the end of transmission.
//! - **The queue**, for the marker, for static admission and in statistics, counts the packet on the line
//!   only if [`PortSpec::count_in_service`] says so. Sizes are IP bytes, framing not counted. With classes
//!   it is that of the packet's class.
//! - **Shared memory** ([`buffer::dynamic`]) counts the packet on the line in any case; what has left any
//!   port of it, up to and with an instant, is free before anything is admitted at that instant.
//! - A packet goes a shortest way, every link counting one; of several [`Routing`] chooses.
//! - A packet may be lost at random before it meets a port ([`LineSpec::loss`]).
//! - An arriving packet meets the [`buffer`] first: it is admitted if the queue and itself fit. Then
//!   it meets the [`aqm`], which judges by the queue it found, itself not counted. Then it takes its
//!   place behind the others ([`scheduler`]). A marker at dequeue judges by the queue that is left behind
//!   when the line begins to send the packet.
//! - A port takes one event per packet where its departure is known when it takes its place, and one more
//!   where it is not: with classes, with CoDel or PI, with drops at dequeue. The physics is the same.
//! - Arrival at a host may be late by a random host jitter, which never reorders.
//! - Statistics run from the end of the warm-up. A boundary in time lies after the departures and
//!   before the arrivals of its instant.
#![deny(clippy::float_arithmetic)]

pub mod aqm;
mod blueprint;
pub mod buffer;
mod buffer_pool;
mod check;
mod enqueue_outcome;
mod error;
mod failure;
mod limit;
mod line;
mod loss;
mod network;
mod packet;
mod partition;
mod port;
mod port_spec;
mod port_tracer;
pub mod profiles;
pub mod registry;
mod route;
mod routing;
pub mod scheduler;
mod shortest_paths;
mod stats;
pub mod topology;

pub use blueprint::{Blueprint, Framing, HostId, LineSpec, LinkSpec, NodeId, SwitchSpec};
pub use error::BlueprintError;
pub use network::{ArrivedPacket, CrossShardPacket, Delivery, Network};
pub use packet::{Envelope, Packet};
pub use partition::{Partition, PartitionError};
pub use port_spec::{
    BufferSpec, ClassSet, ClassSpec, CoDelSpec, CongestionSignal, Count, MarkSpec, NotEct, PiSpec,
    PieSpec, PortSpec, Ratio, RedSpec, Service,
};
pub use port_tracer::{HopOutcome, HopRecord};
pub use routing::{Failure, Routing};
pub use scheduler::Occupancy;
pub use shortest_paths::ShortestPaths;
pub use stats::{BufferPoolStats, ClassStats, LevelStats, PortStats, PortView};
