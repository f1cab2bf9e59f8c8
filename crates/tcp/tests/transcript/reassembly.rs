//! Segments in every order, whole and overlapping: each byte is kept and acknowledged as soon as
//! possible (RFC 9293 §3.10.7.4).

use crate::common::{Origin, Script, at_every_origin, plain};

/// All orders of `0..n`.
fn orders(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![vec![]];
    }
    let shorter = orders(n - 1);
    let put = |order: &Vec<usize>, at: usize| {
        let mut order = order.clone();
        order.insert(at, n - 1);
        order
    };
    shorter.iter().flat_map(|o| (0..n).map(move |at| put(o, at))).collect()
}

/// Delivers these `(offset, length)` pieces in this order; a map of bytes gives the expected
/// result.
fn arrive(o: Origin, pieces: &[(usize, usize)], order: &[usize]) {
    let total = pieces.iter().map(|(at, len)| at + len).max().expect("some");
    let mut map = vec![false; total + 1];
    let mut t = Script::established(o, &plain());
    for &index in order {
        let (at, len) = pieces[index];
        let before = map.iter().position(|b| !b).expect("one too many");
        let (start, end) = (at + 1, at + 1 + len);
        // Entirely old segments are rejected, but still answered.
        let taken = t.inject(&format!(". {start}:{end}({len}) ack 1")).is_ok();
        assert_eq!(taken, at + len > before, "piece {index} of {order:?}");
        let kept = t.accepted.clone();
        if taken && !kept.stream.is_empty() {
            assert_eq!(kept.stream.start, (at + kept.skip as usize) as u64);
            assert_eq!(kept.stream.end, (at + len) as u64, "nothing at the end is cut off");
            map[kept.stream.start as usize..kept.stream.end as usize].fill(true);
        }
        let whole = map.iter().position(|b| !b).expect("one too many");
        t.run(&format!("> . 1:1(0) ack {}\nis received {whole}", whole + 1));
    }
    assert!(map[..total].iter().all(|b| *b), "{order:?}");
}

#[test]
fn rfc9293_3_10_7_4_five_segments_in_every_order() {
    let pieces = [0, 1000, 2000, 3000, 4000].map(|at| (at, 1000));
    at_every_origin(|o| orders(5).iter().for_each(|order| arrive(o, &pieces, order)));
}

#[test]
fn rfc9293_3_10_7_4_overlapping_segments_in_every_order() {
    // Half overlap, one contains another, two end together, one byte.
    let pieces = [(0, 600), (300, 600), (400, 100), (899, 1), (850, 650)];
    at_every_origin(|o| orders(5).iter().for_each(|order| arrive(o, &pieces, order)));
}

#[test]
fn rfc9293_3_10_7_4_events_say_how_far_the_stream_is_whole() {
    at_every_origin(|o| {
        Script::established(o, &plain()).run(
            "event established
             < . 1001:2001(1000) ack 1
             > . 1:1(0) ack 1
             event none
             < . 1:1001(1000) ack 1
             > . 1:1(0) ack 2001
             event readable 2000
             is unread 2000
             read 500
             is unread 1500",
        );
    });
}
