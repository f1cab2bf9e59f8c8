//! One captured frame, and the segment in it.

use lowtide_wire::captured::{self, CapturedPacket};
use lowtide_wire::{HeaderKind, WireError};

use crate::LinkType;

/// One place at which frames were captured. The same packet may be captured at several of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CapturePoint {
    /// Interface of the file: its number among [`crate::Reader::interfaces`], 0 in a pcap file.
    pub interface: u32,
    /// Interface index of the capturing host (Linux cooked v2).
    pub if_index: Option<u32>,
    /// VLAN identifier of the outermost tag.
    pub vlan: Option<u16>,
    /// Sent by the capturing host, rather than received: known where the link header states it and
    /// no interface index (Linux cooked v1).
    pub outgoing: Option<bool>,
}

/// A captured frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CapturedFrame<'a> {
    /// When, in nanoseconds of the capturing host's clock, since 1970 where it says so.
    pub time_ns: u64,
    /// Number of its interface among [`crate::Reader::interfaces`], 0 in a pcap file.
    pub interface: u32,
    /// What the frame begins with.
    pub link_type: LinkType,
    /// The bytes that were kept.
    pub data: &'a [u8],
    /// How many there were.
    pub original_len: u32,
    /// Where its record begins in the file.
    pub offset: u64,
}

/// Why there is no segment to be seen in a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SkipReason {
    /// It carries no IP.
    NotIp,
    /// It carries IP but no TCP.
    NotTcp,
    /// A fragment of an IP packet.
    Fragment,
    /// Too little was captured of it.
    Truncated,
    /// Its headers contradict themselves.
    Malformed,
    /// Its link type is not known.
    UnknownLinkType(i32),
}

impl CapturedFrame<'_> {
    /// Capture point, if the file states it.
    pub fn point(&self) -> CapturePoint {
        CapturePoint { interface: self.interface, ..self.link_type.point(self.data) }
    }

    /// The TCP segment in it.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn segment(&self) -> Result<CapturedPacket, SkipReason> {
        let packet = self.link_type.packet(self.data)?;
        // The link header is the same in what was kept and what there was.
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
