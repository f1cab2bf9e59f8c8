//! The sans-IO TCP on real packets.
//!
//! Contract: one thread drives [`lowtide_tcp::Endpoint`] and its connections, unchanged; it waits
//! for packets, timers and applications. It keeps the payload, builds and parses packets with their
//! checksums, and stamps them. It contains no TCP rules. Setup functions do not change the
//! machine's own network namespace unless asked to.
//!
//! Start at [`Live`]: it owns a [`Device`] and creates [`Listener`]s and [`Stream`]s.
//!
//! ```no_run
//! use std::io::Write;
//! use lowtide_live::{DeviceNetwork, DevicePlan, Live, LiveSettings, config};
//!
//! let plan = DevicePlan::parse("tun:lt0", 1500, vec![DeviceNetwork::parse("10.77.0.2/24")?])?;
//! let live = Live::start(&plan, LiveSettings::default())?;
//! let dctcp = config("linux", Some("dctcp"), &[("send-buffer", "1 MB")])?;
//! let mut stream = live.connect("10.77.0.1:5201".parse()?, &dctcp)?;
//! stream.write_all(b"hello")?;
//! println!("{:?}", stream.info());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg(target_os = "linux")]

pub mod admission;
pub mod bench;
mod clock;
mod cpu_times;
mod device;
mod driver;
mod error;
pub mod links;
pub mod load;
mod mix;
pub mod netns;
pub mod privileges;
pub mod relay;
mod socket;
mod stack;

pub use clock::Clock;
pub use cpu_times::CpuTimes;
pub use device::{
    AfPacket, Device, DeviceKind, DeviceNetwork, DevicePlan, MemoryLink, RxBatch, Tun, TxPacket,
};
pub use error::LiveError;
pub use socket::{
    Listener, Live, LiveSettings, LiveStats, NonblockingSocket, Poller, PreparedHost, Ready,
    Stream, StreamObserver, config,
};
pub use stack::{Readiness, StackCounters};
