//! Capture files: pcap and pcapng, frame by frame, down to the TCP segment.
//!
//! Contract: reads any stream once. Memory is bounded: a buffer as long as the longest record (16
//! MiB at most, and no longer than the file), and at most a kilobyte for each interface that the
//! file describes. Nothing in a file makes it panic. What is no TCP over IP is an [`SkipReason`] that
//! the caller counts; a pcapng block that is malformed but as long as it says is counted and left
//! out; anything worse ends the file with a [`CaptureError`] that names the offset, after every
//! frame before it has been handed over.
//!
//! Both byte orders, stamps in any resolution (given in nanoseconds), link types Ethernet (802.1Q
//! and 802.1ad tags), raw IP, Linux cooked v1 and v2, BSD loopback.

mod error;
mod frame;
mod input;
mod interfaces;
mod link;
mod reader;

pub use error::CaptureError;
pub use frame::{CapturePoint, CapturedFrame, SkipReason};
pub use interfaces::Interface;
pub use link::LinkType;
pub use lowtide_wire::captured::CapturedPacket;
pub use reader::Reader;
