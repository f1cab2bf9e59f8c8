//! Link headers before the IP header (link types of <https://www.tcpdump.org/linktypes.html>).

// EtherTypes.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN_TPIDS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// Packet type of Linux cooked captures: sent by the capturing host.
const OUTGOING: u16 = 4;
/// Limit on VLAN tags of one frame.
const MAX_VLAN_TAGS: usize = 4;

/// A point at which frames were captured. A packet may be captured at several points.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CapturePoint {
    /// Interface: its number among [`super::Reader::interfaces`], 0 in a pcap file.
    pub interface: u32,
    /// Interface index of the capturing host (Linux cooked v2).
    pub if_index: Option<u32>,
    /// VLAN identifier of the outermost tag.
    pub vlan: Option<u16>,
    /// Sent, rather than received, by the capturing host. Known if the link header states it and no
    /// interface index (Linux cooked v1).
    pub outgoing: Option<bool>,
}

/// The reason why a frame gives no TCP segment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SkipReason {
    /// The frame carries no IP.
    NotIp,
    /// The frame carries IP but no TCP.
    NotTcp,
    /// The frame carries a fragment of an IP packet.
    Fragment,
    /// Too few bytes of the frame were captured.
    Truncated,
    /// The headers contradict each other.
    Malformed,
    /// The link type is not known.
    UnknownLinkType(i32),
}

/// A link type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LinkType(pub i32);

impl LinkType {
    /// Returns the IP packet of a frame.
    ///
    /// # Errors
    /// The frame carries no IP or is too short, or the link type is not known.
    pub fn packet(self, frame: &[u8]) -> Result<&[u8], SkipReason> {
        match self.0 {
            0 | 108 => frame.get(4..).ok_or(SkipReason::Truncated),
            1 => {
                let mut at = 12;
                let mut kind = read_u16(frame, at)?;
                for _ in 0..MAX_VLAN_TAGS {
                    if VLAN_TPIDS.contains(&kind) {
                        at += 4;
                        kind = read_u16(frame, at)?;
                    }
                }
                ip(kind, frame, at + 2)
            }
            // DLT_RAW: the numbers of some systems, and those of the list.
            12 | 14 | 101 | 228 | 229 => Ok(frame),
            113 => ip(read_u16(frame, 14)?, frame, 16),
            276 => ip(read_u16(frame, 0)?, frame, 20),
            other => Err(SkipReason::UnknownLinkType(other)),
        }
    }

    /// Returns the capture point of a frame, as far as its link header states it.
    pub fn point(self, frame: &[u8]) -> CapturePoint {
        let mut point = CapturePoint::default();
        match self.0 {
            1 if read_u16(frame, 12).is_ok_and(|kind| VLAN_TPIDS.contains(&kind)) => {
                point.vlan = read_u16(frame, 14).ok().map(|tag| tag & 0x0fff);
            }
            113 => point.outgoing = read_u16(frame, 0).ok().map(|kind| kind == OUTGOING),
            276 => {
                let index = frame.get(4..).and_then(<[u8]>::first_chunk);
                point.if_index = index.map(|b| u32::from_be_bytes(*b));
            }
            _ => {}
        }
        point
    }

    /// Returns the usual name.
    pub fn name(self) -> String {
        match self.0 {
            0 => "loopback (null)".to_owned(),
            108 => "loopback".to_owned(),
            1 => "Ethernet".to_owned(),
            12 | 14 | 101 | 228 | 229 => "raw IP".to_owned(),
            113 => "Linux cooked v1".to_owned(),
            276 => "Linux cooked v2".to_owned(),
            other => format!("link type {other}"),
        }
    }
}

fn read_u16(frame: &[u8], at: usize) -> Result<u16, SkipReason> {
    let bytes = frame.get(at..at + 2).ok_or(SkipReason::Truncated)?;
    Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
}

fn ip(kind: u16, frame: &[u8], at: usize) -> Result<&[u8], SkipReason> {
    match kind {
        IPV4 | IPV6 => frame.get(at..).ok_or(SkipReason::Truncated),
        _ => Err(SkipReason::NotIp),
    }
}
