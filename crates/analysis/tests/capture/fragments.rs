//! Fragments of IPv4 and IPv6.

use core::net::Ipv6Addr;

use lowtide_analysis::capture::SkipReason;
use lowtide_wire::{Addresses, Ecn, Segment};

use crate::fixtures::{ADDRESSES, decoded, headers, segment};

const V6: Addresses = Addresses::V6 { src: Ipv6Addr::LOCALHOST, dst: Ipv6Addr::UNSPECIFIED };

/// A packet with its whole payload.
fn whole(addresses: &Addresses) -> Vec<u8> {
    let (mut packet, len) = headers(addresses, &segment(9, 500));
    packet.resize(len as usize, 0x5a);
    packet
}

/// The fragment with bytes `from..to` of the payload.
fn fragment(packet: &[u8], id: u8, from: usize, to: usize) -> (Vec<u8>, u32) {
    let v6 = packet[0] >> 4 == 6;
    let header_len = if v6 { 40 } else { 20 };
    let payload = &packet[header_len..];
    let more = to < payload.len();
    let mut out = packet[..header_len].to_vec();
    if v6 {
        let len = (to - from + 8) as u16;
        let position = (from as u16 | u16::from(more)).to_be_bytes();
        (out[4], out[5], out[6]) = (len.to_be_bytes()[0], len.to_be_bytes()[1], 44);
        out.extend([packet[6], 0, position[0], position[1], 0, 0, 0, id]);
    } else {
        let len = ((header_len + to - from) as u16).to_be_bytes();
        let position = ((from as u16 / 8) | if more { 0x2000 } else { 0 }).to_be_bytes();
        out[2..8].copy_from_slice(&[len[0], len[1], 0, id, position[0], position[1]]);
    }
    out.extend(&payload[from..to]);
    let len = out.len() as u32;
    (out, len)
}

fn segments(frames: &[(Vec<u8>, u32)]) -> Vec<Result<Segment, SkipReason>> {
    decoded(101, frames).into_iter().map(|seen| seen.map(|s| s.packet.segment)).collect()
}

#[test]
fn fragments_in_any_order_give_the_packet() {
    for addresses in [ADDRESSES, V6] {
        let packet = whole(&addresses);
        let parts = [(0, 8), (8, 200), (200, 520)];
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [1, 0, 2]] {
            let frames = order.map(|i| fragment(&packet, 7, parts[i].0, parts[i].1));
            let seen = segments(&frames);
            assert_eq!(seen[..2], [Err(SkipReason::Fragment); 2]);
            assert_eq!(seen[2], Ok(segment(9, 500)), "{order:?}");
            // A copy is ignored, and a packet is returned once.
            let [a, b, c] = frames;
            let seen = segments(&[a.clone(), a.clone(), b, c, a]);
            assert_eq!(seen.iter().filter(|s| s.is_ok()).count(), 1);
        }
    }
}

#[test]
fn a_mark_of_one_fragment_is_a_mark_of_the_packet() {
    let packet = whole(&ADDRESSES);
    let mut frames = [fragment(&packet, 7, 0, 200), fragment(&packet, 7, 200, 520)];
    frames[1].0[1] |= Ecn::Ce.bits();
    let seen = segments(&frames)[1].expect("whole");
    assert_eq!(seen.ecn, Ecn::Ce);
}

#[test]
fn fragments_captured_without_their_end_are_enough() {
    let packet = whole(&ADDRESSES);
    let frames = [(0, 200), (200, 520)].map(|(from, to)| {
        let (bytes, len) = fragment(&packet, 7, from, to);
        (bytes[..60].to_vec(), len)
    });
    assert_eq!(segments(&frames)[1], Ok(segment(9, 500)));
}

#[test]
fn overlapping_and_impossible_fragments_are_refused() {
    let refused = Err(SkipReason::OverlappingFragment);
    for addresses in [ADDRESSES, V6] {
        let packet = whole(&addresses);
        let part = |from, to| fragment(&packet, 7, from, to);
        let seen = segments(&[part(0, 200), part(192, 520), part(200, 520)]);
        assert_eq!(seen, [Err(SkipReason::Fragment), refused, refused], "also later ones");
        assert_eq!(segments(&[part(200, 520), part(0, 208)])[1], refused);
        assert_eq!(segments(&[part(0, 204)])[0], refused, "not a multiple of 8");
        let (mut beyond, len) = part(200, 520);
        let at = if addresses == V6 { 42 } else { 6 };
        beyond[at..at + 2].copy_from_slice(&[if at == 42 { 0xff } else { 0x1f }, 0xf8]);
        assert_eq!(segments(&[(beyond, len)])[0], refused, "beyond 65535 bytes");
    }
}

#[test]
fn incomplete_packets_are_bounded() {
    let packet = whole(&V6);
    let mut frames: Vec<_> = Vec::new();
    for i in 0..3000_u32 {
        let (mut bytes, len) = fragment(&packet, 0, 0, 200);
        bytes[44..48].copy_from_slice(&i.to_be_bytes());
        frames.push((bytes, len));
    }
    // The rest of the first packet comes too late, that of the last does not.
    for i in [0, 2999_u32] {
        let (mut bytes, len) = fragment(&packet, 0, 200, 520);
        bytes[44..48].copy_from_slice(&i.to_be_bytes());
        frames.push((bytes, len));
    }
    let seen = segments(&frames);
    assert_eq!(seen[3000..], [Err(SkipReason::Fragment), Ok(segment(9, 500))]);
}
