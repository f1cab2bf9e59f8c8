//! Ethernet frames and address resolution: ARP (RFC 826) and neighbour discovery (RFC 4861).
//!
//! Contract: parses and builds frames, without state. The formats are smoltcp's. Malformed frames
//! are ignored.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol,
    EthernetRepr, Icmpv6Packet, Icmpv6Repr, IpProtocol, Ipv6Packet, Ipv6Repr, NdiscNeighborFlags,
    NdiscRepr,
};

/// A MAC address.
pub(super) type Mac = [u8; 6];

/// Length of an Ethernet header.
pub(super) const HEADER: usize = 14;
/// The broadcast address.
pub(super) const BROADCAST: Mac = [0xff; 6];
/// Hop limit of neighbour discovery, so that off-link hosts cannot send any (RFC 4861 §7.1).
const HOP_LIMIT: u8 = 255;

/// A second MAC address for the interface with the address `first`. It is always the same, so that
/// neighbours may keep it in their caches while lowtide restarts.
///
/// The kernel discards frames to another address than the interface's as soon as it sees them. For
/// frames to its own address it looks up a route and allocates an error first.
pub(super) fn second_mac(first: Mac) -> Mac {
    // FNV-1a: neighbours on one link mostly differ in their last byte.
    let hash = first.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let [_, _, mut second @ ..] = hash.to_be_bytes();
    // Unicast, locally administered (IEEE 802).
    second[0] = second[0] & 0xfc | 0x02;
    second
}

/// Builds the Ethernet header of an IP packet.
pub(super) fn header(to: Mac, from: Mac, v6: bool) -> [u8; HEADER] {
    let ethertype = if v6 { EthernetProtocol::Ipv6 } else { EthernetProtocol::Ipv4 };
    let mut out = [0; HEADER];
    write_header(&mut out, to, from, ethertype);
    out
}

fn write_header(out: &mut [u8], to: Mac, from: Mac, ethertype: EthernetProtocol) {
    let (src_addr, dst_addr) = (EthernetAddress(from), EthernetAddress(to));
    let header = EthernetRepr { src_addr, dst_addr, ethertype };
    header.emit(&mut EthernetFrame::new_unchecked(out));
}

/// An address resolution message: ARP or neighbour discovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NeighbourMessage {
    /// Asks for the MAC address of `target`. `sender` has the addresses of who asks, if given.
    Solicitation { target: IpAddr, sender: Option<(IpAddr, Mac)> },
    /// Announces that `address` is at `mac`; `None` if the message has no link-layer address.
    /// `solicited`: it says that it answers a solicitation. `overrides`: the Override flag; ARP has
    /// none, but gratuitous ARP (sender and target are equal) is sent to replace addresses.
    Advertisement { address: IpAddr, mac: Option<Mac>, solicited: bool, overrides: Option<bool> },
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
    let Ok(frame) = EthernetFrame::new_checked(frame) else { return FrameKind::Other };
    let to_us = frame.dst_addr() == EthernetAddress(ours);
    if !to_us && frame.dst_addr().is_unicast() {
        return FrameKind::Other;
    }
    match frame.ethertype() {
        EthernetProtocol::Arp => {
            parse_arp(frame.payload(), to_us).map_or(FrameKind::Other, FrameKind::Neighbour)
        }
        EthernetProtocol::Ipv6 => match parse_neighbour_discovery(frame.payload()) {
            Some(message) => FrameKind::Neighbour(message),
            None if to_us => FrameKind::Ip,
            None => FrameKind::Other,
        },
        // RFC 1122 §3.3.6: link-layer broadcasts carry nothing for a connection.
        EthernetProtocol::Ipv4 if to_us => FrameKind::Ip,
        _ => FrameKind::Other,
    }
}

/// Parses an ARP packet; `to_us`: its frame was sent to our address alone.
fn parse_arp(bytes: &[u8], to_us: bool) -> Option<NeighbourMessage> {
    let packet = ArpPacket::new_checked(bytes).ok()?;
    let ArpRepr::EthernetIpv4 {
        operation,
        source_hardware_addr: EthernetAddress(mac),
        source_protocol_addr: address,
        target_protocol_addr: target,
        ..
    } = ArpRepr::parse(&packet).ok()?
    else {
        return None;
    };
    let sender = (!address.is_unspecified()).then_some((address.into(), mac));
    match operation {
        ArpOperation::Request => {
            Some(NeighbourMessage::Solicitation { target: target.into(), sender })
        }
        ArpOperation::Reply => sender.map(|(from, mac)| NeighbourMessage::Advertisement {
            address: from,
            mac: Some(mac),
            solicited: to_us,
            overrides: (address == target).then_some(true),
        }),
        ArpOperation::Unknown(_) => None,
    }
}

fn parse_neighbour_discovery(bytes: &[u8]) -> Option<NeighbourMessage> {
    let packet = Ipv6Packet::new_checked(bytes).ok()?;
    if packet.next_header() != IpProtocol::Icmpv6 || packet.hop_limit() != HOP_LIMIT {
        return None;
    }
    let (source, to) = (packet.src_addr(), packet.dst_addr());
    let message = Icmpv6Packet::new_checked(packet.payload()).ok()?;
    if message.msg_code() != 0 {
        return None;
    }
    let checksums = ChecksumCapabilities::default();
    match Icmpv6Repr::parse(&source, &to, &message, &checksums).ok()? {
        Icmpv6Repr::Ndisc(NdiscRepr::NeighborSolicit { target_addr, lladdr }) => {
            let mac = lladdr.filter(|_| !source.is_unspecified());
            let mac = mac.and_then(|mac| mac.as_bytes().first_chunk().copied());
            let sender = mac.map(|mac| (source.into(), mac));
            Some(NeighbourMessage::Solicitation { target: target_addr.into(), sender })
        }
        Icmpv6Repr::Ndisc(NdiscRepr::NeighborAdvert { flags, target_addr, lladdr }) => {
            let solicited = flags.contains(NdiscNeighborFlags::SOLICITED);
            // RFC 4861 §7.1.2: an answer is never multicast.
            if solicited && to.is_multicast() {
                return None;
            }
            let mac = match lladdr {
                None => None,
                Some(mac) => Some(*mac.as_bytes().first_chunk()?),
            };
            let overrides = Some(flags.contains(NdiscNeighborFlags::OVERRIDE));
            let address = target_addr.into();
            Some(NeighbourMessage::Advertisement { address, mac, solicited, overrides })
        }
        _ => None,
    }
}

/// Builds a request for the MAC address of `target`, from `ours` at `mac`: to the address `known`,
/// or else to all hosts.
pub(super) fn solicitation(
    target: IpAddr,
    ours: IpAddr,
    mac: Mac,
    known: Option<Mac>,
) -> Option<Vec<u8>> {
    match (target, ours) {
        (IpAddr::V4(target), IpAddr::V4(ours)) => {
            let to = known.unwrap_or(BROADCAST);
            Some(arp(ArpOperation::Request, (ours, mac), (target, to)))
        }
        (IpAddr::V6(target), IpAddr::V6(ours)) => {
            // The solicited-node multicast address (RFC 4291 §2.7.1).
            let group = 0xff02_0000_0000_0000_0000_0001_ff00_0000_u128;
            let group = Ipv6Addr::from_bits(group | (target.to_bits() & 0xff_ffff));
            let to = known.map_or((group, group_mac(group)), |known| (target, known));
            let lladdr = Some(EthernetAddress(mac).into());
            let message = NdiscRepr::NeighborSolicit { target_addr: target, lladdr };
            Some(neighbour_discovery(message, (ours, mac), to))
        }
        _ => None,
    }
}

/// Builds a reply that `ours` is at `mac`, to the sender of the request; broadcast if unknown.
pub(super) fn advertisement(
    ours: IpAddr,
    mac: Mac,
    sender: Option<(IpAddr, Mac)>,
) -> Option<Vec<u8>> {
    match (ours, sender) {
        (IpAddr::V4(ours), Some((IpAddr::V4(sender), at))) => {
            Some(arp(ArpOperation::Reply, (ours, mac), (sender, at)))
        }
        (IpAddr::V4(ours), None) => {
            Some(arp(ArpOperation::Reply, (ours, mac), (Ipv4Addr::UNSPECIFIED, BROADCAST)))
        }
        (IpAddr::V6(ours), Some((IpAddr::V6(sender), at))) => {
            Some(neighbour_advertisement(ours, mac, (sender, at), NdiscNeighborFlags::SOLICITED))
        }
        (IpAddr::V6(ours), None) => {
            let all = Ipv6Addr::from_segments([0xff02, 0, 0, 0, 0, 0, 0, 1]);
            let to = (all, group_mac(all));
            Some(neighbour_advertisement(ours, mac, to, NdiscNeighborFlags::empty()))
        }
        _ => None,
    }
}

/// The MAC address of an IPv6 multicast group (RFC 2464 §7).
fn group_mac(group: Ipv6Addr) -> Mac {
    let [.., a, b, c, d] = group.octets();
    [0x33, 0x33, a, b, c, d]
}

fn arp(operation: ArpOperation, from: (Ipv4Addr, Mac), to: (Ipv4Addr, Mac)) -> Vec<u8> {
    let asked = if operation == ArpOperation::Request { [0; 6] } else { to.1 };
    let message = ArpRepr::EthernetIpv4 {
        operation,
        source_hardware_addr: EthernetAddress(from.1),
        source_protocol_addr: from.0,
        target_hardware_addr: EthernetAddress(asked),
        target_protocol_addr: to.0,
    };
    let mut out = vec![0; HEADER + message.buffer_len()];
    write_header(&mut out, to.1, from.1, EthernetProtocol::Arp);
    message.emit(&mut ArpPacket::new_unchecked(&mut out[HEADER..]));
    out
}

fn neighbour_advertisement(
    ours: Ipv6Addr,
    mac: Mac,
    to: (Ipv6Addr, Mac),
    flags: NdiscNeighborFlags,
) -> Vec<u8> {
    let (flags, lladdr) = (flags | NdiscNeighborFlags::OVERRIDE, Some(EthernetAddress(mac).into()));
    let message = NdiscRepr::NeighborAdvert { flags, target_addr: ours, lladdr };
    neighbour_discovery(message, (ours, mac), to)
}

fn neighbour_discovery(
    message: NdiscRepr<'_>,
    from: (Ipv6Addr, Mac),
    to: (Ipv6Addr, Mac),
) -> Vec<u8> {
    let message = Icmpv6Repr::Ndisc(message);
    let header = Ipv6Repr {
        src_addr: from.0,
        dst_addr: to.0,
        next_header: IpProtocol::Icmpv6,
        payload_len: message.buffer_len(),
        hop_limit: HOP_LIMIT,
    };
    let mut out = vec![0; HEADER + header.buffer_len() + message.buffer_len()];
    write_header(&mut out, to.1, from.1, EthernetProtocol::Ipv6);
    let mut packet = Ipv6Packet::new_unchecked(&mut out[HEADER..]);
    header.emit(&mut packet);
    let mut payload = Icmpv6Packet::new_unchecked(packet.payload_mut());
    message.emit(&from.0, &to.0, &mut payload, &ChecksumCapabilities::default());
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: Mac = [2, 0, 0, 0, 0, 1];
    const B: Mac = [2, 0, 0, 0, 0, 2];

    #[test]
    fn second_addresses_are_local_unicast_and_distinct() {
        let mut seen = std::collections::BTreeSet::new();
        for n in 0..=u8::MAX {
            for first in [[2, 0, 0, 0, 0, n], [n, 0, 0, 0, 0, 1], [2, 1, n, 0, 0, 0]] {
                let second = second_mac(first);
                assert_eq!(second[0] & 3, 2, "{second:x?}");
                assert_ne!(second, first);
                seen.insert(second);
            }
        }
        // `[2, 0, 0, 0, 0, 1]` is in the first two groups.
        assert_eq!(seen.len(), 3 * 256 - 1);
        assert_eq!(second_mac(A), second_mac(A));
    }

    #[test]
    fn solicitations_and_advertisements_round_trip() {
        for (a, b) in [("10.0.0.1", "10.0.0.2"), ("fd77::1", "fd77::2")] {
            let (a, b): (IpAddr, IpAddr) = (a.parse().unwrap(), b.parse().unwrap());
            let request = solicitation(b, a, A, None).unwrap();
            let expected = NeighbourMessage::Solicitation { target: b, sender: Some((a, A)) };
            assert_eq!(parse(&request, B), FrameKind::Neighbour(expected));
            let unicast = solicitation(b, a, A, Some(B)).unwrap();
            assert_eq!(parse(&unicast, B), FrameKind::Neighbour(expected));
            assert_eq!((&unicast[..6], parse(&unicast, A)), (&B[..], FrameKind::Other));
            let overrides = b.is_ipv6().then_some(true);
            let announced = |solicited| {
                let message = NeighbourMessage::Advertisement {
                    address: b,
                    mac: Some(B),
                    solicited,
                    overrides,
                };
                FrameKind::Neighbour(message)
            };
            assert_eq!(parse(&advertisement(b, B, Some((a, A))).unwrap(), A), announced(true));
            assert_eq!(parse(&advertisement(b, B, None).unwrap(), A), announced(false), "to all");
            // Not for us: the destination is another host.
            assert_eq!(parse(&advertisement(b, B, Some((a, A))).unwrap(), B), FrameKind::Other);
            let mut broken = request;
            let last = broken.len() - 1;
            broken.truncate(last);
            assert_eq!(parse(&broken, B), FrameKind::Other);
        }
    }

    #[test]
    fn solicitations_have_the_bytes_of_their_standards() {
        let frame =
            |b: &str, a: &str| solicitation(b.parse().unwrap(), a.parse().unwrap(), A, None);
        let hex = |frame: Option<Vec<u8>>| format!("{:02x?}", frame.unwrap()).replace(", ", "");
        let arp = "[ffffffffffff020000000001080600010800060400010200000000010a000001000000000000\
                   0a000002]";
        assert_eq!(hex(frame("10.0.0.2", "10.0.0.1")), arp);
        let ndp = "[3333ff02000302000000000186dd6000000000203afffd770000000000000000000000000001\
                   ff0200000000000000000001ff02000387007ca200000000fd77000000000000000000010002\
                   00030101020000000001]";
        assert_eq!(hex(frame("fd77::1:2:3", "fd77::1")), ndp);
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
        fn arbitrary_frames_do_not_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..120),
            at in 0..4_usize,
        ) {
            let kinds = [0x0800, 0x86dd, 0x0806, 0x8100].map(EthernetProtocol::from);
            let mut frame = vec![0; HEADER];
            write_header(&mut frame, A, B, kinds[at]);
            frame.extend_from_slice(&bytes);
            let _ = parse(&frame, A);
            let _ = parse(&bytes, A);
        }

        #[test]
        fn arbitrary_icmpv6_messages_do_not_panic(
            (kind, code) in (1_u8..=200, 0..2_u8),
            body in proptest::collection::vec(any::<u8>(), 4..120),
            option in (0..6_u8, 0..8_u8),
        ) {
            // Half of the messages are of neighbour discovery, with an option of any length.
            let kind = if kind > 100 { 133 + kind % 5 } else { kind };
            let mut message = [&[kind, code, 0, 0], &body[..]].concat();
            if let Some(place) = message.get_mut(24..26) {
                place.copy_from_slice(&[option.0, option.1]);
            }
            let (a, b) = (Ipv6Addr::LOCALHOST, Ipv6Addr::from_bits(7));
            let (next_header, hop_limit) = (IpProtocol::Icmpv6, HOP_LIMIT);
            let payload_len = message.len();
            let header = Ipv6Repr { src_addr: a, dst_addr: b, next_header, payload_len, hop_limit };
            Icmpv6Packet::new_unchecked(&mut message[..]).fill_checksum(&a, &b);
            let mut frame = vec![0; HEADER + header.buffer_len()];
            write_header(&mut frame, A, B, EthernetProtocol::Ipv6);
            header.emit(&mut Ipv6Packet::new_unchecked(&mut frame[HEADER..]));
            frame.extend_from_slice(&message);
            let parsed = parse(&frame, A);
            prop_assert_eq!(matches!(parsed, FrameKind::Neighbour(_)), parsed != FrameKind::Ip);
        }
    }
}
