//! All kinds of malformed bytes; none of them panics.

use lowtide_wire::checksum::Checksum;
use lowtide_wire::{
    Addresses, Ecn, Experimental, ExtraOption, Flags, HeaderKind, Options, SackBlocks, Segment,
    SeqNum, Timestamps, WireError, ipv4, ipv6, options, packet, tcp,
};
use proptest::collection::vec;
use proptest::prelude::*;

const V4: Addresses = Addresses::V4 {
    src: core::net::Ipv4Addr::new(10, 0, 0, 1),
    dst: core::net::Ipv4Addr::new(10, 0, 0, 2),
};
const V6: Addresses = Addresses::V6 {
    src: core::net::Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1),
    dst: core::net::Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2),
};

fn sample() -> Segment {
    Segment { flags: Flags::ACK, ecn: Ecn::Ce, payload_len: 4, ..Segment::default() }
}

fn written(addresses: &Addresses) -> Vec<u8> {
    let mut out = [0; 200];
    let len = packet::emit(addresses, &sample(), b"abcd", &mut out).expect("fits");
    out[..len].to_vec()
}

/// An IPv4 packet with `change` applied and its header checksum corrected.
fn ipv4_with(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = written(&V4);
    change(&mut bytes);
    let header_len = (usize::from(bytes[0] & 15) * 4).clamp(20, bytes.len());
    bytes[10..12].fill(0);
    let checksum = Checksum::new().with(&bytes[..header_len]).finish();
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

#[test]
fn ipv4_cut_short() {
    let whole = written(&V4);
    for have in 0..20 {
        let error = WireError::Truncated { header: HeaderKind::Ipv4, need: 20, have };
        assert_eq!(packet::parse(&whole[..have]), Err(error));
    }
    for have in 20..whole.len() {
        let error = WireError::TotalLength { header: HeaderKind::Ipv4, stated: 44, have };
        assert_eq!(packet::parse(&whole[..have]), Err(error));
    }
    assert!(packet::parse(&whole).is_ok());
}

#[test]
fn ipv4_fields() {
    let parse = |bytes: Vec<u8>| packet::parse(&bytes).map(|_| ());
    let header = HeaderKind::Ipv4;
    assert_eq!(parse(ipv4_with(|b| b[0] = 0x55)), Err(WireError::Version { found: 5 }));
    assert_eq!(ipv6::parse(&[0x45; 40]), Err(WireError::Version { found: 4 }));
    let short = Err(WireError::HeaderLength { header, stated: 16 });
    assert_eq!(parse(ipv4_with(|b| b[0] = 0x44)), short);
    let long = Err(WireError::Truncated { header, need: 60, have: 44 });
    assert_eq!(parse(ipv4_with(|b| b[0] = 0x4f)), long);
    for stated in [0, 19, 45, 65535] {
        let bytes = ipv4_with(|b| b[2..4].copy_from_slice(&u16::to_be_bytes(stated)));
        let stated = usize::from(stated);
        assert_eq!(parse(bytes), Err(WireError::TotalLength { header, stated, have: 44 }));
    }
    let no_tcp = Err(WireError::Truncated { header: HeaderKind::Tcp, need: 20, have: 0 });
    assert_eq!(parse(ipv4_with(|b| b[3] = 20)), no_tcp);
    assert_eq!(parse(ipv4_with(|b| b[9] = 17)), Err(WireError::NotTcp { protocol: 17 }));
    let mut bytes = written(&V4);
    bytes[8] -= 1; // a hop that forgets the checksum
    assert_eq!(parse(bytes), Err(WireError::Checksum { header }));
}

#[test]
fn ipv4_fragments() {
    let parse = |high, low| {
        packet::parse(&ipv4_with(|b| b[6..8].copy_from_slice(&[high, low]))).map(|_| ())
    };
    assert_eq!(parse(0x20, 0), Err(WireError::Fragment), "first");
    assert_eq!(parse(0x20, 185), Err(WireError::Fragment), "middle");
    assert_eq!(parse(0x00, 185), Err(WireError::Fragment), "last");
    assert_eq!(parse(0x1f, 0xff), Err(WireError::Fragment), "farthest");
    assert_eq!(parse(0x00, 0), Ok(()), "whole, may be fragmented");
    assert_eq!(parse(0x80, 0), Ok(()), "the reserved bit means nothing");
}

#[test]
fn ipv4_options_and_padding_are_tolerated() {
    let bytes = ipv4_with(|b| {
        b[0] = 0x46;
        b[3] += 4;
        b.splice(20..20, [1, 1, 1, 0]);
        b.extend([0xee; 6]);
    });
    let (addresses, segment, range) = packet::parse(&bytes).unwrap();
    assert_eq!((addresses, segment), (V4, sample()));
    assert_eq!(&bytes[range], b"abcd");
}

#[test]
fn ipv6_fields() {
    let whole = written(&V6);
    let header = HeaderKind::Ipv6;
    for have in 1..40 {
        let error = WireError::Truncated { header, need: 40, have };
        assert_eq!(packet::parse(&whole[..have]), Err(error));
    }
    for have in 40..whole.len() {
        let error = WireError::TotalLength { header, stated: 64, have };
        assert_eq!(packet::parse(&whole[..have]), Err(error));
    }
    for next in [17, 50, 51, 59] {
        let mut bytes = whole.clone();
        bytes[6] = next;
        assert_eq!(packet::parse(&bytes), Err(WireError::NotTcp { protocol: next }));
    }
    let mut padded = whole.clone();
    padded.extend([0; 9]);
    assert_eq!(packet::parse(&padded).unwrap().2, 60..64);
}

/// A TCP segment over `V4` with `change` applied and its checksum corrected.
fn tcp_with(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = written(&V4).split_off(20);
    change(&mut bytes);
    bytes[16..18].fill(0);
    let checksum = V4.pseudo_header(bytes.len() as u32).with(&bytes).finish();
    bytes[16..18].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

#[test]
fn tcp_fields() {
    let parse = |bytes: Vec<u8>| tcp::parse(&bytes, &V4).map(|_| ());
    let header = HeaderKind::Tcp;
    for have in 0..20 {
        let error = WireError::Truncated { header, need: 20, have };
        assert_eq!(parse(vec![0x50; have]), Err(error));
    }
    for words in 0..5 {
        let stated = usize::from(words) * 4;
        let error = WireError::HeaderLength { header, stated };
        assert_eq!(parse(tcp_with(|b| b[12] = words << 4)), Err(error));
    }
    let error = WireError::Truncated { header, need: 28, have: 24 };
    assert_eq!(parse(tcp_with(|b| b[12] = 7 << 4)), Err(error));
    let mut flipped = tcp_with(|_| {});
    assert_eq!(parse(flipped.clone()), Ok(()));
    flipped[23] ^= 1;
    assert_eq!(parse(flipped), Err(WireError::Checksum { header }));
    // A malformed option is an error of the whole segment: four bytes of payload become options.
    let error = WireError::OptionLength { kind: b'a', len: 0 };
    let bytes = tcp_with(|b| {
        b[12] = 6 << 4;
        b[21] = 0;
    });
    assert_eq!(parse(bytes), Err(error));
}

#[test]
fn reserved_bits_are_ignored_and_the_ninth_flag_is_not() {
    let bytes = tcp_with(|b| b[12] |= 0x0f);
    let (segment, _) = tcp::parse(&bytes, &V4).unwrap();
    assert_eq!(segment.flags, Flags::ACK | Flags::AE);
}

#[test]
fn options_malformed() {
    let length = |kind, len| Err(WireError::OptionLength { kind, len });
    let truncated = |kind| Err(WireError::OptionTruncated { kind });
    let cases: [(&[u8], Result<Options, WireError>); 24] = [
        (&[2], truncated(2)),
        (&[77], truncated(77)),
        (&[1, 1, 1, 8], truncated(8)),
        (&[2, 4, 5], truncated(2)),
        (&[77, 255, 0, 0], truncated(77)),
        (&[8, 10, 0, 0, 0, 0, 0, 0, 0], truncated(8)),
        (&[2, 0, 0, 0], length(2, 0)),
        (&[2, 1, 0, 0], length(2, 1)),
        (&[77, 0, 0, 0], length(77, 0)),
        (&[77, 1, 0, 0], length(77, 1)),
        (&[253, 1, 0, 0], length(253, 1)),
        (&[2, 3, 0, 0], length(2, 3)),
        (&[2, 5, 0, 0, 0], length(2, 5)),
        (&[3, 2, 0, 0], length(3, 2)),
        (&[3, 4, 0, 0], length(3, 4)),
        (&[4, 3, 0, 0], length(4, 3)),
        (&[8, 9, 0, 0, 0, 0, 0, 0, 0, 0], length(8, 9)),
        (&[8, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], length(8, 11)),
        (&[8, 6, 0, 0, 0, 0], length(8, 6)),
        (&[5, 2, 0, 0], length(5, 2)),
        (&[5, 6, 0, 0, 0, 0], length(5, 6)),
        (&[5, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0], length(5, 11)),
        (&[5, 42, 0, 0], truncated(5)),
        // A second, malformed one is still an error.
        (&[2, 4, 0, 1, 2, 3, 0], length(2, 3)),
    ];
    for (bytes, wanted) in cases {
        assert_eq!(Options::parse(bytes), wanted, "{bytes:?}");
    }
    // Five blocks do not fit a header, but bytes may claim so.
    let mut five = [0; 42];
    five[..2].copy_from_slice(&[5, 42]);
    assert_eq!(Options::parse(&five), length(5, 42));
}

#[test]
fn options_tolerated() {
    let parse = |bytes: &[u8]| Options::parse(bytes).unwrap();
    let none = Options::default();
    let mss = Options { mss: Some(1460), ..none };
    assert_eq!(parse(&[]), none);
    assert_eq!(parse(&[1, 1, 1, 1]), none);
    assert_eq!(parse(&[0, 2, 0, 255]), none, "nothing counts after the end");
    assert_eq!(parse(&[2, 4, 5, 180, 0, 99, 99, 99]), mss);
    assert_eq!(parse(&[77, 2, 30, 6, 9, 9, 9, 9, 2, 4, 5, 180]), mss, "unknown kinds are skipped");
    assert_eq!(parse(&[2, 4, 5, 180, 2, 4, 0, 1]), mss, "the first counts");
    assert_eq!(parse(&[3, 3, 255]).window_scale, Some(255), "clamped by the connection");
    let twice = [8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 8, 10, 0, 0, 0, 3, 0, 0, 0, 4];
    assert_eq!(parse(&twice).timestamps, Some(Timestamps { value: 1, echo: 2 }));
    let sacks = [5, 10, 0, 0, 0, 1, 0, 0, 0, 2, 5, 10, 0, 0, 0, 3, 0, 0, 0, 4];
    assert_eq!(parse(&sacks).sack.as_slice(), [(SeqNum::new(1), SeqNum::new(2))]);
}

#[test]
fn experimental_options() {
    let parse = |bytes: &[u8]| Options::parse(bytes).unwrap().experimental().copied();
    assert_eq!(parse(&[253, 4, 0xac, 0xce]), Experimental::new(0xacce, &[]));
    assert_eq!(parse(&[254, 5, 0xf9, 0x89, 7]), Experimental::new(0xf989, &[7]));
    assert_eq!(parse(&[254, 2, 253, 3, 0]), None, "without an ExID");
    let long = [254, 17, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 253, 4, 3, 4];
    assert_eq!(parse(&long), Experimental::new(0x0304, &[]), "more than 12 bytes: unknown");
    assert_eq!(parse(&[254, 4, 0, 1, 254, 4, 0, 2]), Experimental::new(1, &[]));
}

/// Of another length than those of RFC 9768 table 5 the whole counters count.
#[test]
fn accecn_options_of_any_length() {
    for kind in [172, 174] {
        for len in 2..=38_u8 {
            let bytes: Vec<u8> = [kind, len].into_iter().chain(3..=len).collect();
            let parsed = Options::parse(&bytes).unwrap();
            let option = parsed.accecn().unwrap();
            assert_eq!(option.len(), usize::from((len - 2) / 3).min(3), "{len}");
            let first = option.counters().next().map(|(_, value)| value);
            assert_eq!(first, (len >= 5).then_some(0x03_0405), "{len}");
            assert!(Options::parse(&bytes[..usize::from(len) - 1]).is_err());
        }
    }
    let both = [172, 2, 254, 4, 0, 1];
    assert_eq!(Options::parse(&both).unwrap().experimental(), None, "the first counts");
}

#[test]
fn segments_that_cannot_be_written() {
    let mut out = [0x55; 100];
    let times = Timestamps { value: 1, echo: 2 };
    let mut sack = SackBlocks::EMPTY;
    while sack.push(SeqNum::new(1), SeqNum::new(2)) {}
    let options = Options { timestamps: Some(times), sack, ..Options::default() };
    let error = WireError::OptionsTooLong { len: 48 };
    assert_eq!(options.emit(&mut [0; options::MAX_LEN]), Err(error));
    let segment = Segment { options, ..sample() };
    assert_eq!(packet::emit(&V4, &segment, b"abcd", &mut out), Err(error));

    let long = Experimental { exid: 1, len: 13, data: [0; 12] };
    let extra = Some(ExtraOption::Experimental(long));
    let options = Options { extra, ..Options::default() };
    let error = WireError::ExperimentalTooLong { len: 13 };
    assert_eq!(options.emit(&mut [0; options::MAX_LEN]), Err(error));

    let error = WireError::PayloadLength { stated: 4, given: 3 };
    assert_eq!(packet::emit(&V4, &sample(), b"abc", &mut out), Err(error));
    let error = WireError::BufferTooSmall { need: 44, have: 43 };
    assert_eq!(packet::emit(&V4, &sample(), b"abcd", &mut out[..43]), Err(error));
    let error = WireError::BufferTooSmall { need: 60, have: 59 };
    assert_eq!(packet::emit_headers(&V6, &sample(), &mut out[..59]), Err(error));
    let error = WireError::BufferTooSmall { need: 24, have: 0 };
    assert_eq!(tcp::emit(&sample(), b"abcd", &V6, &mut []), Err(error));
    assert_eq!(out, [0x55; 100], "nothing is written when something is wrong");

    let fits = |addresses, payload_len| {
        packet::emit_headers(&addresses, &Segment { payload_len, ..sample() }, &mut [0; 100])
    };
    assert_eq!(fits(V4, 65_495), Ok(40));
    let error = WireError::PacketTooLong { header: HeaderKind::Ipv4, payload: 65_516 };
    assert_eq!(fits(V4, 65_496), Err(error));
    assert_eq!(fits(V6, 65_515), Ok(60));
    let error = WireError::PacketTooLong { header: HeaderKind::Ipv6, payload: 65_536 };
    assert_eq!(fits(V6, 65_516), Err(error));
    let error = WireError::PacketTooLong { header: HeaderKind::Tcp, payload: u32::MAX as usize };
    assert_eq!(fits(V6, u32::MAX), Err(error));
}

#[test]
fn errors_say_what_is_wrong() {
    let error = WireError::Truncated { header: HeaderKind::Tcp, need: 20, have: 7 };
    assert_eq!(error.to_string(), "TCP header cut short: 20 bytes needed, 7 there");
    let error = WireError::OptionsTooLong { len: 48 };
    assert_eq!(error.to_string(), "TCP options need 48 bytes, a header has room for 40");
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = packet::parse(&bytes);
        let _ = ipv4::parse(&bytes);
        let _ = ipv6::parse(&bytes);
        let _ = tcp::parse(&bytes, &V4);
        let _ = tcp::parse(&bytes, &V6);
    }

    /// With valid checksums, which random bytes never have.
    #[test]
    fn random_headers_with_good_checksums_never_panic(
        ip in vec(any::<u8>(), 20..100),
        tcp in vec(any::<u8>(), 20..100),
    ) {
        let bytes = ipv4_with(|b| {
            let kept = b[0];
            b[..20].copy_from_slice(&ip[..20]);
            b[0] = kept & 0xf0 | ip[0] & 0x0f;
            b.extend(&ip[20..]);
        });
        if let Ok((_, range)) = ipv4::parse(&bytes) {
            prop_assert!(range.start >= 20 && range.start <= range.end && range.end <= bytes.len());
        }
        let bytes = tcp_with(|b| *b = tcp);
        if let Ok((segment, range)) = tcp::parse(&bytes, &V4) {
            prop_assert_eq!(range.len(), segment.payload_len as usize);
            prop_assert_eq!(range.end, bytes.len());
        }
    }

    /// Any parsed options can be written again, unless alignment makes them too long.
    #[test]
    fn random_options(bytes in vec(prop_oneof![0_u8..12, 250_u8..=255, any::<u8>()], 0..=40)) {
        if let Ok(set) = Options::parse(&bytes) {
            let mut out = [0; options::MAX_LEN];
            match set.emit(&mut out) {
                Ok(len) => prop_assert_eq!(Options::parse(&out[..len]), Ok(set)),
                Err(error) => prop_assert_eq!(error, WireError::OptionsTooLong { len: set.wire_len() }),
            }
        }
    }
}
