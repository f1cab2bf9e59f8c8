//! ICMP errors as routers send them, and messages that are not errors about TCP.

use std::net::{Ipv4Addr, Ipv6Addr};

use etherparse::{Icmpv4Type, Icmpv6Type, PacketBuilder, icmpv4, icmpv6};
use lowtide_wire::icmp::{IcmpError, IcmpKind, parse};
use lowtide_wire::{Addresses, Flags, Segment, SeqNum, packet};
use proptest::prelude::*;

const V4: Addresses =
    Addresses::V4 { src: Ipv4Addr::new(10, 0, 0, 1), dst: Ipv4Addr::new(10, 0, 0, 2) };
const V6: Addresses = Addresses::V6 {
    src: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1),
    dst: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2),
};

/// A packet of ours, as quoted by routers.
fn quoted(addresses: &Addresses, len: usize) -> Vec<u8> {
    let segment = Segment {
        src_port: 1000,
        dst_port: 2000,
        seq: SeqNum::new(77),
        flags: Flags::ACK,
        payload_len: 1400,
        ..Segment::default()
    };
    let mut bytes = vec![0; 2000];
    packet::emit(addresses, &segment, &[7; 1400], &mut bytes).expect("it fits");
    bytes.truncate(len);
    bytes
}

fn v4(kind: Icmpv4Type, quoted: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    PacketBuilder::ipv4([10, 0, 0, 9], [10, 0, 0, 1], 64)
        .icmpv4(kind)
        .write(&mut out, quoted)
        .expect("it fits");
    out
}

fn v6(kind: Icmpv6Type, quoted: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let Addresses::V6 { src, dst } = V6 else { unreachable!() };
    PacketBuilder::ipv6(dst.octets(), src.octets(), 64)
        .icmpv6(kind)
        .write(&mut out, quoted)
        .expect("it fits");
    out
}

fn expected(addresses: Addresses, kind: IcmpKind) -> IcmpError {
    // A router on the path for IPv4, the far end for IPv6: see `v4` and `v6`.
    let from = match addresses {
        Addresses::V4 { .. } => Ipv4Addr::new(10, 0, 0, 9).into(),
        Addresses::V6 { dst, .. } => dst.into(),
    };
    IcmpError { from, addresses, src_port: 1000, dst_port: 2000, seq: SeqNum::new(77), kind }
}

#[test]
fn a_packet_that_was_too_big_is_named_with_the_mtu() {
    let header = icmpv4::DestUnreachableHeader::FragmentationNeeded { next_hop_mtu: 1280 };
    let bytes = v4(Icmpv4Type::DestinationUnreachable(header), &quoted(&V4, 28));
    assert_eq!(parse(&bytes), Some(expected(V4, IcmpKind::TooBig { mtu: 1280 })));
    let bytes = v6(Icmpv6Type::PacketTooBig { mtu: 1300 }, &quoted(&V6, 600));
    assert_eq!(parse(&bytes), Some(expected(V6, IcmpKind::TooBig { mtu: 1300 })));
}

#[test]
fn hard_and_soft_errors_are_distinguished() {
    let port = Icmpv4Type::DestinationUnreachable(icmpv4::DestUnreachableHeader::Port);
    assert_eq!(parse(&v4(port, &quoted(&V4, 28))), Some(expected(V4, IcmpKind::HardError)));
    let host = Icmpv4Type::DestinationUnreachable(icmpv4::DestUnreachableHeader::Host);
    assert_eq!(parse(&v4(host, &quoted(&V4, 28))), Some(expected(V4, IcmpKind::SoftError)));
    let port = Icmpv6Type::DestinationUnreachable(icmpv6::DestUnreachableCode::Port);
    assert_eq!(parse(&v6(port, &quoted(&V6, 60))), Some(expected(V6, IcmpKind::HardError)));
    let route = Icmpv6Type::DestinationUnreachable(icmpv6::DestUnreachableCode::NoRoute);
    assert_eq!(parse(&v6(route, &quoted(&V6, 60))), Some(expected(V6, IcmpKind::SoftError)));
}

#[test]
fn other_icmp_messages_give_none() {
    let port = || Icmpv4Type::DestinationUnreachable(icmpv4::DestUnreachableHeader::Port);
    assert_eq!(parse(&v4(port(), &quoted(&V4, 27))), None, "cut short");
    let other = Addresses::V4 { src: [10, 0, 0, 3].into(), dst: [10, 0, 0, 2].into() };
    assert_eq!(parse(&v4(port(), &quoted(&other, 28))), None, "another host's");
    let mut broken = v4(port(), &quoted(&V4, 28));
    broken[22] ^= 1;
    assert_eq!(parse(&broken), None, "its checksum is wrong");
    let echo = Icmpv4Type::EchoRequest(etherparse::IcmpEchoHeader { id: 1, seq: 1 });
    assert_eq!(parse(&v4(echo, b"hello")), None);
    assert_eq!(parse(&quoted(&V4, 1440)), None, "TCP");
    assert_eq!(parse(&[]), None);
}

proptest! {
    #[test]
    fn arbitrary_input_never_panics(
        mut bytes in prop::collection::vec(any::<u8>(), 0..120),
        six in any::<bool>(),
    ) {
        if let Some(first) = bytes.first_mut() {
            *first = if six { 0x60 } else { 0x45 };
        }
        let _ = parse(&bytes);
    }
}
