//! Link headers before the IP header, and frames without TCP.

use core::net::Ipv6Addr;

use lowtide_analysis::capture::{LinkType, SkipReason};
use lowtide_wire::Addresses;

use crate::fixtures::{ADDRESSES, all, decoded, headers, pcap, segment};

const V6: Addresses = Addresses::V6 { src: Ipv6Addr::LOCALHOST, dst: Ipv6Addr::UNSPECIFIED };

#[test]
fn every_link_type_leads_to_the_same_segment() {
    let mac = [0_u8; 12];
    for addresses in [ADDRESSES, V6] {
        let (packet, len) = headers(&addresses, &segment(9, 500));
        let kind: &[u8] = if addresses == V6 { &[0x86, 0xdd] } else { &[0x08, 0x00] };
        let family = if addresses == V6 { 30_u8 } else { 2 };
        for (link, before) in [
            (0, vec![family, 0, 0, 0]),
            (108, vec![0, 0, 0, family]),
            (1, [&mac[..], kind].concat()),
            (1, [&mac[..], &[0x81, 0, 0, 7], kind].concat()),
            (1, [&mac[..], &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 8], kind].concat()),
            (1, [&mac[..], &[0x02, 0x40, 0xaa, 0xaa, 3, 0, 0, 0], kind].concat()),
            (1, [&mac[..], &[0x88, 0x47, 0, 1, 0, 64, 0, 1, 0x21, 64]].concat()),
            (9, vec![0xff, 3, 0, if addresses == V6 { 0x57 } else { 0x21 }]),
            (50, vec![if addresses == V6 { 0x57 } else { 0x21 }]),
            (51, vec![0x11, 0, 0, 1, 2, 28, 0, if addresses == V6 { 0x57 } else { 0x21 }]),
            (104, [&[0x0f, 0], kind].concat()),
            (12, vec![]),
            (101, vec![]),
            (113, [&[0; 14][..], kind].concat()),
            (276, [kind, &[0; 18][..]].concat()),
        ] {
            let frame = [&before[..], &packet].concat();
            let whole = len + before.len() as u32;
            let file = pcap(0xa1b2_c3d4, false, link, &[(0, 0, &frame, whole)]);
            let (frames, _) = all(&file);
            let seen = frames[0].2.unwrap_or_else(|e| panic!("link {link}: {e:?}"));
            assert_eq!((seen.addresses, seen.segment), (addresses, segment(9, 500)), "{link}");
            assert!(!seen.options_incomplete);
        }
    }
}

#[test]
fn padding_of_short_frames_is_no_payload() {
    let (mut packet, _) = headers(&ADDRESSES, &segment(9, 0));
    packet.extend([0; 6]);
    let frame = [&[0; 12][..], &[8, 0], &packet].concat();
    let file = pcap(0xa1b2_c3d4, false, 1, &[(0, 0, &frame, frame.len() as u32)]);
    assert_eq!(all(&file).0[0].2.expect("a segment").segment.payload_len, 0);
}

#[test]
fn frames_without_tcp_give_a_skip_reason() {
    let (tcp, len) = headers(&ADDRESSES, &segment(9, 500));
    let changed = |at: usize, value: u8| {
        let mut bytes = tcp.clone();
        bytes[at] = value;
        bytes
    };
    for (link, frame, why) in [
        (1, vec![0; 13], SkipReason::Truncated),
        (1, [&[0; 12][..], &[0x08, 0x06], &[0; 28]].concat(), SkipReason::NotIp(0x0806)),
        (101, changed(9, 1), SkipReason::NotTcp(1)),
        (101, changed(9, 17), SkipReason::NotTcp(17)),
        (101, changed(6, 0x20), SkipReason::Fragment),
        (101, changed(7, 1), SkipReason::Fragment),
        (101, changed(0, 0x95), SkipReason::OtherLink("neither IPv4 nor IPv6")),
        (101, changed(0, 0x41), SkipReason::Malformed),
        (101, changed(2, 0xff), SkipReason::Malformed),
        (101, changed(32, 0x10), SkipReason::Malformed),
        (101, tcp[..39].to_vec(), SkipReason::Truncated),
        (147, tcp.clone(), SkipReason::UnknownLinkType(147)),
    ] {
        let file = pcap(0xa1b2_c3d4, false, link, &[(0, 0, &frame, len)]);
        assert_eq!(all(&file).0[0].2, Err(why), "{link} {frame:?}");
    }
    assert_eq!(LinkType(147).name(), "link type 147 (private use)");
    assert_eq!(SkipReason::NotIp(0x0806).name(), "ARP");
    assert_eq!(SkipReason::NotTcp(17).name(), "UDP");
    assert_eq!(SkipReason::NotTcp(200).name(), "IP protocol 200");
    let wireless = SkipReason::UnknownLinkType(105).name();
    assert_eq!(wireless, "of a link type that is not read: link type 105 (IEEE 802.11)");
}

#[test]
fn checksum_and_segmentation_offload_are_tolerated() {
    let (mut packet, len) = headers(&ADDRESSES, &segment(9, 500));
    let parse = |bytes: &[u8], len| decoded(101, &[(bytes.to_vec(), len)])[0].map(|s| s.packet);
    packet[10..12].fill(0);
    packet[36..38].fill(0x5a);
    assert_eq!(parse(&packet, len).expect("no checksums").segment, segment(9, 500));
    // Segmentation offload of more than 64 kB: the length in the header is 0.
    packet[2..4].fill(0);
    assert_eq!(parse(&packet, 100_040).expect("to the end").segment.payload_len, 100_000);
    let (mut packet, _) = headers(&V6, &segment(9, 500));
    packet[4..6].fill(0);
    assert_eq!(parse(&packet, 90_060).expect("to the end").segment.payload_len, 90_000);
}

#[test]
fn ipv6_extension_headers_are_skipped() {
    let (plain, len) = headers(&V6, &segment(9, 500));
    let with = |kind: u8, extension: &[u8]| {
        let mut bytes = plain.clone();
        bytes[6] = kind;
        let payload = u16::from_be_bytes([bytes[4], bytes[5]]) + extension.len() as u16;
        bytes[4..6].copy_from_slice(&payload.to_be_bytes());
        bytes.splice(40..40, extension.iter().copied());
        decoded(101, &[(bytes, len + extension.len() as u32)])[0].map(|seen| seen.packet)
    };
    for (kind, extension) in [
        (0, [6, 0, 1, 4, 0, 0, 0, 0]),
        (60, [6, 0, 1, 4, 0, 0, 0, 0]),
        (43, [6, 0, 4, 0, 0, 0, 0, 0]),
        (44, [6, 0, 0, 0, 1, 2, 3, 4]),
    ] {
        let seen = with(kind, &extension).unwrap_or_else(|e| panic!("{kind}: {e:?}"));
        assert_eq!(seen.segment, segment(9, 500), "{kind}");
    }
    assert_eq!(with(44, &[6, 0, 0, 1, 1, 2, 3, 4]), Err(SkipReason::Fragment));
    assert_eq!(with(0, &[17, 0, 1, 4, 0, 0, 0, 0]), Err(SkipReason::NotTcp(17)));
}

#[test]
fn truncated_options_are_reported() {
    let mut syn = segment(9, 0);
    syn.options.mss = Some(1460);
    let (packet, len) = headers(&ADDRESSES, &syn);
    let parse = |bytes: &[u8]| decoded(101, &[(bytes.to_vec(), len)])[0].map(|seen| seen.packet);
    let cut = parse(&packet[..42]).expect("the fixed part is there");
    assert!(cut.options_incomplete && cut.segment.options.mss.is_none());
    assert!(!parse(&packet).expect("whole").options_incomplete);
}
