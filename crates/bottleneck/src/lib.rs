//! The network of the simulator, in real time, on real packets.
//!
//! Contract: a bottleneck *is* a [`lowtide_net::Network`] of any [`lowtide_net::Blueprint`]; queues, markers, buffers,
//! routes, loss and failing links are its, and nothing of them is in here. Each host of the blueprint may have a
//! [`HostPort`]: a device from which its packets come and to which those for it go. One thread ([`Bottleneck`]) moves
//! the network's virtual time along with the system's monotonic clock.
//!
//! - **A host's line** is that of the blueprint, and so is the queue in front of it: devices take packets at once, so
//!   nothing waits before it. For the rate of a host to be that of its machine, give its line a rate beyond.
//! - **Time.** A packet arrives when it is read. Everything that was due by then happens first, at its own virtual
//!   time: a thread that wakes up late moves packets late, but marks, drops and queues are those of the instants at
//!   which packets came. [`Fidelity`] says how late they were; [`BottleneckReport::warnings`] says when that was too much.
//! - **Bytes** are kept as they came, but for the ECN codepoint, whose change keeps the checksum of an IPv4 header, and
//!   for [`Faults`]. Hop limits are left alone: switches, not routers.
//! - **Class** of a packet ([`lowtide_net::Packet::class`]) is its DSCP.
//! - On an Ethernet ([`lowtide_live::Device::Packet`]) a port's device answers for the addresses of the other hosts: they
//!   are the `ours` of its plan's sides, the host's is `kernels`.
//! - Any IP packet is carried; what is for nobody is counted and dropped ([`IngressDrops`]).
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
mod histogram;
mod report;
mod scheduling;
mod slab;

pub use driver::{Bottleneck, BottleneckSettings, HostPort, PreparedBottleneck};
pub use engine::{IngressDrops, PortQueueSample};
pub use error::BottleneckError;
pub use faults::{FaultCounts, Faults};
pub use fidelity::Fidelity;
pub use histogram::Histogram;
pub use report::{BottleneckReport, HostReport, PortReport};
