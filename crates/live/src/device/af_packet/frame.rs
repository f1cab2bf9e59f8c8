//! Ethernet frames and address resolution: ARP (RFC 826) and neighbour discovery (RFC 4861).
//!
//! Contract: parses and builds frames, without state. Malformed frames are ignored.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use lowtide_wire::checksum::Checksum;

/// A MAC address.
pub(super) type Mac = [u8; 6];

/// Length of an Ethernet header.
pub(super) const HEADER: usize = 14;
/// The broadcast address.
pub(super) const BROADCAST: Mac = [0xff; 6];

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const ARP: u16 = 0x0806;
/// Length of an ARP packet for IPv4 over Ethernet.
const ARP_LEN: usize = 28;
/// Its constant first fields.
const ARP_HEAD: [u8; 6] = [0, 1, 8, 0, 6, 4];
const ARP_REQUEST: u8 = 1;
const ARP_REPLY: u8 = 2;
const ICMP_V6: u8 = 58;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
const SOURCE_ADDRESS: u8 = 1;
const TARGET_ADDRESS: u8 = 2;

/// Builds the Ethernet header of an IP packet.
pub(super) fn header(to: Mac, from: Mac, v6: bool) -> [u8; HEADER] {
    ethernet_header(to, from, if v6 { IPV6 } else { IPV4 })
}

fn ethernet_header(to: Mac, from: Mac, kind: u16) -> [u8; HEADER] {
    let mut out = [0; HEADER];
    out[..6].copy_from_slice(&to);
    out[6..12].copy_from_slice(&from);
    out[12..].copy_from_slice(&kind.to_be_bytes());
    out
}

/// An address resolution message: ARP or neighbour discovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NeighbourMessage {
    /// Asks for the MAC address of `target`. `asker` is the sender's address, if given.
    Solicitation { target: IpAddr, asker: Option<(IpAddr, Mac)> },
    /// Announces that `address` is at `mac`.
    Advertisement { address: IpAddr, mac: Mac },
}

/// Classification of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FrameKind {
    /// An IP packet, which begins after the header.
    Ip,
    /// An address resolution message.
    Neighbour(NeighbourMessage),
    /// Not for us.
    Other,
}

/// Classifies `frame` for a host with the MAC address `ours`.
pub(super) fn parse(frame: &[u8], ours: Mac) -> FrameKind {
    let Some((head, rest)) = frame.split_first_chunk::<HEADER>() else { return FrameKind::Other };
    let to_us = head[..6] == ours;
    // The lowest bit of the first byte marks a group address.
    if !to_us && head[0] & 1 == 0 {
        return FrameKind::Other;
    }
    match u16::from_be_bytes([head[12], head[13]]) {
        ARP => parse_arp(rest).map_or(FrameKind::Other, FrameKind::Neighbour),
        IPV6 => match parse_neighbour_discovery(rest) {
            Some(message) => FrameKind::Neighbour(message),
            None if to_us => FrameKind::Ip,
            None => FrameKind::Other,
        },
        // RFC 1122 §3.3.6: link-layer broadcasts carry nothing for a connection.
        IPV4 if to_us => FrameKind::Ip,
        _ => FrameKind::Other,
    }
}

fn parse_arp(bytes: &[u8]) -> Option<NeighbourMessage> {
    let fixed = bytes.first_chunk::<ARP_LEN>()?;
    if fixed[..6] != ARP_HEAD || fixed[6] != 0 {
        return None;
    }
    let mac: Mac = *fixed[8..].first_chunk()?;
    let sender = Ipv4Addr::from_octets(*fixed[14..].first_chunk()?);
    let target = Ipv4Addr::from_octets(*fixed[24..].first_chunk()?);
    let asker = (!sender.is_unspecified()).then_some((sender.into(), mac));
    match fixed[7] {
        ARP_REQUEST => Some(NeighbourMessage::Solicitation { target: target.into(), asker }),
        ARP_REPLY => asker.map(|(address, mac)| NeighbourMessage::Advertisement { address, mac }),
        _ => None,
    }
}

/// Builds a request for the MAC address of `target`, from `ours` at `mac`.
pub(super) fn solicitation(target: IpAddr, ours: IpAddr, mac: Mac) -> Option<Vec<u8>> {
    match (target, ours) {
        (IpAddr::V4(target), IpAddr::V4(ours)) => {
            Some(arp(ARP_REQUEST, (ours, mac), (target, BROADCAST)))
        }
        (IpAddr::V6(target), IpAddr::V6(ours)) => {
            // The solicited-node multicast address (RFC 4291 §2.7.1).
            let [.., a, b, c] = target.octets();
            let group = 0xff02_0000_0000_0000_0000_0001_ff00_0000_u128;
            let group = Ipv6Addr::from_bits(group | u128::from(u32::from_be_bytes([0, a, b, c])));
            let to = (group, [0x33, 0x33, 0xff, a, b, c]);
            Some(neighbour_discovery(SOLICITATION, (ours, mac), to, target))
        }
        _ => None,
    }
}

/// Builds a reply that `ours` is at `mac`, to the asker; broadcast if the asker is unknown.
pub(super) fn advertisement(
    ours: IpAddr,
    mac: Mac,
    asker: Option<(IpAddr, Mac)>,
) -> Option<Vec<u8>> {
    match (ours, asker) {
        (IpAddr::V4(ours), Some((IpAddr::V4(asker), at))) => {
            Some(arp(ARP_REPLY, (ours, mac), (asker, at)))
        }
        (IpAddr::V4(ours), None) => {
            Some(arp(ARP_REPLY, (ours, mac), (Ipv4Addr::UNSPECIFIED, BROADCAST)))
        }
        (IpAddr::V6(ours), Some((IpAddr::V6(asker), at))) => {
            Some(neighbour_discovery(ADVERTISEMENT, (ours, mac), (asker, at), ours))
        }
        (IpAddr::V6(ours), None) => {
            let all =
                (Ipv6Addr::from_segments([0xff02, 0, 0, 0, 0, 0, 0, 1]), [0x33, 0x33, 0, 0, 0, 1]);
            Some(neighbour_discovery(ADVERTISEMENT, (ours, mac), all, ours))
        }
        _ => None,
    }
}

fn arp(operation: u8, from: (Ipv4Addr, Mac), to: (Ipv4Addr, Mac)) -> Vec<u8> {
    let mut out = ethernet_header(to.1, from.1, ARP).to_vec();
    out.extend_from_slice(&ARP_HEAD);
    out.extend_from_slice(&[0, operation]);
    out.extend_from_slice(&from.1);
    out.extend_from_slice(&from.0.octets());
    out.extend_from_slice(if operation == ARP_REQUEST { &[0; 6] } else { &to.1 });
    out.extend_from_slice(&to.0.octets());
    out
}

/// Checksum of an ICMPv6 message with its pseudo header (RFC 8200 §8.1).
fn icmpv6_checksum(source: Ipv6Addr, to: Ipv6Addr, message: &[u8]) -> Checksum {
    let sum = Checksum::new().with(&source.octets()).with(&to.octets());
    sum.with_u32(message.len() as u32).with_u32(u32::from(ICMP_V6)).with(message)
}

fn neighbour_discovery(
    kind: u8,
    from: (Ipv6Addr, Mac),
    to: (Ipv6Addr, Mac),
    target: Ipv6Addr,
) -> Vec<u8> {
    let mut message = vec![kind, 0, 0, 0];
    // Advertisement flags: Override, and Solicited if it is unicast (RFC 4861 §4.4).
    let flags = match kind {
        ADVERTISEMENT if to.0.is_multicast() => 0x20,
        ADVERTISEMENT => 0x60,
        _ => 0,
    };
    message.extend_from_slice(&[flags, 0, 0, 0]);
    message.extend_from_slice(&target.octets());
    let option = if kind == ADVERTISEMENT { TARGET_ADDRESS } else { SOURCE_ADDRESS };
    message.extend_from_slice(&[option, 1]);
    message.extend_from_slice(&from.1);
    let checksum = icmpv6_checksum(from.0, to.0, &message).finish();
    message[2..4].copy_from_slice(&checksum.to_be_bytes());

    let mut out = ethernet_header(to.1, from.1, IPV6).to_vec();
    let len = (message.len() as u16).to_be_bytes();
    // RFC 4861 §7.1: hop limit 255, so that off-link hosts cannot send one.
    out.extend_from_slice(&[0x60, 0, 0, 0, len[0], len[1], ICMP_V6, 255]);
    out.extend_from_slice(&from.0.octets());
    out.extend_from_slice(&to.0.octets());
    out.extend_from_slice(&message);
    out
}

fn parse_neighbour_discovery(packet: &[u8]) -> Option<NeighbourMessage> {
    let (head, rest) = packet.split_first_chunk::<40>()?;
    if head[6] != ICMP_V6 || head[7] != 255 {
        return None;
    }
    let message = rest.get(..usize::from(u16::from_be_bytes([head[4], head[5]])))?;
    let (fixed, mut options) = message.split_first_chunk::<24>()?;
    if !matches!(fixed[0], SOLICITATION | ADVERTISEMENT) || fixed[1] != 0 {
        return None;
    }
    let source = Ipv6Addr::from_octets(*head[8..].first_chunk()?);
    let to = Ipv6Addr::from_octets(*head[24..].first_chunk()?);
    if icmpv6_checksum(source, to, message).finish() != 0 {
        return None;
    }
    let target = Ipv6Addr::from_octets(*fixed[8..].first_chunk()?);
    let wanted = if fixed[0] == SOLICITATION { SOURCE_ADDRESS } else { TARGET_ADDRESS };
    let mut mac = None;
    while let Some((&[kind, eights], _)) = options.split_first_chunk::<2>() {
        let option = options.get(..usize::from(eights) * 8).filter(|o| !o.is_empty())?;
        if kind == wanted {
            mac = option.get(2..8).and_then(|bytes| bytes.first_chunk().copied());
        }
        options = &options[option.len()..];
    }
    if fixed[0] == SOLICITATION {
        let asker = mac.filter(|_| !source.is_unspecified()).map(|mac| (source.into(), mac));
        return Some(NeighbourMessage::Solicitation { target: target.into(), asker });
    }
    mac.map(|mac| NeighbourMessage::Advertisement { address: target.into(), mac })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: Mac = [2, 0, 0, 0, 0, 1];
    const B: Mac = [2, 0, 0, 0, 0, 2];

    #[test]
    fn solicitations_and_advertisements_round_trip() {
        for (a, b) in [("10.0.0.1", "10.0.0.2"), ("fd77::1", "fd77::2")] {
            let (a, b): (IpAddr, IpAddr) = (a.parse().unwrap(), b.parse().unwrap());
            let request = solicitation(b, a, A).unwrap();
            let expected = NeighbourMessage::Solicitation { target: b, asker: Some((a, A)) };
            assert_eq!(parse(&request, B), FrameKind::Neighbour(expected));
            let expected =
                FrameKind::Neighbour(NeighbourMessage::Advertisement { address: b, mac: B });
            assert_eq!(parse(&advertisement(b, B, Some((a, A))).unwrap(), A), expected);
            assert_eq!(parse(&advertisement(b, B, None).unwrap(), A), expected, "broadcast");
            // Not for us: the destination is another host.
            assert_eq!(parse(&advertisement(b, B, Some((a, A))).unwrap(), B), FrameKind::Other);
            let mut broken = request;
            let last = broken.len() - 1;
            broken.truncate(last);
            assert_eq!(parse(&broken, B), FrameKind::Other);
        }
    }

    #[test]
    fn packets_are_accepted_only_at_our_mac_address() {
        for v6 in [false, true] {
            let frame = |to| [&header(to, B, v6)[..], &[0x45; 40]].concat();
            assert_eq!(parse(&frame(A), A), FrameKind::Ip);
            assert_eq!(parse(&frame(B), A), FrameKind::Other);
            assert_eq!(parse(&frame(BROADCAST), A), FrameKind::Other);
        }
    }

    proptest! {
        #[test]
        fn arbitrary_frames_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..120), at in 0..4_usize) {
            let kinds = [IPV4, IPV6, ARP, 0x8100];
            let mut frame = ethernet_header(A, B, kinds[at]).to_vec();
            frame.extend_from_slice(&bytes);
            let _ = parse(&frame, A);
            let _ = parse(&bytes, A);
        }
    }
}
