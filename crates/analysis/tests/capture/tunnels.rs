//! Tunnels and containers, and the ECN fields outside and inside of them.

use core::net::Ipv4Addr;

use lowtide_analysis::capture::{Mirror, SkipReason, Tunnel};
use lowtide_wire::{Addresses, Ecn};

use crate::fixtures::{ADDRESSES, decoded, headers, segment};

const MACS: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
const IP: [u8; 2] = [8, 0];

/// An IPv4 header with that protocol before `payload` of `len` bytes on the wire.
fn ipv4(protocol: u8, ecn: Ecn, payload: &[u8], len: u32) -> (Vec<u8>, u32) {
    let total = ((20 + len) as u16).to_be_bytes();
    let start = [0x45, ecn.bits(), total[0], total[1], 0, 9, 0, 0, 64, protocol, 0, 0];
    ([&start, &[192, 0, 2, 1, 192, 0, 2, 2][..], payload].concat(), 20 + len)
}

/// An IPv6 header with that protocol.
fn ipv6(protocol: u8, ecn: Ecn, payload: &[u8], len: u32) -> (Vec<u8>, u32) {
    let total = (len as u16).to_be_bytes();
    let start = [0x60, ecn.bits() << 4, 0, 0, total[0], total[1], protocol, 64];
    ([&start, &[0xfd; 32][..], payload].concat(), 40 + len)
}

fn udp(port: u16, header: &[u8], payload: &[u8], len: u32) -> (Vec<u8>, u32) {
    let len = len + header.len() as u32 + 8;
    let [a, b] = port.to_be_bytes();
    let [c, d] = (len as u16).to_be_bytes();
    ([&[0xc0, 1, a, b, c, d, 0, 0], header, payload].concat(), len)
}

/// The segment of every test: (packet, its length), and as an Ethernet frame.
fn inner() -> [(Vec<u8>, u32); 2] {
    let (packet, len) = headers(&ADDRESSES, &segment(9, 500));
    let frame = [&MACS[..], &IP, &packet].concat();
    [(packet, len), (frame, len + 14)]
}

/// A packet and its length on the wire, its link type (101 or 1), and the tunnels in it.
type Case = ((Vec<u8>, u32), u32, Vec<Tunnel>);

/// Every tunnel, with that field in the outer header.
fn cases(ecn: Ecn) -> Vec<Case> {
    let [(packet, len), (frame, frame_len)] = inner();
    let gre = |header: &[u8], payload: &[u8], len: u32| {
        ipv4(47, ecn, &[header, payload].concat(), len + header.len() as u32)
    };
    let in_udp = |port, header: &[u8], payload: &[u8], len| {
        let (bytes, len) = udp(port, header, payload, len);
        ipv4(17, ecn, &bytes, len)
    };
    let vxlan = [8, 0, 0, 0, 0, 0, 42, 0];
    let (all, ethernet) = (&[0xb0, 0, 8, 0][..], [0x65, 0x58]);
    let keyed = [all, &[0; 12]].concat();
    let geneve = [&[1, 0][..], &ethernet, &[0; 4], &[1, 2, 3, 0]].concat();
    let erspan3 = [&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 3, 0, 5], &[0; 7][..], &[1], &[0; 8]];
    let mut out = vec![
        (ipv4(4, ecn, &packet, len), 101, vec![Tunnel::Ipip]),
        (ipv6(4, ecn, &packet, len), 101, vec![Tunnel::FourInSix]),
        (gre(&[0, 0, 8, 0], &packet, len), 101, vec![Tunnel::Gre]),
        (gre(&keyed, &packet, len), 101, vec![Tunnel::Gre]),
        (gre(&[0, 0, 0x65, 0x58], &frame, frame_len), 101, vec![Tunnel::GreEthernet]),
        (gre(&[0, 0, 0x88, 0xbe], &frame, frame_len), 101, vec![Tunnel::Erspan1]),
        (
            gre(&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 3, 0, 5, 0, 0, 0, 0], &frame, frame_len),
            101,
            vec![Tunnel::Erspan2],
        ),
        (gre(&erspan3.concat(), &frame, frame_len), 101, vec![Tunnel::Erspan3]),
        (in_udp(4789, &vxlan, &frame, frame_len), 101, vec![Tunnel::Vxlan]),
        (in_udp(8472, &vxlan, &frame, frame_len), 101, vec![Tunnel::Vxlan]),
        (in_udp(4790, &[12, 0, 0, 1, 0, 0, 42, 0], &packet, len), 101, vec![Tunnel::VxlanGpe]),
        (in_udp(6081, &geneve, &frame, frame_len), 101, vec![Tunnel::Geneve]),
        (
            in_udp(
                1701,
                &[0x4a, 2, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 2, 7, 7, 0, 0x21],
                &packet,
                len,
            ),
            101,
            vec![Tunnel::L2tp],
        ),
        (
            in_udp(2152, &[0x34, 255, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0x85, 1, 0, 9, 0], &packet, len),
            101,
            vec![Tunnel::Gtp],
        ),
    ];
    // Ethernet over MPLS with and without a control word, and in a backbone.
    for (before, tunnel) in [
        (&[0x88, 0x47, 0, 1, 1, 64, 0, 0, 0, 7][..], Tunnel::PseudoWire),
        (&[0x88, 0x47, 0, 1, 1, 64], Tunnel::PseudoWire),
        (&[0x88, 0xe7, 0, 0, 0, 5], Tunnel::ProviderBackbone),
        (&[0x89, 0x03, 0, 0], Tunnel::FabricPath),
    ] {
        let bytes = [&MACS[..], before, &frame].concat();
        out.push(((bytes, frame_len + 12 + before.len() as u32), 1, vec![tunnel]));
    }
    let (outer, outer_len) = in_udp(4789, &vxlan, &frame, frame_len);
    let mirrored = [&MACS[..], &[0x81, 0, 0, 44], &IP, &outer].concat();
    let header = [0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 3, 0, 5, 0, 0, 0, 0];
    out.push((gre(&header, &mirrored, outer_len + 18), 101, vec![Tunnel::Erspan2, Tunnel::Vxlan]));
    out
}

#[test]
fn every_tunnel_leads_to_the_same_segment() {
    for ((packet, len), link, tunnels) in cases(Ecn::Ect0) {
        let seen = decoded(link, &[(packet, len)])[0];
        let seen = seen.unwrap_or_else(|e| panic!("{tunnels:?}: {e:?}"));
        assert_eq!((seen.packet.addresses, seen.packet.segment), (ADDRESSES, segment(9, 500)));
        assert_eq!(seen.tunnels.into_iter().flatten().collect::<Vec<_>>(), tunnels);
    }
}

#[test]
fn a_cut_tunnel_is_truncated_and_never_something_else() {
    for ((packet, len), link, tunnels) in cases(Ecn::Ect0) {
        let tcp = packet.len() - 20;
        for cut in 1..packet.len() {
            let seen = decoded(link, &[(packet[..cut].to_vec(), len)])[0];
            match seen {
                Ok(seen) => assert!(cut >= tcp && seen.packet.segment.payload_len == 500),
                Err(why) => assert_eq!(why, SkipReason::Truncated, "{tunnels:?} cut at {cut}"),
            }
        }
    }
}

#[test]
fn ecn_is_combined_as_the_end_of_a_tunnel_does() {
    // Outer, inner and result by RFC 6040 figure 4; CE over Not-ECT would be dropped.
    let (not, one, zero, ce) = (Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce);
    for (inner, results) in [
        (not, [not, not, not, not]),
        (zero, [zero, zero, one, ce]),
        (one, [one, one, one, ce]),
        (ce, [ce, ce, ce, ce]),
    ] {
        for (outer, result) in [not, zero, one, ce].into_iter().zip(results) {
            let segment = lowtide_wire::Segment { ecn: inner, ..segment(9, 500) };
            let (packet, len) = headers(&ADDRESSES, &segment);
            let seen = decoded(101, &[ipv4(4, outer, &packet, len)])[0].expect("TCP");
            assert_eq!(seen.packet.segment.ecn, result, "{outer:?} {inner:?}");
            assert_eq!(seen.tunnel_ecn, Some((outer, inner)));
        }
    }
}

#[test]
fn a_mirror_is_a_capture_point_and_adds_no_marks() {
    for ((packet, len), link, tunnels) in cases(Ecn::Ce) {
        let seen = decoded(link, &[(packet, len)])[0].expect("TCP");
        let mirror = matches!(tunnels[0], Tunnel::Erspan2 | Tunnel::Erspan3);
        let source = Ipv4Addr::new(192, 0, 2, 1).into();
        let expected = mirror.then_some(Mirror { source, session: 5 });
        if tunnels != [Tunnel::Erspan1] {
            assert_eq!(seen.point.mirror, expected, "{tunnels:?}");
        }
        if seen.point.mirror.is_some() {
            let (vlan, ecn) = if tunnels.len() > 1 {
                (Some(44), Some((Ecn::Ce, Ecn::Ect0)))
            } else {
                (None, None)
            };
            assert_eq!((seen.point.vlan, seen.tunnel_ecn), (vlan, ecn), "{tunnels:?}");
        }
    }
}

#[test]
fn nesting_is_bounded() {
    let [(mut packet, mut len), _] = inner();
    for depth in 1..=8 {
        (packet, len) = ipv4(4, Ecn::Ect0, &packet, len);
        let seen = decoded(101, &[(packet.clone(), len)])[0];
        let expected = if depth <= 6 { Ok(segment(9, 500)) } else { Err(SkipReason::TooDeep) };
        assert_eq!(seen.map(|s| s.packet.segment), expected, "{depth}");
    }
    let tags = [&MACS[..], &[0x81, 0, 0, 7].repeat(40)].concat();
    assert_eq!(decoded(1, &[(tags, 172)])[0], Err(SkipReason::TooDeep));
}

#[test]
fn protocols_without_tcp_have_their_names() {
    let [(packet, len), _] = inner();
    let (bytes, all) = udp(53, &[], &packet, len);
    let (v6, v6_len) = headers(
        &Addresses::V6 { src: [0xfd; 16].into(), dst: [0xfe; 16].into() },
        &segment(9, 500),
    );
    for ((packet, len), name) in [
        (ipv4(17, Ecn::Ect0, &bytes, all), "UDP"),
        (ipv4(50, Ecn::Ect0, &packet, len), "ESP, encrypted"),
        (ipv4(47, Ecn::Ect0, &[0; 20], 20), "GRE keep-alive"),
        (ipv4(47, Ecn::Ect0, &[0, 0, 0x88, 0xcc, 0, 0], 6), "LLDP"),
        (ipv4(41, Ecn::Ect0, &v6, v6_len), ""),
    ] {
        let seen = decoded(101, &[(packet, len)])[0];
        assert_eq!(seen.err().map(SkipReason::name).unwrap_or_default(), name);
    }
}
