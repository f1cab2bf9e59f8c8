//! Links, switches, buffers, markers and topologies. Independent of TCP.
//!
//! Contract: a [`Blueprint`] describes the network; [`Network::build`] checks and builds it. A host
//! passes a [`Packet`] to [`Network::send`]. The owner of the event loop passes each event of kind
//! [`Network::PORT_KIND`] to [`Network::on_port_event`], which eventually returns the packet with
//! its destination host. For link failures ([`Failure`]) it first calls [`Network::prime`] and
//! passes events of kind [`Network::LINK_KIND`] to [`Network::on_link_event`]. These definitions
//! hold exactly:
//!
//! - A port serves first in, first out at the rate of its line, or several queues in the order of
//!   their classes ([`PortSpec::classes`]). Both are work-conserving. A packet of `size` IP bytes
//!   occupies the line for `size` plus framing, then propagates for the delay of the link.
//! - **At equal times a departure precedes an arrival**: a packet does not find packets whose
//!   transmission ends at that instant. The line selects its next packet before the arrivals of
//!   that instant. Memory is freed at the end of transmission.
//! - **The queue** used by markers, static admission and statistics includes the packet in service
//!   only if [`PortSpec::count_in_service`] is set. Sizes are IP bytes without framing. With
//!   classes it is the queue of the packet's class.
//! - **Shared memory** ([`buffer::dynamic`]) always includes the packet in service. All departures
//!   from any of its ports up to and including an instant free memory before admission at that
//!   instant.
//! - A packet takes a shortest path in hops; [`Routing`] chooses among several.
//! - A packet may be lost at random before it enters a port ([`LineSpec::loss`]).
//! - An arriving packet first passes the [`buffer`]: it is admitted if queue plus packet fit. Then
//!   the [`aqm`] decides by the queue without the packet. Then the packet is enqueued
//!   ([`scheduler`]). A marker at dequeue decides by the queue that remains when transmission of
//!   the packet starts.
//! - A port takes one event per packet if departures are known at enqueue. It takes two with
//!   classes, CoDel, PI or drops at dequeue. Results are identical.
//! - Arrival at a host may be delayed by a random host jitter, which never reorders.
//! - Statistics start at the end of the warm-up. A time boundary lies after the departures and
//!   before the arrivals of its instant.
#![deny(clippy::float_arithmetic)]

pub mod aqm;
mod blueprint;
pub mod buffer;
mod buffer_pool;
mod check;
mod class_scheduler;
mod compact_packet;
mod enqueue_outcome;
mod error;
mod failure;
mod fifo;
mod limit;
mod line;
mod loss;
mod network;
mod node_id;
mod packet;
mod packet_pool;
mod partition;
mod port;
mod port_spec;
mod port_tracer;
pub mod profiles;
mod route;
mod routing;
mod shortest_paths;
mod stats;
pub mod topology;

pub use aqm::MarkSpec;
pub use blueprint::{Blueprint, LineSpec, LinkSpec, SwitchSpec};
pub use error::BlueprintError;
pub use fifo::Occupancy;
pub use line::Framing;
pub use lowtide_units::{QueueLength, Ratio};
pub use network::{ArrivedPacket, CrossShardPacket, Delivery, Network};
pub use node_id::{HostId, NodeId};
pub use packet::{Envelope, Packet};
pub use partition::{Partition, PartitionError};
pub use port_spec::{BufferSpec, ClassSet, ClassSpec, PortSpec, Service};
pub use port_tracer::{HopOutcome, HopRecord};
pub use routing::{Failure, Routing};
pub use shortest_paths::ShortestPaths;
