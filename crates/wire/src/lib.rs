//! Reading and writing of IP and TCP headers and options.
//!
//! Contract: no sockets, no state, no allocation except in [`pcapng`], `no_std`. Malformed input
//! gives an error, never a panic. The [`Segment`] is a plain value of fixed size with the payload
//! as a length only: the simulator moves segments without bytes; a real-packet driver keeps the
//! bytes separately.
//!
//! Start at [`packet`], which reads and writes whole IP packets; [`ipv4`], [`ipv6`], [`extension`]
//! and [`tcp`] are its parts, [`pcapng`] writes capture files, [`captured`] reads captured packets.
#![no_std]
#![deny(clippy::float_arithmetic)]
#![warn(clippy::cast_possible_truncation)]

extern crate alloc;

mod addresses;
pub mod captured;
pub mod checksum;
mod ecn;
mod error;
pub mod extension;
mod flags;
pub mod icmp;
mod ip_version;
pub mod ipv4;
pub mod ipv6;
pub mod options;
pub mod packet;
pub mod pcapng;
mod segment;
mod seq;
pub mod tcp;

pub use addresses::Addresses;
pub use ecn::Ecn;
pub use error::{HeaderKind, WireError};
pub use flags::Flags;
pub use ip_version::IpVersion;
pub use options::{
    AccEcnOption, AccEcnOrder, DelayStamps, Experimental, ExtraOption, Options, SackBlocks,
    Timestamps,
};
pub use segment::{RxMeta, Segment};
pub use seq::SeqNum;
