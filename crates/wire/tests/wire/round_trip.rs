//! Written packets read back unchanged, and reading verifies checksums.

use lowtide_wire::checksum::Checksum;
use lowtide_wire::{
    Addresses, Ecn, HeaderKind, Options, SackBlocks, Segment, SeqNum, WireError, options, packet,
    tcp,
};
use proptest::prelude::*;

use crate::strategy;

fn ip_len(addresses: &Addresses) -> usize {
    match addresses {
        Addresses::V4 { .. } => 20,
        Addresses::V6 { .. } => 40,
    }
}

proptest! {
    #[test]
    fn packets(addresses in strategy::addresses(), (segment, payload) in strategy::segment(), padding in 0_usize..20) {
        let mut out = [0xaa; 500];
        let len = packet::emit(&addresses, &segment, &payload, &mut out).unwrap();
        prop_assert_eq!(len, ip_len(&addresses) + segment.header_len() + payload.len());
        if matches!(addresses, Addresses::V4 { .. }) {
            prop_assert_eq!(len as u32, segment.ipv4_len());
        }
        // Ethernet pads short frames: bytes after the packet are not payload.
        let (from, read, range) = packet::parse(&out[..len + padding]).unwrap();
        prop_assert_eq!(from, addresses);
        prop_assert_eq!(read, segment);
        prop_assert_eq!(&out[range], &payload[..]);
        prop_assert!(out[len..].iter().all(|byte| *byte == 0xaa), "wrote behind the packet");
    }

    #[test]
    fn a_partial_checksum_packet_differs_only_in_its_checksum(
        addresses in strategy::addresses(),
        (segment, payload) in strategy::segment(),
        at: prop::sample::Index,
    ) {
        let (mut whole, mut out) = ([0; 500], [0xaa; 500]);
        let len = packet::emit(&addresses, &segment, &payload, &mut whole).unwrap();
        let pieces = payload.split_at(at.index(payload.len() + 1));
        prop_assert_eq!(packet::emit_partial_checksum(&addresses, &segment, pieces, &mut out), Ok(len));
        let (from, read, range) = packet::parse_without_checksum(&out[..len]).unwrap();
        prop_assert_eq!((from, read, &out[range]), (addresses, segment, &payload[..]));
        // The sum of everything after the IP header, with the partial one in its field, is the
        // checksum (RFC 1071).
        let tcp = ip_len(&addresses);
        let sum = Checksum::new().with(&out[tcp..len]).finish();
        out[tcp + 16..tcp + 18].copy_from_slice(&sum.to_be_bytes());
        prop_assert!(out[..len] == whole[..len]);
        prop_assert!(out[len..].iter().all(|byte| *byte == 0xaa), "wrote behind the packet");
        let short = packet::emit_partial_checksum(&addresses, &segment, pieces, &mut out[..len - 1]);
        prop_assert_eq!(short, Err(WireError::BufferTooSmall { need: len, have: len - 1 }));
    }

    #[test]
    fn options_fill_exactly_their_stated_length(set in strategy::options()) {
        let mut out = [0xaa; options::MAX_LEN];
        let len = set.emit(&mut out).unwrap();
        prop_assert_eq!(len, set.wire_len());
        prop_assert_eq!(len % 4, 0);
        prop_assert!(out[len..].iter().all(|byte| *byte == 0xaa));
        prop_assert_eq!(Options::parse(&out[..len]), Ok(set));
    }

    #[test]
    fn room_for_sack_is_exact(mut set in strategy::options()) {
        let room = set.room_for_sack();
        let mut out = [0; options::MAX_LEN];
        set.sack = SackBlocks::EMPTY;
        for n in 1..=SackBlocks::MAX {
            prop_assert!(set.sack.push(SeqNum::new(0), SeqNum::new(1)));
            prop_assert_eq!(set.room_for_sack(), room);
            prop_assert_eq!(set.emit(&mut out).is_ok(), n <= room, "{} blocks", n);
        }
        prop_assert!(!set.sack.push(SeqNum::new(0), SeqNum::new(1)));
    }

    #[test]
    fn headers_alone_are_those_of_zeros(addresses in strategy::addresses(), (segment, payload) in strategy::segment()) {
        let (mut whole, mut head) = ([0; 500], [0; packet::MAX_HEADERS_LEN]);
        let zeros = vec![0; payload.len()];
        let len = packet::emit(&addresses, &segment, &zeros, &mut whole).unwrap();
        let head_len = packet::emit_headers(&addresses, &segment, &mut head).unwrap();
        prop_assert_eq!(head_len, len - payload.len());
        prop_assert_eq!(&whole[..head_len], &head[..head_len]);
    }

    /// One's complement sums miss swapped words, but never a single flipped bit.
    #[test]
    fn a_flipped_bit_never_passes_for_the_segment_that_was_sent(
        addresses in strategy::addresses(),
        (segment, payload) in strategy::segment(),
        at: prop::sample::Index,
        bit in 0_u32..8,
    ) {
        let mut out = [0; 500];
        let len = packet::emit(&addresses, &segment, &payload, &mut out).unwrap();
        let at = at.index(len);
        out[at] ^= 1 << bit;
        let read = packet::parse(&out[..len]);
        if matches!(addresses, Addresses::V4 { .. }) || at >= 40 {
            prop_assert!(read.is_err(), "byte {} of {}", at, len);
        } else if !(4..6).contains(&at) && let Ok((from, read, _)) = read {
            // IPv6 has no header checksum. The pseudo header covers addresses and protocol; a wrong
            // length changes more than one bit of the sum and may pass by chance.
            prop_assert_eq!(from, addresses);
            prop_assert_eq!(tcp_part(read), tcp_part(segment));
        }
    }

    #[test]
    fn a_segment_for_other_addresses_is_refused(
        addresses in strategy::addresses(),
        (segment, payload) in strategy::segment(),
    ) {
        let mut out = [0; 500];
        let len = tcp::emit(&segment, &payload, &addresses, &mut out).unwrap();
        let (read, range) = tcp::parse(&out[..len], &addresses).unwrap();
        prop_assert_eq!(tcp_part(read), tcp_part(segment));
        prop_assert_eq!(&out[range], &payload[..]);
        let other = match addresses {
            Addresses::V4 { src, dst } => Addresses::V4 { src: (src.to_bits() ^ 1).into(), dst },
            Addresses::V6 { src, dst } => Addresses::V6 { src, dst: (dst.to_bits() ^ 1).into() },
        };
        prop_assert_eq!(
            tcp::parse(&out[..len], &other),
            Err(WireError::Checksum { header: HeaderKind::Tcp })
        );
        // The pseudo header sums both addresses, so the reverse direction has an equal sum.
        prop_assert!(tcp::parse(&out[..len], &addresses.reversed()).is_ok());
    }
}

/// The segment without the fields of the IP header.
fn tcp_part(segment: Segment) -> Segment {
    Segment { ecn: Ecn::NotEct, ..segment }
}
