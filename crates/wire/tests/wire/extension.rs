//! IPv6 extension headers: skipped ones, ones that drop the packet, and the bounds of the walk.

use core::net::Ipv6Addr;

use lowtide_wire::{Addresses, Flags, HeaderKind, Segment, WireError, extension, ipv6, packet};
use proptest::collection::vec;
use proptest::prelude::*;

const V6: Addresses = Addresses::V6 {
    src: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1),
    dst: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2),
};
const HOP_BY_HOP: u8 = 0;
const TCP: u8 = 6;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const ESP: u8 = 50;
const AH: u8 = 51;
const NOTHING: u8 = 59;
const DESTINATION: u8 = 60;

/// An extension header: its type and its bytes from the third on. The first two are filled in.
type Extension<'a> = (u8, &'a [u8]);

fn segment() -> Segment {
    Segment { flags: Flags::ACK, src_port: 7, dst_port: 9, payload_len: 4, ..Segment::default() }
}

/// A TCP packet with these extension headers between IPv6 and TCP.
fn packet_with(extensions: &[Extension<'_>]) -> Vec<u8> {
    let mut plain = [0; 200];
    let len = packet::emit(&V6, &segment(), b"abcd", &mut plain).expect("fits");
    let (head, tcp) = plain[..len].split_at(ipv6::HEADER_LEN);
    let mut bytes = head.to_vec();
    let mut number_at = 6;
    for (number, body) in extensions {
        bytes[number_at] = *number;
        number_at = bytes.len();
        assert!((body.len() + 2).is_multiple_of(8), "a header has whole units of 8 bytes");
        let units = if *number == FRAGMENT { 0 } else { (body.len() + 2) / 8 - 1 };
        bytes.extend([TCP, units as u8]);
        bytes.extend(*body);
    }
    bytes.extend(tcp);
    let payload = (bytes.len() - ipv6::HEADER_LEN) as u16;
    bytes[4..6].copy_from_slice(&payload.to_be_bytes());
    bytes
}

fn parsed(extensions: &[Extension<'_>]) -> Result<(), WireError> {
    let bytes = packet_with(extensions);
    packet::parse(&bytes).map(|(addresses, found, payload)| {
        assert_eq!((addresses, found), (V6, segment()));
        assert_eq!(&bytes[payload], b"abcd");
    })
}

/// PadN over a whole header.
const PADDING: &[u8] = &[1, 4, 0, 0, 0, 0];
/// A fragment header of a whole packet: RFC 6946's atomic fragment.
const ATOMIC: &[u8] = &[0, 0, 1, 2, 3, 4];
/// A routing header of type 0 without segments left.
const ARRIVED: &[u8] = &[0, 0, 0, 0, 0, 0];

#[test]
fn extension_headers_are_skipped_in_any_order_with_hop_by_hop_first() {
    for extensions in [
        &[][..],
        &[(HOP_BY_HOP, PADDING)],
        &[(DESTINATION, PADDING)],
        &[(ROUTING, ARRIVED)],
        &[(FRAGMENT, ATOMIC)],
        &[
            (HOP_BY_HOP, PADDING),
            (DESTINATION, PADDING),
            (ROUTING, ARRIVED),
            (FRAGMENT, ATOMIC),
            (DESTINATION, PADDING),
        ],
        // Router alert may be skipped; so may an undefined option with its bits at 00.
        &[(HOP_BY_HOP, &[5, 2, 0, 0, 0, 0])],
        &[(DESTINATION, &[0x3e, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])],
    ] {
        assert_eq!(parsed(extensions), Ok(()), "{extensions:?}");
    }
    assert_eq!(
        parsed(&[(DESTINATION, PADDING), (HOP_BY_HOP, PADDING)]),
        Err(WireError::ExtensionOrder)
    );
}

#[test]
fn rfc6946_only_a_fragment_that_is_the_whole_packet_is_taken() {
    for (bits, whole) in [
        ([0, 0], true),
        // Reserved bits are ignored.
        ([0, 6], true),
        // The first of several; the last; one between.
        ([0, 1], false),
        ([0, 8], false),
        ([0x80, 1], false),
    ] {
        let body = [bits[0], bits[1], 0, 0, 0, 1];
        let expected = if whole { Ok(()) } else { Err(WireError::Fragment) };
        assert_eq!(parsed(&[(FRAGMENT, &body)]), expected, "{bits:?}");
        assert_eq!(parsed(&[(DESTINATION, PADDING), (FRAGMENT, &body)]), expected, "{bits:?}");
    }
}

#[test]
fn rfc8200_4_2_options_that_must_not_be_skipped_drop_the_packet() {
    for kind in [0x40, 0x80, 0xc0, 0xc2, 0xff] {
        let error = Err(WireError::ExtensionOption { kind });
        assert_eq!(parsed(&[(DESTINATION, &[kind, 4, 0, 0, 0, 0])]), error);
        assert_eq!(parsed(&[(HOP_BY_HOP, &[0, 0, kind, 2, 0, 0])]), error);
    }
    // An option longer than its header, and one without its length byte.
    for body in [[1, 5, 0, 0, 0, 0], [1, 2, 0, 0, 0, 1]] {
        let error = Err(WireError::ExtensionOptionTruncated { kind: 1 });
        assert_eq!(parsed(&[(DESTINATION, &body)]), error);
    }
}

#[test]
fn packets_to_forward_and_other_protocols_are_rejected() {
    for kind in [0, 2, 4] {
        let error = Err(WireError::SegmentsLeft { left: 1 });
        assert_eq!(parsed(&[(ROUTING, &[kind, 1, 0, 0, 0, 0])]), error);
    }
    for protocol in [ESP, AH, NOTHING, 135] {
        assert_eq!(parsed(&[(protocol, PADDING)]), Err(WireError::NotTcp { protocol }));
        let behind = [(DESTINATION, PADDING), (protocol, PADDING)];
        assert_eq!(parsed(&behind), Err(WireError::NotTcp { protocol }));
    }
}

#[test]
fn number_and_length_of_the_headers_are_bounded() {
    let many = vec![(DESTINATION, PADDING); extension::MAX_HEADERS];
    assert_eq!(parsed(&many), Ok(()));
    let more = vec![(DESTINATION, PADDING); extension::MAX_HEADERS + 1];
    assert!(matches!(parsed(&more), Err(WireError::ExtensionsTooLong { .. })));
    // Pad1 throughout: the longest accepted header, and one unit more.
    let long = vec![0; extension::MAX_BYTES - 2];
    assert_eq!(parsed(&[(DESTINATION, &long)]), Ok(()));
    let longer = vec![0; extension::MAX_BYTES + 6];
    assert!(matches!(
        parsed(&[(DESTINATION, &longer)]),
        Err(WireError::ExtensionsTooLong { headers: 1, .. })
    ));
}

#[test]
fn a_chain_cut_short_is_an_error_wherever_it_is_cut() {
    let whole = packet_with(&[
        (HOP_BY_HOP, PADDING),
        (DESTINATION, &[0; 22]),
        (FRAGMENT, ATOMIC),
        (ROUTING, ARRIVED),
    ]);
    let tcp = whole.len() - 24;
    for end in ipv6::HEADER_LEN..tcp {
        let mut bytes = whole[..end].to_vec();
        bytes[4..6].copy_from_slice(&((end - ipv6::HEADER_LEN) as u16).to_be_bytes());
        let error = packet::parse(&bytes).map(|_| ()).unwrap_err();
        let cut = match error {
            WireError::Truncated { header, need, have } => {
                assert!(have < need);
                header
            }
            other => panic!("{end} bytes: {other}"),
        };
        // At the boundary of headers the next one is reported with zero bytes.
        assert!(matches!(cut, HeaderKind::Ipv6Extension | HeaderKind::Tcp), "{end}: {cut:?}");
    }
    assert!(packet::parse(&whole).is_ok());
}

proptest! {
    /// For any bytes after the fixed header, the walk ends inside the packet and within its bounds.
    #[test]
    fn the_walk_stays_within_the_packet(
        first in prop::sample::select(vec![HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION]),
        numbers in vec(prop::sample::select(vec![HOP_BY_HOP, TCP, ROUTING, FRAGMENT, DESTINATION]), 0..90),
        bytes in vec(prop_oneof![Just(0_u8), Just(1), any::<u8>()], 0..700),
    ) {
        let mut bytes = bytes;
        for (i, number) in numbers.iter().enumerate() {
            if let Some(place) = bytes.get_mut(8 * i) {
                *place = *number;
            }
        }
        if let Ok((protocol, range)) = extension::walk(&bytes, first, 0..bytes.len()) {
            prop_assert!(range.start <= bytes.len() && range.start <= extension::MAX_BYTES);
            prop_assert_eq!(range.end, bytes.len());
            prop_assert!(![HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION].contains(&protocol));
        }
    }
}
