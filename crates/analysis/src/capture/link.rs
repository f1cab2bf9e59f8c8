//! Link headers (link types of <https://www.tcpdump.org/linktypes.html>).

use std::net::IpAddr;

use super::cursor::Cursor;
use super::link_type::LinkType;
use super::skip::SkipReason;
use super::tunnel::{Header, Step, Tunnel, is_vlan};

/// Packet type of Linux cooked captures: sent by the capturing host.
const OUTGOING: u16 = 4;
/// Protocols of Linux cooked captures that are no EtherType: IEEE 802.2, and without LLC.
const COOKED_802_2: u16 = 4;

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
    /// The switch that mirrored the frame (ERSPAN).
    pub mirror: Option<Mirror>,
}

/// An ERSPAN session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Mirror {
    /// Address of the switch.
    pub source: IpAddr,
    /// Session, 0 if the header has none.
    pub session: u16,
}

impl LinkType {
    /// Returns the header after the link header.
    pub(super) fn first(self, frame: Cursor<'_>) -> Result<Step<'_>, SkipReason> {
        let shim = |header, len| Ok(Step::shim(header, frame.skip(len)?));
        let cooked = |kind: u16, len| {
            let next = if kind == COOKED_802_2 { Header::Llc } else { Header::EtherType(kind) };
            shim(next, len)
        };
        match self.0 {
            0 | 108 => shim(Header::Ip, 4),
            1 => shim(Header::Ethernet, 0),
            9 | 50
                if frame.bytes.starts_with(&[0x0f, 0]) || frame.bytes.starts_with(&[0x8f, 0]) =>
            {
                cooked(frame.half(2)?, 4)
            }
            9 | 50 => shim(Header::Ppp, 0),
            51 => Ok(Step::tunnel(Tunnel::Pppoe, Header::Ppp, frame.skip(6)?)),
            // LLC after addresses of FDDI, and alone.
            10 => shim(Header::Llc, 13),
            100 => shim(Header::Llc, 0),
            104 => cooked(frame.half(2)?, 4),
            // DLT_RAW: the numbers of some systems, and those of the list.
            12 | 14 | 101 | 228 | 229 => shim(Header::Ip, 0),
            113 => cooked(frame.half(14)?, 16),
            204 => shim(Header::Ppp, 1),
            219 => shim(Header::Mpls, 0),
            276 => cooked(frame.half(0)?, 20),
            other => Err(SkipReason::UnknownLinkType(other)),
        }
    }

    /// Returns the capture point of a frame, as far as its link header states it.
    pub fn point(self, frame: &[u8]) -> CapturePoint {
        let mut point = CapturePoint::default();
        let frame = Cursor { bytes: frame, len: frame.len() };
        match self.0 {
            1 if frame.half(12).is_ok_and(is_vlan) => {
                point.vlan = frame.half(14).ok().map(|tag| tag & 0x0fff);
            }
            113 => point.outgoing = frame.half(0).ok().map(|kind| kind == OUTGOING),
            276 => point.if_index = frame.word(4).ok(),
            _ => {}
        }
        point
    }
}
