//! One captured frame, and the segment in it.

use lowtide_wire::captured::{self, CapturedPacket};
use lowtide_wire::{HeaderKind, WireError};

use super::link::{CapturePoint, LinkType, SkipReason};

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
    /// Offset of the record in the file, bytes.
    pub offset: u64,
}

impl CapturedFrame<'_> {
    /// Returns the capture point, as far as the file states it.
    pub fn point(&self) -> CapturePoint {
        CapturePoint { interface: self.interface, ..self.link_type.point(self.data) }
    }

    /// Returns the TCP segment of the frame.
    ///
    /// # Errors
    /// The frame has no TCP segment, or a header cannot be read.
    pub fn segment(&self) -> Result<CapturedPacket, SkipReason> {
        let packet = self.link_type.packet(self.data)?;
        // The link header is never truncated here, so both lengths shrink by it.
        let before = (self.data.len() - packet.len()) as u32;
        let original_len = self.original_len.saturating_sub(before);
        if matches!(packet.first(), Some(first) if !matches!(first >> 4, 4 | 6)) {
            return Err(SkipReason::NotIp);
        }
        captured::parse(packet, original_len).map_err(|e| match e {
            WireError::NotTcp { .. } => SkipReason::NotTcp,
            WireError::Fragment => SkipReason::Fragment,
            WireError::Truncated {
                header: HeaderKind::Ipv4 | HeaderKind::Ipv6 | HeaderKind::Tcp,
                ..
            } => SkipReason::Truncated,
            _ => SkipReason::Malformed,
        })
    }
}
