use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::vec::Vec;

const MSS: u32 = 1000;

fn board(segments: u64) -> Scoreboard {
    let mut b = Scoreboard::default();
    for i in 0..segments {
        b.push(i * 1000, MSS, Instant::ZERO);
    }
    b
}

fn sack(b: &mut Scoreboard, from: u64, to: u64) -> bool {
    b.sack(from * 1000, to * 1000, &mut Acked::default())
}

#[test]
fn a_much_smaller_window_frees_memory_once() {
    let mut board = Scoreboard::default();
    let push = |board: &mut Scoreboard, i: u64| {
        board.push(100 * i, 100, Instant::ZERO);
    };
    for i in 0..1000 {
        push(&mut board, i);
    }
    let large = board.heap();
    board.trim();
    assert_eq!(board.heap(), large, "all of it is used");
    board.ack(99_000, &mut Acked::default());
    board.trim();
    let small = board.heap();
    assert!(small <= 32 * size_of::<TxSegment>(), "{small}");
    // The next halving, then growth again: no memory is freed.
    board.ack(99_500, &mut Acked::default());
    board.trim();
    for i in 1000..1020 {
        push(&mut board, i);
        board.trim();
    }
    assert_eq!(board.heap(), small);
    assert_eq!(board.flight_size(), 2_500);
    board.ack(101_900, &mut Acked::default());
    board.trim();
    assert_eq!(board.heap(), small, "almost nothing in flight: the flow is ending or starting");
}

#[test]
fn three_segments_above_make_a_loss() {
    let mut b = board(10);
    sack(&mut b, 1, 3);
    assert_eq!(b.detect_losses(MSS, 3), Lost::NONE, "two segments above are not enough");
    sack(&mut b, 3, 4);
    assert_eq!(b.detect_losses(MSS, 3), Lost { bytes: 1000, segments: 1 });
    assert_eq!(b.next_lost().map(|s| s.start), Some(0));
    assert_eq!(b.pipe(), 10_000 - 3000 - 1000);
}

#[test]
fn dup_thresh_is_the_number_of_segments_above() {
    for (dup_thresh, sacked) in [(1, 1), (2, 2), (5, 5)] {
        let mut b = board(10);
        if sacked > 1 {
            sack(&mut b, 1, sacked);
            assert_eq!(b.detect_losses(MSS, dup_thresh), Lost::NONE, "{dup_thresh}");
        }
        sack(&mut b, sacked, sacked + 1);
        assert_eq!(b.detect_losses(MSS, dup_thresh), Lost { bytes: 1000, segments: 1 });
    }
}

#[test]
fn an_episode_begins_with_the_first_hole_again() {
    let mut b = board(10);
    b.move_high_rxt(5000);
    sack(&mut b, 2, 4);
    assert_eq!(b.next_hole().map(|s| s.start), None, "everything was retransmitted before");
    b.begin_episode(0);
    assert_eq!(b.next_hole().map(|s| s.start), Some(0));
}

#[test]
fn three_separate_small_runs_make_a_loss() {
    let mut b = Scoreboard::default();
    for i in 0..8_u64 {
        b.push(i * 10, 10, Instant::ZERO);
    }
    for i in [1, 3] {
        b.sack(i * 10, i * 10 + 10, &mut Acked::default());
        assert_eq!(b.detect_losses(MSS, 3), Lost::NONE);
    }
    b.sack(50, 60, &mut Acked::default());
    assert_eq!(
        b.detect_losses(MSS, 3),
        Lost { bytes: 10, segments: 1 },
        "only the segment below all three runs"
    );
}

#[test]
fn a_retransmission_is_in_the_pipe_until_it_is_sacked() {
    let mut b = board(5);
    sack(&mut b, 1, 4);
    b.detect_losses(MSS, 3);
    assert_eq!(b.pipe(), 1000);
    b.on_retransmit(0, 1000, Instant::ZERO);
    assert_eq!(b.pipe(), 2000);
    assert_eq!(b.next_lost().map(|s| s.start), None);
    let mut acked = Acked::default();
    b.ack(4000, &mut acked);
    assert_eq!((acked.acked_bytes, acked.delivered_bytes), (4000, 1000));
    assert!(acked.newest.is_none(), "Karn: the retransmitted one gives no sample");
    assert_eq!(b.pipe(), 1000);
}

#[test]
fn a_timeout_clears_retransmissions_and_keeps_sacks() {
    let mut b = board(5);
    sack(&mut b, 1, 4);
    b.detect_losses(MSS, 3);
    b.on_retransmit(0, 1000, Instant::ZERO);
    b.mark_all_lost();
    assert_eq!(b.pipe(), 0);
    assert_eq!(b.next_lost().map(|s| s.start), Some(0));
    b.on_retransmit(0, 1000, Instant::ZERO);
    assert_eq!(b.next_lost().map(|s| s.start), Some(4000), "SACKed segments are not retransmitted");
}

#[test]
fn reneging_clears_the_sacks_at_a_timeout() {
    let mut b = board(3);
    sack(&mut b, 0, 2);
    b.mark_all_lost();
    assert_eq!(b.sacked_bytes, 0);
    assert_eq!(b.next_lost().map(|s| s.start), Some(0));
}

#[test]
fn part_of_a_segment_can_be_acknowledged() {
    let mut b = board(2);
    let mut acked = Acked::default();
    b.ack(300, &mut acked);
    assert_eq!((acked.acked_bytes, acked.acked_segments, acked.delivered_segments), (300, 0, 0));
    assert_eq!(b.flight_size(), 1700);
    assert_eq!(b.sent.front().map(|s| (s.start, s.len)), Some((300, 700)));
}

/// The rules of RFC 6675 over sets of single segments.
#[derive(Default)]
struct Naive {
    una: u64,
    nxt: u64,
    sacked: BTreeSet<u64>,
    lost: BTreeSet<u64>,
    retransmitted: BTreeSet<u64>,
}

impl Naive {
    fn is_lost(&self, n: u64) -> bool {
        let above: Vec<u64> = self.sacked.range(n + 1..).copied().collect();
        let runs = above.iter().filter(|s| !above.contains(&(**s - 1))).count();
        runs >= 3 || above.len() * 1000 > 2000
    }
    fn detect(&mut self) {
        for n in self.una..self.nxt {
            if !self.sacked.contains(&n) && self.is_lost(n) {
                self.lost.insert(n);
            }
        }
    }
    fn pipe(&self) -> u64 {
        (self.una..self.nxt)
            .filter(|n| !self.sacked.contains(n))
            .map(|n| {
                u64::from(!self.lost.contains(&n)) + u64::from(self.retransmitted.contains(&n))
            })
            .sum::<u64>()
            * 1000
    }
    fn next_lost(&self) -> Option<u64> {
        self.lost
            .iter()
            .find(|n| !self.retransmitted.contains(n) && !self.sacked.contains(n))
            .copied()
    }
}

#[derive(Clone, Debug)]
enum Step {
    Send,
    Ack(u64),
    Sack(u64, u64),
    Retransmit,
    Timeout,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Send),
        2 => (0_u64..6).prop_map(Step::Ack),
        4 => (0_u64..12, 1_u64..4).prop_map(|(a, n)| Step::Sack(a, n)),
        3 => Just(Step::Retransmit),
        1 => Just(Step::Timeout),
    ]
}

proptest! {
    #[test]
    fn agrees_with_a_naive_model(steps in prop::collection::vec(step(), 1..120)) {
        let mut b = Scoreboard::default();
        let mut m = Naive::default();
        for s in steps {
            match s {
                Step::Send => {
                    b.push(m.nxt * 1000, MSS, Instant::ZERO);
                    m.nxt += 1;
                }
                Step::Ack(n) => {
                    // A receiver that holds the next segments acknowledges them too.
                    let mut una = (m.una + n).min(m.nxt);
                    while m.sacked.contains(&una) {
                        una += 1;
                    }
                    b.ack(una * 1000, &mut Acked::default());
                    m.una = una;
                    m.sacked.retain(|s| *s >= una);
                    m.lost.retain(|s| *s >= una);
                    m.retransmitted.retain(|s| *s >= una);
                }
                Step::Sack(a, n) => {
                    let from = m.una + 1 + a;
                    let to = (from + n).min(m.nxt);
                    if from < to {
                        sack(&mut b, from, to);
                        for s in from..to {
                            m.sacked.insert(s);
                            m.lost.remove(&s);
                            m.retransmitted.remove(&s);
                        }
                    }
                    b.detect_losses(MSS, 3);
                    m.detect();
                }
                Step::Retransmit => {
                    let next = b.next_lost();
                    prop_assert_eq!(next.map(|s| s.start / 1000), m.next_lost());
                    if let Some(s) = next {
                        b.on_retransmit(s.start, s.end(), Instant::ZERO);
                        m.retransmitted.insert(s.start / 1000);
                    }
                }
                Step::Timeout => {
                    b.mark_all_lost();
                    m.retransmitted.clear();
                    m.lost = (m.una..m.nxt).filter(|n| !m.sacked.contains(n)).collect();
                }
            }
            prop_assert_eq!(b.pipe(), m.pipe());
            prop_assert_eq!(b.flight_size(), (m.nxt - m.una) * 1000);
        }
    }
}
