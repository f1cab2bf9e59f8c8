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
fn half_the_space_is_neither_way() {
    let half = FIRST.add(1 << 31);
    // The one distance that has no sign: each is "before" the other, which RFC 9293 leaves open.
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
