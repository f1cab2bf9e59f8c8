//! One captured frame.

use super::link::CapturePoint;
use super::link_type::LinkType;

/// A captured frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CapturedFrame<'a> {
    /// Capture time in nanoseconds of the capturing host's clock, since 1970 if the clock is set.
    pub time_ns: u64,
    /// Number of the interface among [`super::Reader::interfaces`], 0 in a pcap file.
    pub interface: u32,
    /// Link type, which gives the link header.
    pub link_type: LinkType,
    /// The captured bytes.
    pub data: &'a [u8],
    /// Length on the wire, bytes.
    pub original_len: u32,
    /// Offset of the record in the file (decompressed), bytes.
    pub offset: u64,
}

impl CapturedFrame<'_> {
    /// Returns the capture point, as far as the file and the link header state it.
    pub fn point(&self) -> CapturePoint {
        CapturePoint { interface: self.interface, ..self.link_type.point(self.data) }
    }
}
