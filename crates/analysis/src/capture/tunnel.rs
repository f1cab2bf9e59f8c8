//! Tunnels and containers between the link header and TCP.
//!
//! Contract: a protocol is recognised by its EtherType, IP protocol or UDP destination port, and by
//! the bits of its header that are fixed. Options and reserved bits are skipped.

use lowtide_wire::captured::{self, CapturedIp};
use lowtide_wire::{Addresses, Ecn};

use super::cursor::Cursor;
use super::skip::SkipReason;

/// A protocol that carries frames or packets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Tunnel {
    /// PPP over Ethernet (RFC 2516).
    Pppoe,
    /// MPLS labels before IP (RFC 3032).
    Mpls,
    /// MPLS pseudo-wire of Ethernet (RFC 4448).
    PseudoWire,
    /// IEEE 802.1ah.
    ProviderBackbone,
    /// Cisco FabricPath.
    FabricPath,
    /// GRE with IP or another EtherType (RFC 2784, RFC 2890).
    Gre,
    /// GRE with Ethernet (transparent Ethernet bridging, NVGRE).
    GreEthernet,
    /// GRE of PPTP (RFC 2637).
    Pptp,
    /// Encapsulated remote mirroring without a header.
    Erspan1,
    /// Encapsulated remote mirroring, version 1.
    Erspan2,
    /// Encapsulated remote mirroring, version 2.
    Erspan3,
    /// VXLAN (RFC 7348).
    Vxlan,
    /// VXLAN with a protocol field.
    VxlanGpe,
    /// Geneve (RFC 8926).
    Geneve,
    /// IPv4 in IPv4 (RFC 2003).
    Ipip,
    /// IPv6 in IPv4 (RFC 4213).
    SixInFour,
    /// IPv4 in IPv6 (RFC 2473).
    FourInSix,
    /// IPv6 in IPv6 (RFC 2473).
    SixInSix,
    /// Ethernet in IP (RFC 3378).
    EtherIp,
    /// MPLS in UDP (RFC 7510) or IP (RFC 4023).
    MplsInIp,
    /// PPP in L2TP (RFC 2661).
    L2tp,
    /// GTP user plane (3GPP TS 29.281).
    Gtp,
}

impl Tunnel {
    /// Returns the usual name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pppoe => "PPPoE",
            Self::Mpls => "MPLS",
            Self::PseudoWire => "MPLS pseudo-wire",
            Self::ProviderBackbone => "IEEE 802.1ah",
            Self::FabricPath => "FabricPath",
            Self::Gre => "GRE",
            Self::GreEthernet => "GRE with Ethernet",
            Self::Pptp => "PPTP",
            Self::Erspan1 => "ERSPAN I",
            Self::Erspan2 => "ERSPAN II",
            Self::Erspan3 => "ERSPAN III",
            Self::Vxlan => "VXLAN",
            Self::VxlanGpe => "VXLAN-GPE",
            Self::Geneve => "Geneve",
            Self::Ipip => "IP-in-IP",
            Self::SixInFour => "6in4",
            Self::FourInSix => "4in6",
            Self::SixInSix => "IPv6-in-IPv6",
            Self::EtherIp => "EtherIP",
            Self::MplsInIp => "MPLS in IP",
            Self::L2tp => "L2TP",
            Self::Gtp => "GTP-U",
        }
    }
}

/// The header that follows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Header {
    Ethernet,
    Llc,
    EtherType(u16),
    Ppp,
    Mpls,
    Ip,
    /// The payload of an IP packet.
    Transport(CapturedIp),
}

/// A header that was read: the tunnel that it is, if any, and the rest.
pub(super) struct Step<'a> {
    pub(super) tunnel: Option<Tunnel>,
    /// ERSPAN session (10 bits).
    pub(super) session: Option<u16>,
    pub(super) next: Header,
    pub(super) rest: Cursor<'a>,
}

impl<'a> Step<'a> {
    pub(super) fn shim(next: Header, rest: Cursor<'a>) -> Self {
        Self { tunnel: None, session: None, next, rest }
    }

    pub(super) fn tunnel(tunnel: Tunnel, next: Header, rest: Cursor<'a>) -> Self {
        Self { tunnel: Some(tunnel), ..Self::shim(next, rest) }
    }
}

type Parsed<'a> = Result<Step<'a>, SkipReason>;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const MPLS: [u16; 2] = [0x8847, 0x8848];
const TRANSPARENT_ETHERNET: u16 = 0x6558;
const PPP_IN_GRE: u16 = 0x880b;
const ERSPAN_1_2: u16 = 0x88be;
const ERSPAN_3: u16 = 0x22eb;
const WCCP: u16 = 0x883e;
/// Greatest value of the field that is a length (IEEE 802.3).
const MAX_LENGTH: u16 = 1500;

/// Reads an Ethernet header.
pub(super) fn ethernet(frame: Cursor<'_>) -> Parsed<'_> {
    let kind = frame.half(12)?;
    let rest = frame.skip(14)?;
    if kind <= MAX_LENGTH {
        return Ok(Step::shim(Header::Llc, rest.limit(usize::from(kind))));
    }
    Ok(Step::shim(Header::EtherType(kind), rest))
}

/// Reads an LLC header with SNAP (RFC 1042).
pub(super) fn llc(packet: Cursor<'_>) -> Parsed<'_> {
    let snap = [0xaa, 0xaa, 3, 0, 0, 0];
    match packet.bytes.get(..6) {
        Some(start) if start == snap => {
            Ok(Step::shim(Header::EtherType(packet.half(6)?), packet.skip(8)?))
        }
        Some(_) => Err(SkipReason::OtherLink("LLC, without IP")),
        None => Err(SkipReason::Truncated),
    }
}

/// Returns whether the EtherType is that of a VLAN tag (IEEE 802.1Q, 802.1ad, and before it).
pub(super) fn is_vlan(kind: u16) -> bool {
    matches!(kind, 0x8100 | 0x88a8 | 0x9100)
}

/// Follows an EtherType; VLAN tags of the frame are skipped.
pub(super) fn ethertype(kind: u16, packet: Cursor<'_>) -> Parsed<'_> {
    match kind {
        IPV4 | IPV6 => Ok(Step::shim(Header::Ip, packet)),
        _ if is_vlan(kind) => {
            let kind = packet.half(2)?;
            let next = if kind <= MAX_LENGTH { Header::Llc } else { Header::EtherType(kind) };
            Ok(Step::shim(next, packet.skip(4)?))
        }
        0x8864 if packet.byte(0)? == 0x11 => {
            let len = usize::from(packet.half(4)?);
            Ok(Step::tunnel(Tunnel::Pppoe, Header::Ppp, packet.skip(6)?.limit(len)))
        }
        0x8903 => Ok(Step::tunnel(Tunnel::FabricPath, Header::Ethernet, packet.skip(2)?)),
        0x88e7 => Ok(Step::tunnel(Tunnel::ProviderBackbone, Header::Ethernet, packet.skip(4)?)),
        _ if MPLS.contains(&kind) => Ok(Step::shim(Header::Mpls, packet)),
        _ => Err(SkipReason::NotIp(kind)),
    }
}

/// Reads a PPP header (RFC 1661), with or without address and control (RFC 1662) and with a
/// protocol field of one or two bytes.
pub(super) fn ppp(frame: Cursor<'_>) -> Parsed<'_> {
    let frame = if frame.bytes.starts_with(&[0xff, 3]) { frame.skip(2)? } else { frame };
    let (protocol, rest) = match frame.byte(0)? {
        short if short & 1 == 1 => (u16::from(short), frame.skip(1)?),
        _ => (frame.half(0)?, frame.skip(2)?),
    };
    match protocol {
        0x0021 | 0x0057 => Ok(Step::shim(Header::Ip, rest)),
        0x0281 | 0x0283 => Ok(Step::shim(Header::Mpls, rest)),
        0x00fd => Err(SkipReason::OtherLink("PPP, compressed or encrypted")),
        0x8000.. => Err(SkipReason::OtherLink("PPP control")),
        _ => Err(SkipReason::OtherLink("PPP, without IP")),
    }
}

/// Skips MPLS labels and guesses their payload by its first bits (RFC 4928 §3): IP, or a
/// pseudo-wire of Ethernet with or without a control word (RFC 4385 §3).
pub(super) fn mpls(mut packet: Cursor<'_>) -> Parsed<'_> {
    while packet.byte(2)? & 1 == 0 {
        packet = packet.skip(4)?;
    }
    packet = packet.skip(4)?;
    let is_ethernet = |at: Cursor<'_>| {
        at.half(12).is_ok_and(|kind| {
            matches!(kind, IPV4 | IPV6 | 0x0806 | 0x8864) || is_vlan(kind) || MPLS.contains(&kind)
        })
    };
    // Addresses of Ethernet may begin with the version of IP.
    let is_ip = captured::ip(packet.bytes, packet.len as u32).is_ok();
    let word = packet.skip(4)?;
    match packet.byte(0)? >> 4 {
        4 | 6 if is_ip || !is_ethernet(packet) => {
            Ok(Step::tunnel(Tunnel::Mpls, Header::Ip, packet))
        }
        1 if !is_ethernet(packet) => Err(SkipReason::OtherLink("MPLS OAM")),
        _ if packet.bytes.len() < 18 => Err(SkipReason::Truncated),
        0 if is_ethernet(word) => Ok(Step::tunnel(Tunnel::PseudoWire, Header::Ethernet, word)),
        _ if is_ethernet(packet) => Ok(Step::tunnel(Tunnel::PseudoWire, Header::Ethernet, packet)),
        _ => Err(SkipReason::OtherLink("MPLS, without IP or Ethernet")),
    }
}

/// Reads the header after IP.
pub(super) fn transport(ip: CapturedIp, payload: Cursor<'_>) -> Parsed<'_> {
    let v4 = matches!(ip.addresses, Addresses::V4 { .. });
    let tunnel = match ip.protocol {
        4 if v4 => Tunnel::Ipip,
        4 => Tunnel::FourInSix,
        41 if v4 => Tunnel::SixInFour,
        41 => Tunnel::SixInSix,
        17 => return udp(payload),
        47 => return gre(payload),
        97 => return Ok(Step::tunnel(Tunnel::EtherIp, Header::Ethernet, payload.skip(2)?)),
        137 => return Ok(Step::tunnel(Tunnel::MplsInIp, Header::Mpls, payload)),
        other => return Err(SkipReason::NotTcp(other)),
    };
    Ok(Step::tunnel(tunnel, Header::Ip, payload))
}

/// Reads a GRE header.
fn gre(packet: Cursor<'_>) -> Parsed<'_> {
    const CHECKSUM: u16 = 0x8000;
    const ROUTING: u16 = 0x4000;
    const KEY: u16 = 0x2000;
    const SEQUENCE: u16 = 0x1000;
    const ACK: u16 = 0x0080;
    let (flags, kind) = (packet.half(0)?, packet.half(2)?);
    let (version, has) = (flags & 7, |bit| flags & bit != 0);
    if has(ROUTING) || version > 1 {
        return Err(SkipReason::OtherLink("GRE of another version"));
    }
    let fields = [CHECKSUM, KEY, SEQUENCE].into_iter().filter(|bit| has(*bit)).count()
        + usize::from(version == 1 && has(ACK));
    let rest = packet.skip(4 + 4 * fields)?;
    match kind {
        TRANSPARENT_ETHERNET => Ok(Step::tunnel(Tunnel::GreEthernet, Header::Ethernet, rest)),
        PPP_IN_GRE if version == 1 => Ok(Step::tunnel(Tunnel::Pptp, Header::Ppp, rest)),
        ERSPAN_1_2 if !has(SEQUENCE) => Ok(Step::tunnel(Tunnel::Erspan1, Header::Ethernet, rest)),
        ERSPAN_1_2 | ERSPAN_3 => erspan(rest),
        // A redirect header, which the first version of WCCP does not have.
        WCCP if rest.byte(0)? >> 4 == 4 => Ok(Step::tunnel(Tunnel::Gre, Header::Ip, rest)),
        WCCP => Ok(Step::tunnel(Tunnel::Gre, Header::Ip, rest.skip(4)?)),
        0 => Err(SkipReason::OtherLink("GRE keep-alive")),
        kind => Ok(Step::tunnel(Tunnel::Gre, Header::EtherType(kind), rest)),
    }
}

/// Reads an ERSPAN header (draft-foschiano-erspan-03 §4).
fn erspan(packet: Cursor<'_>) -> Parsed<'_> {
    const IP_FRAME: u16 = 2;
    const PLATFORM_HEADER: u16 = 1;
    let session = packet.half(2)? & 0x03ff;
    let (tunnel, len, next) = match packet.byte(0)? >> 4 {
        1 => (Tunnel::Erspan2, 8, Header::Ethernet),
        2 => {
            let bits = packet.half(10)?;
            let len = if bits & PLATFORM_HEADER == 0 { 12 } else { 20 };
            let next = match bits >> 10 & 0x1f {
                0 => Header::Ethernet,
                IP_FRAME => Header::Ip,
                _ => return Err(SkipReason::OtherLink("ERSPAN of no Ethernet")),
            };
            (Tunnel::Erspan3, len, next)
        }
        _ => return Err(SkipReason::OtherLink("ERSPAN of another version")),
    };
    Ok(Step { session: Some(session), ..Step::tunnel(tunnel, next, packet.skip(len)?) })
}

/// Reads a UDP header and the tunnel of its destination port.
fn udp(packet: Cursor<'_>) -> Parsed<'_> {
    const NO_TUNNEL: SkipReason = SkipReason::NotTcp(17);
    let (port, len) = (packet.half(2)?, usize::from(packet.half(4)?));
    let data = packet.skip(8)?;
    let data = if len >= 8 { data.limit(len - 8) } else { data };
    let flags = |bits: u8| data.byte(0).map(|b| b & bits);
    match port {
        // The port of IANA, and of Linux before it.
        4789 | 8472 if flags(0x08)? != 0 => {
            Ok(Step::tunnel(Tunnel::Vxlan, Header::Ethernet, data.skip(8)?))
        }
        4790 if flags(0x0c)? == 0x0c => {
            let next = match data.byte(3)? {
                1 | 2 => Header::Ip,
                3 => Header::Ethernet,
                5 => Header::Mpls,
                _ => return Err(SkipReason::OtherLink("VXLAN-GPE, without IP or Ethernet")),
            };
            Ok(Step::tunnel(Tunnel::VxlanGpe, next, data.skip(8)?))
        }
        6081 if flags(0xc0)? == 0 => {
            let next = match data.half(2)? {
                TRANSPARENT_ETHERNET => Header::Ethernet,
                kind => Header::EtherType(kind),
            };
            let options = usize::from(data.byte(0)? & 0x3f) * 4;
            Ok(Step::tunnel(Tunnel::Geneve, next, data.skip(8 + options)?))
        }
        1701 => l2tp(data),
        6635 => Ok(Step::tunnel(Tunnel::MplsInIp, Header::Mpls, data)),
        // Version 1, type G-PDU.
        2152 if flags(0xf0)? == 0x30 && data.byte(1)? == 0xff => gtp(data),
        _ => Err(NO_TUNNEL),
    }
}

/// Reads the header of an L2TP data message (RFC 2661 §3.1).
fn l2tp(packet: Cursor<'_>) -> Parsed<'_> {
    const CONTROL: u16 = 0x8000;
    const LENGTH: u16 = 0x4000;
    const SEQUENCE: u16 = 0x0800;
    const OFFSET: u16 = 0x0200;
    let flags = packet.half(0)?;
    if flags & CONTROL != 0 || flags & 7 != 2 {
        return Err(SkipReason::NotTcp(17));
    }
    let len = |bit: u16, len: usize| if flags & bit == 0 { 0 } else { len };
    let mut rest = packet.skip(6 + len(LENGTH, 2) + len(SEQUENCE, 4))?;
    if flags & OFFSET != 0 {
        rest = rest.skip(2 + usize::from(rest.half(0)?))?;
    }
    Ok(Step::tunnel(Tunnel::L2tp, Header::Ppp, rest))
}

/// Reads a GTP-U header and its extension headers (3GPP TS 29.281 §5).
fn gtp(packet: Cursor<'_>) -> Parsed<'_> {
    let has = |bits: u8| packet.byte(0).map(|flags| flags & bits != 0);
    // Extension headers, sequence and N-PDU number share four bytes.
    let mut rest = packet.skip(if has(7)? { 12 } else { 8 })?;
    let mut extension = if has(4)? { packet.byte(11)? } else { 0 };
    while extension != 0 {
        let len = usize::from(rest.byte(0)?) * 4;
        extension = rest.byte(len.checked_sub(1).ok_or(SkipReason::Malformed)?)?;
        rest = rest.skip(len)?;
    }
    Ok(Step::tunnel(Tunnel::Gtp, Header::Ip, rest))
}

/// Returns the ECN field after decapsulation (RFC 6040 §4.2). CE outside of a packet without ECT
/// is kept outside: the end of the tunnel should drop that packet.
pub(super) fn decapsulated_ecn(outer: Ecn, inner: Ecn) -> Ecn {
    match (outer, inner) {
        (_, Ecn::NotEct | Ecn::Ce) => inner,
        (Ecn::Ce, _) => Ecn::Ce,
        (Ecn::Ect1, Ecn::Ect0) => Ecn::Ect1,
        _ => inner,
    }
}
