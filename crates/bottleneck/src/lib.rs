//! The network of the simulator, in real time, on real packets.
//!
//! Contract: a bottleneck *is* a [`lowtide_net::Network`] of any [`lowtide_net::Blueprint`].
//! Queues, markers, buffers, routes, loss and link failures are implemented there, not here. Each
//! host of the blueprint may have a [`HostPort`]: a device that sends and receives its packets. One
//! thread ([`Bottleneck`]) advances the network's virtual time with the system's monotonic clock.
//!
//! - **Host links** and the queues in front of them are those of the blueprint. Devices accept
//!   packets at once, so nothing waits before that queue. To send at the machine's full rate, give
//!   the host's link a higher rate.
//! - **Time.** A packet arrives when it is read. All events due by then are handled first, at their
//!   own virtual times. A thread that wakes up late delivers packets late, but marks, drops and
//!   queues follow from the arrival times. [`Fidelity`] reports the lateness,
//!   [`BottleneckReport::warnings`] excessive lateness.
//! - **Bytes** are unchanged except for the ECN codepoint, with an update of the IPv4 checksum, and
//!   for [`Faults`]. Hop limits are not decremented: the nodes are switches.
//! - **Class** of a packet ([`lowtide_net::Packet::class`]) is its DSCP.
//! - On Ethernet ([`lowtide_live::Device::Packet`]) a port's device answers for the addresses of
//!   the other hosts. They are the `local` addresses of its plan's networks; the host's own is
//!   `peer`.
//! - Any IP packet is carried. Packets without a destination are counted and dropped
//!   ([`IngressDrops`]).
//!
//! ```no_run
//! use lowtide_bottleneck::{Bottleneck, BottleneckSettings, HostPort};
//! use lowtide_live::{Device, Live};
//! use lowtide_net::{Blueprint, HostId};
//!
//! # fn scenario() -> Blueprint { Blueprint::default() }
//! let network = scenario();
//! let (ours, theirs) = Device::memory_link()?;
//! let address: std::net::IpAddr = "10.77.0.1".parse()?;
//! let host = Live::with_device(ours, vec![address], lowtide_live::LiveSettings::default())?;
//! let ports = vec![HostPort { host: HostId(0), device: theirs, networks: vec![(address, 32)] }];
//! let bottleneck = Bottleneck::start(&network, ports, &BottleneckSettings::default())?;
//! // ... traffic between `host` and the others ...
//! drop(host);
//! println!("{:?}", bottleneck.stop()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg(target_os = "linux")]

mod address_table;
mod capture;
mod driver;
mod engine;
mod error;
mod faults;
mod fidelity;
mod forwarder;
mod header;
mod report;
mod scheduling;
mod slab;

pub use driver::{Bottleneck, BottleneckSettings, HostPort, PreparedBottleneck};
pub use engine::IngressDrops;
pub use error::BottleneckError;
pub use faults::{FaultCounts, Faults};
pub use fidelity::Fidelity;
pub use report::{BottleneckReport, HostReport};
