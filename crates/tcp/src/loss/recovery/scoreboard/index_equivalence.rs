//! Compares the index with walks over all segments in flight: both must find the same segments
//! after any history.

use std::vec;
use std::vec::Vec;

use lowtide_units::Duration;
use proptest::prelude::*;

use super::overdue::OverdueLosses;
use super::*;
use crate::loss::recovery::Rack;

const MSS: u32 = 100;
const MIN_RTT: u64 = 80;

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

/// RFC 8985 §6.2 step 5, segment by segment. `b` is a copy.
fn walk_overdue_lost(
    b: &mut Scoreboard,
    now: Instant,
    newest: SendOrder,
    loss_delay: Duration,
) -> OverdueLosses {
    let mut out =
        OverdueLosses { bytes: 0, segments: 0, resent_at: None, deadline: Instant::FAR_FUTURE };
    let mut deadline = None;
    for sent in &mut b.sent {
        let overtaken = SendOrder { at: sent.at, end: sent.end() } < newest;
        if !overtaken || sent.has(SACKED) || sent.needs_retransmit() {
            continue;
        }
        let due = sent.at + loss_delay;
        if now < due {
            deadline = deadline.max(Some(due));
            continue;
        }
        let len = u64::from(sent.len);
        if sent.has(RETRANSMITTED) {
            sent.flags &= !RETRANSMITTED;
            b.retransmitted_bytes -= len;
            out.resent_at = out.resent_at.max(Some(sent.at));
        }
        if !sent.has(LOST) {
            sent.flags |= LOST;
            b.lost_bytes += len;
        }
        out.bytes += len;
        out.segments += 1;
    }
    out.deadline = deadline.unwrap_or(Instant::FAR_FUTURE);
    out
}

/// RFC 6675 §4 IsLost from the highest segment down. `b` is a copy.
fn walk_detect_losses(b: &mut Scoreboard) -> Lost {
    let (mut bytes, mut runs, mut in_run, mut edge) = (0, 0, false, None);
    for sent in b.sent.iter().rev() {
        if sent.has(SACKED) {
            bytes += u64::from(sent.len);
            runs += u32::from(!in_run);
            in_run = true;
        } else {
            in_run = false;
            if runs >= 3 || bytes > 2 * u64::from(MSS) {
                edge = Some(sent.end());
                break;
            }
        }
    }
    let Some(edge) = edge.filter(|edge| *edge > b.loss_edge) else { return Lost::NONE };
    let (mut bytes, mut segments) = (0, 0);
    for sent in b.sent.iter_mut().filter(|s| b.loss_edge < s.end() && s.end() <= edge) {
        if sent.flags & (SACKED | LOST) == 0 {
            sent.flags |= LOST;
            bytes += u64::from(sent.len);
            segments += 1;
        }
    }
    b.loss_edge = edge;
    b.lost_bytes += bytes;
    Lost { bytes, segments }
}

fn walk_next_hole(b: &Scoreboard) -> Option<u64> {
    let inside = |s: &&TxSegment| s.start >= b.high_rxt && s.end() <= b.high_sacked;
    let open = |s: &&TxSegment| s.flags & (SACKED | RETRANSMITTED | LOST) == 0;
    b.sent.iter().filter(inside).find(open).map(|s| s.start)
}

fn walk_last_unsacked(b: &Scoreboard) -> Option<u64> {
    let last = b.sent.iter().rev().find(|s| !s.has(SACKED));
    last.filter(|s| !s.has(RETRANSMITTED)).map(|s| s.start)
}

/// The state that both copies must share.
fn facts(b: &Scoreboard) -> Vec<[u64; 4]> {
    let segment = |s: &TxSegment| [s.start, u64::from(s.len), u64::from(s.flags), s.at.as_ps()];
    let mut out: Vec<_> = b.sent.iter().map(segment).collect();
    out.push([b.out_bytes, b.sacked_bytes, u64::from(b.sacked_segments), b.lost_bytes]);
    out.push([b.retransmitted_bytes, b.loss_edge, b.high_sacked, b.high_rxt]);
    out
}

#[derive(Clone, Debug)]
enum Step {
    Send(u32, usize),
    /// In thousandths of the outstanding bytes.
    Ack(u64),
    Sack(u64, u64),
    /// Whole segments: the blocks that honest receivers send.
    SackWhole(usize, usize),
    Detect,
    Resend(usize),
    /// A tail loss probe.
    Last,
    Hole,
    /// The last segment contained a byte of a window probe.
    Ambiguous,
    Undo,
    Timeout(bool),
    Resegment(u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (prop_oneof![Just(MSS), 1..=MSS], 1_usize..4).prop_map(|(l, n)| Step::Send(l, n)),
        3 => (0_u64..=1000).prop_map(Step::Ack),
        2 => (0_u64..=1000, 0_u64..=1000).prop_map(|(a, b)| Step::Sack(a.min(b), a.max(b))),
        8 => (0_usize..20, 1_usize..6).prop_map(|(a, n)| Step::SackWhole(a, a + n)),
        2 => Just(Step::Detect),
        5 => (1_usize..4).prop_map(Step::Resend),
        1 => Just(Step::Last),
        1 => Just(Step::Hole),
        1 => Just(Step::Ambiguous),
        1 => Just(Step::Undo),
        1 => any::<bool>().prop_map(Step::Timeout),
        1 => (30..MSS).prop_map(Step::Resegment),
    ]
}

/// A scoreboard with the surrounding state of a connection.
struct TestSender {
    b: Scoreboard,
    rack: Rack,
    now: u64,
    una: u64,
    nxt: u64,
}

impl TestSender {
    fn resend(&mut self, sent: Option<TxSegment>) {
        if let Some(s) = sent {
            self.b.on_retransmit(s.start, s.end(), at(self.now));
            self.b.move_high_rxt(s.end());
        }
    }

    fn share(&self, n: u64) -> u64 {
        self.una + (self.nxt - self.una) * n / 1000
    }

    fn sack(&mut self, start: u64, end: u64) {
        let mut acked = Acked {
            rack_sample: Some(self.rack.begin_sample(at(self.now - MIN_RTT))),
            ..Acked::default()
        };
        if start >= self.una {
            self.b.sack(start, end, &mut acked);
        }
        self.rack.on_sample(at(self.now), &acked.rack_sample.unwrap());
    }

    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Send(len, times) => {
                for _ in 0..times {
                    self.b.push(self.nxt, len, at(self.now));
                    self.nxt += u64::from(len);
                }
            }
            Step::Ack(n) => {
                let una = self.share(n);
                let sample = Some(self.rack.begin_sample(at(self.now - MIN_RTT)));
                let mut acked = Acked { rack_sample: sample, ..Acked::default() };
                self.b.ack(una, &mut acked);
                self.una = una;
                self.rack.on_sample(at(self.now), &acked.rack_sample.unwrap());
            }
            Step::Sack(from, to) => self.sack(self.share(from), self.share(to)),
            Step::SackWhole(from, to) => {
                let to = to.min(self.b.sent.len());
                if from < to {
                    self.sack(self.b.sent[from].start, self.b.sent[to - 1].end());
                }
            }
            Step::Detect => {}
            Step::Resend(times) => {
                for _ in 0..times {
                    let next = self.b.next_lost();
                    self.resend(next);
                }
            }
            Step::Last => {
                if let Some(s) = self.b.last().filter(|s| !s.has(SACKED)) {
                    self.b.on_retransmit(s.start, s.end(), at(self.now));
                }
            }
            Step::Hole => self.resend(self.b.next_hole()),
            Step::Ambiguous => {
                if self.b.last().is_some_and(|s| s.flags == 0 && s.at == at(self.now)) {
                    self.b.mark_ambiguous();
                }
            }
            Step::Undo => self.b.undo_losses(),
            Step::Timeout(true) => self.b.mark_all_lost(),
            Step::Timeout(false) => {
                self.b.mark_lost_on_rto(at(self.now), Duration::from_us(MIN_RTT));
            }
            Step::Resegment(mss) => {
                self.b.resegment(mss, usize::MAX);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn the_index_finds_what_a_walk_finds(
        steps in prop::collection::vec((0_u64..60, step(), 0_u64..150), 1..120),
        by_time in any::<bool>(),
    ) {
        let b = Scoreboard::default();
        let mut w = TestSender { b, rack: Rack::new(), now: 1000, una: 0, nxt: 0 };
        for (wait, step, loss_delay) in steps {
            w.now += wait;
            w.apply(&step);
            let mut walked = w.b.clone();
            if !by_time && matches!(step, Step::Detect | Step::Sack(..) | Step::SackWhole(..)) {
                prop_assert_eq!(w.b.detect_losses(MSS, 3), walk_detect_losses(&mut walked));
            } else if by_time && let Some(newest) = w.rack.newest() {
                let loss_delay = Duration::from_us(loss_delay);
                let found = w.b.mark_overdue_lost(at(w.now), newest, loss_delay);
                let expected = walk_overdue_lost(&mut walked, at(w.now), newest, loss_delay);
                prop_assert_eq!(found, expected);
            }
            prop_assert_eq!(facts(&w.b), facts(&walked));
            let hole = w.b.next_hole().map(|s| s.start);
            prop_assert_eq!(hole, walk_next_hole(&w.b));
            prop_assert_eq!(w.b.last_unsacked().map(|s| s.start), walk_last_unsacked(&w.b));
            let waits = w.b.sent.iter().find(|s| s.needs_retransmit()).map(|s| s.start);
            prop_assert_eq!(w.b.next_lost().map(|s| s.start), waits);
        }
        // All data is acknowledged: no index remains.
        w.apply(&Step::Ack(1000));
        w.b.release_index();
        let overtaken = w.b.index.as_ref().and_then(|i| i.times.as_ref()).filter(|t| !t.is_done());
        prop_assert!(w.b.index.is_none() || overtaken.is_some());
    }
}
