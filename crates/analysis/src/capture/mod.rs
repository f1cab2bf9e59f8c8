//! Capture files: reads pcap and pcapng frame by frame, down to the TCP segment.
//!
//! Contract: reads any stream in one pass. Memory is bounded by a buffer for the longest record (at
//! most 16 MiB, at most the file's length), one kilobyte per interface, the window of a compressed
//! file (at most 128 MiB) and 16 MB of fragments. No file makes it panic. A frame without TCP over
//! IP gives a [`SkipReason`], which the caller counts. A malformed pcapng block of plausible length
//! is counted and skipped. Other damage ends the file with a [`CaptureError`] that names the
//! offset, after all frames before it have been returned.
//!
//! Supports both byte orders, timestamps of any resolution (returned in nanoseconds), compression
//! by gzip and Zstandard, the link types of `link`, and the tunnels of [`Tunnel`].

mod compressed;
mod cursor;
mod decoder;
mod error;
mod fragments;
mod frame;
mod input;
mod interfaces;
mod link;
mod link_type;
mod reader;
mod skip;
mod tunnel;

pub use decoder::{DecodedSegment, Decoder, MAX_TUNNELS};
pub use error::CaptureError;
pub use fragments::Reassembled;
pub use frame::CapturedFrame;
pub use interfaces::Interface;
pub use link::{CapturePoint, Mirror};
pub use link_type::LinkType;
pub use lowtide_wire::captured::CapturedPacket;
pub use reader::Reader;
pub use skip::SkipReason;
pub use tunnel::Tunnel;
