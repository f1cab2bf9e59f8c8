//! Capture files: reads pcap and pcapng frame by frame, down to the TCP segment.
//!
//! Contract: reads any stream in one pass. Memory is bounded by a buffer for the longest record (at
//! most 16 MiB, at most the file's length) and one kilobyte per interface. No file makes it panic.
//! A frame without TCP over IP gives a [`SkipReason`], which the caller counts. A malformed pcapng
//! block of plausible length is counted and skipped. Other damage ends the file with a
//! [`CaptureError`] that names the offset, after all frames before it have been returned.
//!
//! Supports both byte orders, timestamps of any resolution (returned in nanoseconds) and these link
//! types: Ethernet (802.1Q and 802.1ad tags), raw IP, Linux cooked v1 and v2, BSD loopback.

mod error;
mod frame;
mod input;
mod interfaces;
mod link;
mod reader;

pub use error::CaptureError;
pub use frame::CapturedFrame;
pub use interfaces::Interface;
pub use link::{CapturePoint, LinkType, SkipReason};
pub use lowtide_wire::captured::CapturedPacket;
pub use reader::Reader;
