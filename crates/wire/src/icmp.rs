//! ICMP errors about TCP packets that this host sent (RFC 792, RFC 4443).
//!
//! Contract: only errors about TCP are read; everything else is [`None`]. Of the packet quoted in
//! an error only addresses, ports and sequence number are used. The caller compares them with the
//! packets actually sent (RFC 5927 §4.1).

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::checksum::Checksum;
use crate::{Addresses, SeqNum, extension, ipv4, ipv6, tcp};

/// Protocol number of ICMP for IPv4.
const ICMP_V4: u8 = 1;
/// The "next header" of ICMPv6.
const ICMP_V6: u8 = 58;

/// Kind of the error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IcmpKind {
    /// The packet was longer than the MTU of a link on the path.
    TooBig {
        /// The MTU of that link, IP header included; zero if the router does not report it.
        mtu: u32,
    },
    /// Port or protocol unreachable, or prohibited.
    HardError,
    /// Any other problem, which may be temporary (RFC 1122 §4.2.3.9: a soft error).
    SoftError,
}

/// An error about one TCP packet of this host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IcmpError {
    /// The host that sent the error.
    pub from: IpAddr,
    /// Source (this host) and destination of the quoted packet.
    pub addresses: Addresses,
    /// Source port of that packet.
    pub src_port: u16,
    /// Destination port of that packet.
    pub dst_port: u16,
    /// Sequence number of that packet.
    pub seq: SeqNum,
    /// Kind of the error.
    pub kind: IcmpKind,
}

/// Reads the ICMP error in the IP packet `bytes`; `None` if it is not one, or is not about TCP.
pub fn parse(bytes: &[u8]) -> Option<IcmpError> {
    if bytes.first()? >> 4 == 6 { parse_v6(bytes) } else { parse_v4(bytes) }
}

fn parse_v4(bytes: &[u8]) -> Option<IcmpError> {
    let (ip, range) = ipv4::parse(bytes).ok()?;
    let message = bytes.get(range).filter(|_| ip.protocol == ICMP_V4)?;
    if Checksum::new().with(message).finish() != 0 {
        return None;
    }
    let (head, quoted) = message.split_first_chunk::<8>()?;
    let kind = match (head[0], head[1]) {
        (3, 4) => IcmpKind::TooBig { mtu: u32::from(u16::from_be_bytes([head[6], head[7]])) },
        (3, 2 | 3 | 9 | 10 | 13) => IcmpKind::HardError,
        (3 | 11 | 12, _) => IcmpKind::SoftError,
        _ => return None,
    };
    let fixed = quoted.first_chunk::<{ ipv4::HEADER_LEN }>()?;
    if fixed[0] >> 4 != 4 || fixed[9] != tcp::PROTOCOL {
        return None;
    }
    let addresses = Addresses::V4 {
        src: Ipv4Addr::new(fixed[12], fixed[13], fixed[14], fixed[15]),
        dst: Ipv4Addr::new(fixed[16], fixed[17], fixed[18], fixed[19]),
    };
    let ends = (ip.src.into(), ip.dst.into());
    error(addresses, quoted.get(usize::from(fixed[0] & 0x0f) * 4..)?, kind, ends)
}

fn parse_v6(bytes: &[u8]) -> Option<IcmpError> {
    let (ip, range) = ipv6::parse(bytes).ok()?;
    let (protocol, range) = extension::walk(bytes, ip.next_header, range).ok()?;
    let message = bytes.get(range).filter(|_| protocol == ICMP_V6)?;
    let len = u32::try_from(message.len()).ok()?;
    let pseudo = Checksum::new().with(&ip.src.octets()).with(&ip.dst.octets());
    let pseudo = pseudo.with_u32(len).with_u32(u32::from(ICMP_V6));
    if pseudo.with(message).finish() != 0 {
        return None;
    }
    let (head, quoted) = message.split_first_chunk::<8>()?;
    let kind = match (head[0], head[1]) {
        (2, _) => {
            IcmpKind::TooBig { mtu: u32::from_be_bytes([head[4], head[5], head[6], head[7]]) }
        }
        (1, 1 | 4) => IcmpKind::HardError,
        (1 | 3 | 4, _) => IcmpKind::SoftError,
        _ => return None,
    };
    let (fixed, segment) = quoted.split_first_chunk::<{ ipv6::HEADER_LEN }>()?;
    if fixed[0] >> 4 != 6 || fixed[6] != tcp::PROTOCOL {
        return None;
    }
    let address = |bytes: &[u8]| bytes.first_chunk().map(|octets| Ipv6Addr::from_octets(*octets));
    let addresses = Addresses::V6 { src: address(&fixed[8..])?, dst: address(&fixed[24..])? };
    error(addresses, segment, kind, (ip.src.into(), ip.dst.into()))
}

/// The error about the segment that starts with `segment`, if the recipient of the error has sent
/// it.
fn error(
    addresses: Addresses,
    segment: &[u8],
    kind: IcmpKind,
    (from, to): (IpAddr, IpAddr),
) -> Option<IcmpError> {
    let start = segment.first_chunk::<8>()?;
    if addresses.src_dst().0 != to {
        return None;
    }
    Some(IcmpError {
        from,
        addresses,
        src_port: u16::from_be_bytes([start[0], start[1]]),
        dst_port: u16::from_be_bytes([start[2], start[3]]),
        seq: SeqNum::new(u32::from_be_bytes([start[4], start[5], start[6], start[7]])),
        kind,
    })
}
