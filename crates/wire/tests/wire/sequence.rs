//! Sequence numbers around the wrap.

use lowtide_wire::{Flags, Segment, SeqNum};
use proptest::prelude::*;

const LAST: SeqNum = SeqNum::new(u32::MAX);
const FIRST: SeqNum = SeqNum::new(0);

#[test]
fn the_wrap_is_one_step() {
    assert_eq!(LAST.add(1), FIRST);
    assert_eq!(FIRST.diff(LAST), 1);
    assert_eq!(LAST.diff(FIRST), -1);
    assert!(LAST.before(FIRST) && !FIRST.before(LAST) && !FIRST.before(FIRST));
    assert_eq!(LAST.add(1 << 32), LAST);
    assert_eq!(FIRST.add(u64::MAX), LAST);
}

#[test]
fn half_the_space_has_no_order() {
    let half = FIRST.add(1 << 31);
    // The one distance without a sign: each is "before" the other, which RFC 9293 leaves open.
    assert_eq!((half.diff(FIRST), FIRST.diff(half)), (i32::MIN, i32::MIN));
    assert!(FIRST.before(FIRST.add((1 << 31) - 1)));
    assert!(FIRST.add((1 << 31) + 1).before(FIRST));
}

#[test]
fn segments_across_the_wrap() {
    let segment = Segment { seq: LAST, payload_len: 10, flags: Flags::FIN, ..Segment::default() };
    assert_eq!(segment.seq_len(), 11);
    assert_eq!(segment.seq_end(), SeqNum::new(10));
    let syn_fin = Segment { flags: Flags::SYN | Flags::FIN, ..segment };
    assert_eq!(syn_fin.seq_end(), SeqNum::new(11));
    let ack = Segment { payload_len: 0, flags: Flags::ACK, ..segment };
    assert_eq!(ack.seq_end(), LAST);
}

proptest! {
    #[test]
    fn distances_survive_any_origin(origin: u32, step in 0_u32..=i32::MAX as u32) {
        let (from, to) = (SeqNum::new(origin), SeqNum::new(origin).add(u64::from(step)));
        prop_assert_eq!(to.diff(from), step as i32);
        prop_assert_eq!(from.diff(to), -(step as i32));
        prop_assert_eq!(from.before(to), step > 0);
        prop_assert!(!to.before(from));
    }
}

/// The multiples of 2^24 are a sequence space of eight bits within that of 32: equal arithmetic,
/// small enough to test exhaustively. Their neighbours test the carries into it.
const NARROW: u32 = 24;

fn narrow(n: u8) -> SeqNum {
    SeqNum::new(u32::from(n) << NARROW)
}

#[test]
fn every_pair_of_the_narrow_space_by_definition() {
    for a in 0..=u8::MAX {
        for b in 0..=u8::MAX {
            let (x, y) = (narrow(a), narrow(b));
            let sum = (u16::from(a) + u16::from(b)) % 256;
            assert_eq!(x.add(u64::from(b) << NARROW), narrow(sum as u8), "{a} + {b}");
            // The one distance in -128 to 127 that leads from b to a.
            let distance = (-128_i32..128).find(|d| (i32::from(b) + d).rem_euclid(256) == a.into());
            let distance = distance.expect("one of 256");
            assert_eq!(x.diff(y), distance << NARROW, "{a} - {b}");
            // RFC 1982 §3.2 with eight bits; undefined at half of the space, where we say "before".
            let (i, j) = (u16::from(a), u16::from(b));
            let rfc = (i < j && j - i < 128) || (i > j && i - j > 128);
            let half = i.abs_diff(j) == 128;
            assert_eq!(x.before(y), rfc || half, "{a} before {b}");
            // One number more or less on either side behaves as whole numbers do.
            for (da, db) in [(0, 1), (1, 0), (1, 1), (u64::MAX, 0), (0, u64::MAX)] {
                let (x, y) = (x.add(da), y.add(db));
                let expected = i64::from(distance << NARROW) + da as i64 - db as i64;
                let wrapped = (expected + (1 << 31)).rem_euclid(1 << 32) - (1 << 31);
                assert_eq!(i64::from(x.diff(y)), wrapped, "{a} {b} {da} {db}");
                assert_eq!(x.before(y), wrapped < 0);
            }
        }
    }
}

#[test]
fn order_is_transitive_within_half_of_the_narrow_space() {
    for origin in 0..=u8::MAX {
        for near in 0..128_u8 {
            for far in near..128 {
                let [o, n, f] = [0, near, far].map(|by| narrow(origin.wrapping_add(by)));
                assert_eq!(o.before(n), near > 0);
                assert_eq!(n.before(f), near < far);
                assert_eq!(o.before(f), far > 0);
            }
        }
    }
}

proptest! {
    /// Sums and differences of any numbers, in particular next to the wrap, against whole numbers.
    #[test]
    fn agrees_with_whole_numbers(near_wrap: bool, origin: u32, by: u64, small in 0_u64..5000) {
        let origin = if near_wrap { u32::MAX - origin % 3000 } else { origin };
        for by in [by, small, small.wrapping_neg()] {
            let sum = SeqNum::new(origin).add(by);
            let whole = (u128::from(origin) + u128::from(by)) % (1 << 32);
            prop_assert_eq!(u128::from(sum.raw()), whole);
            let distance = i64::from(by as u32);
            let distance = if distance >= 1 << 31 { distance - (1 << 32) } else { distance };
            prop_assert_eq!(i64::from(sum.diff(SeqNum::new(origin))), distance);
            prop_assert_eq!(sum.before(SeqNum::new(origin)), distance < 0);
        }
    }
}
