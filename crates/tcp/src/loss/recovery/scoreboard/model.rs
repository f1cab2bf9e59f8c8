//! Compares the scoreboard with a model that keeps each segment with its history and recounts
//! everything each time. Segments have any length; blocks and ACKs end at any byte.

use std::vec::Vec;

use lowtide_units::Duration;
use proptest::prelude::*;

use super::*;

const MSS: u32 = 100;

#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
#[derive(Clone, Copy, Debug)]
struct Seg {
    start: u64,
    end: u64,
    sacked: bool,
    lost: bool,
    resent: bool,
    /// Sent more than once.
    again: bool,
    at: u64,
}

impl Seg {
    fn len(&self) -> u64 {
        self.end - self.start
    }
}

#[derive(Default, Debug)]
struct Model {
    segs: Vec<Seg>,
    una: u64,
    nxt: u64,
    high_rxt: u64,
}

/// The segments that one ACK delivered, recounted.
#[derive(Default, PartialEq, Eq, Debug)]
struct Delivered {
    acked: (u64, u32),
    sacked: (u64, u32),
    total: (u64, u32),
    newest: Option<u64>,
}

impl Delivered {
    fn of(acked: &Acked) -> Self {
        Self {
            acked: (acked.acked_bytes, acked.acked_segments),
            sacked: (acked.sacked_bytes, acked.sacked_segments),
            total: (acked.delivered_bytes, acked.delivered_segments),
            newest: acked.newest.map(|n| n.at.as_ps()),
        }
    }
    fn deliver(&mut self, seg: &Seg) {
        self.total.0 += seg.len();
        self.total.1 += 1;
        if !seg.again {
            self.newest = self.newest.max(Some(seg.at));
        }
    }
}

impl Model {
    fn ack(&mut self, una: u64, report: &mut Delivered) {
        let mut left = Vec::new();
        for seg in self.segs.drain(..) {
            if seg.start >= una {
                left.push(seg);
                continue;
            }
            let head = Seg { end: seg.end.min(una), ..seg };
            report.acked.0 += head.len();
            if !seg.sacked {
                report.deliver(&head);
            }
            if seg.end > una {
                // A part is no segment: its last byte is missing.
                report.total.1 -= u32::from(!seg.sacked);
                left.push(Seg { start: una, ..seg });
            } else {
                report.acked.1 += 1;
            }
        }
        self.segs = left;
        self.una = una;
    }

    fn sack(&mut self, start: u64, end: u64, report: &mut Delivered) {
        for seg in &mut self.segs {
            if start <= seg.start && seg.end <= end && !seg.sacked {
                report.deliver(seg);
                report.sacked.0 += seg.len();
                report.sacked.1 += 1;
                (seg.sacked, seg.lost, seg.resent) = (true, false, false);
            }
        }
    }

    /// RFC 6675 §4 IsLost over whole segments: three discontiguous SACKed sequences above, or more
    /// than two segments' worth of SACKed bytes.
    fn is_lost(&self, index: usize) -> bool {
        let above = &self.segs[index + 1..];
        let bytes: u64 = above.iter().filter(|s| s.sacked).map(Seg::len).sum();
        let starts = (index + 1..self.segs.len())
            .filter(|&i| self.segs[i].sacked && !self.segs[i - 1].sacked)
            .count();
        starts >= 3 || bytes > 2 * u64::from(MSS)
    }

    fn detect(&mut self) -> Lost {
        let found: Vec<usize> = (0..self.segs.len())
            .filter(|&i| !self.segs[i].sacked && !self.segs[i].lost && self.is_lost(i))
            .collect();
        for &i in &found {
            self.segs[i].lost = true;
        }
        let bytes = found.iter().map(|&i| self.segs[i].len()).sum();
        Lost { bytes, segments: found.len() as u32 }
    }

    fn pipe(&self) -> u64 {
        let open = self.segs.iter().filter(|s| !s.sacked);
        open.map(|s| s.len() * (u64::from(!s.lost) + u64::from(s.resent))).sum()
    }

    fn high_sacked(&self) -> u64 {
        self.segs.iter().filter(|s| s.sacked).map(|s| s.end).max().unwrap_or(0)
    }

    fn next_lost(&self) -> Option<u64> {
        self.segs.iter().find(|s| s.lost && !s.resent).map(|s| s.start)
    }

    fn next_hole(&self) -> Option<u64> {
        let top = self.high_sacked();
        let hole = |s: &&Seg| {
            s.start >= self.high_rxt && s.end <= top && !s.sacked && !s.lost && !s.resent
        };
        self.segs.iter().find(hole).map(|s| s.start)
    }

    fn last_unsacked(&self) -> Option<u64> {
        let last = self.segs.iter().rev().find(|s| !s.sacked);
        last.filter(|s| !s.resent).map(|s| s.start)
    }

    fn resend(&mut self, start: u64, at: u64) {
        for seg in self.segs.iter_mut().filter(|s| s.start == start) {
            (seg.resent, seg.again, seg.at) = (true, true, at);
        }
    }

    fn on_rto(&mut self) {
        // RFC 2018 §8: a peer that SACKed the first segment without acknowledging it has reneged.
        if self.segs.first().is_some_and(|s| s.sacked) {
            for seg in &mut self.segs {
                seg.sacked = false;
            }
        }
        for seg in &mut self.segs {
            (seg.lost, seg.resent) = (!seg.sacked, false);
        }
        if let Some(first) = self.segs.first() {
            self.high_rxt = first.start;
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Send(u32),
    /// In thousandths of the outstanding bytes.
    Ack(u64),
    Sack(u64, u64),
    /// Whole segments: the blocks that honest receivers send.
    SackWhole(usize, usize),
    Resend,
    Hole,
    Rescue,
    FrontLost,
    Begin,
    Timeout,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => prop_oneof![Just(MSS), 1..=MSS].prop_map(Step::Send),
        2 => (0_u64..=1000).prop_map(Step::Ack),
        2 => (0_u64..=1000, 0_u64..=1000).prop_map(|(a, b)| Step::Sack(a.min(b), a.max(b))),
        5 => (0_usize..12, 1_usize..4).prop_map(|(a, n)| Step::SackWhole(a, a + n)),
        4 => Just(Step::Resend),
        1 => Just(Step::Hole),
        1 => Just(Step::Rescue),
        1 => Just(Step::FrontLost),
        1 => Just(Step::Begin),
        1 => Just(Step::Timeout),
    ]
}

fn resend(b: &mut Scoreboard, m: &mut Model, sent: Option<TxSegment>, at: Instant) {
    if let Some(s) = sent {
        b.on_retransmit(s.start, s.end(), at);
        m.resend(s.start, at.as_ps());
    }
}

fn move_high_rxt(b: &mut Scoreboard, m: &mut Model, sent: Option<TxSegment>) {
    if let Some(s) = sent {
        b.move_high_rxt(s.end());
        m.high_rxt = m.high_rxt.max(s.end());
    }
}

/// Applies a block to both, then detects losses as a connection does.
fn sack_both(b: &mut Scoreboard, m: &mut Model, start: u64, end: u64) -> Result<(), TestCaseError> {
    let (mut acked, mut report) = (Acked::default(), Delivered::default());
    let newly_sacked = b.sack(start, end, &mut acked);
    m.sack(start, end, &mut report);
    prop_assert_eq!(newly_sacked, report.sacked.1 > 0);
    prop_assert_eq!(Delivered::of(&acked), report);
    prop_assert_eq!(b.detect_losses(MSS, 3), m.detect());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn agrees_with_a_recount(steps in prop::collection::vec(step(), 1..150)) {
        let mut b = Scoreboard::default();
        let mut m = Model::default();
        let mut now = Instant::ZERO;
        for step in steps {
            now += Duration::from_ps(1);
            let share = |m: &Model, n: u64| m.una + (m.nxt - m.una) * n / 1000;
            match step {
                Step::Send(len) => {
                    b.push(m.nxt, len, now);
                    let (start, end) = (m.nxt, m.nxt + u64::from(len));
                    let (sacked, lost, resent, again) = (false, false, false, false);
                    m.segs.push(Seg { start, end, sacked, lost, resent, again, at: now.as_ps() });
                    m.nxt = end;
                }
                Step::Ack(n) => {
                    let una = share(&m, n);
                    let (mut acked, mut report) = (Acked::default(), Delivered::default());
                    b.ack(una, &mut acked);
                    m.ack(una, &mut report);
                    prop_assert_eq!(Delivered::of(&acked), report);
                }
                Step::Sack(from, to) => {
                    let (start, end) = (share(&m, from), share(&m, to));
                    sack_both(&mut b, &mut m, start, end)?;
                }
                Step::SackWhole(from, to) => {
                    let to = to.min(m.segs.len());
                    if from < to {
                        let (start, end) = (m.segs[from].start, m.segs[to - 1].end);
                        sack_both(&mut b, &mut m, start, end)?;
                    }
                }
                Step::Resend => {
                    let next = b.next_lost();
                    prop_assert_eq!(next.map(|s| s.start), m.next_lost());
                    resend(&mut b, &mut m, next, now);
                    move_high_rxt(&mut b, &mut m, next);
                }
                Step::Hole => {
                    let hole = b.next_hole();
                    resend(&mut b, &mut m, hole, now);
                    move_high_rxt(&mut b, &mut m, hole);
                }
                Step::Rescue => {
                    let last = b.last_unsacked();
                    // Used only if no lost segment awaits retransmission; HighRxt stays (RFC 6675
                    // §4 rule 4).
                    let waits = m.next_lost().is_some();
                    resend(&mut b, &mut m, last.filter(|_| !waits), now);
                }
                Step::FrontLost => {
                    let Lost { bytes, segments } = b.mark_front_lost();
                    let mut expected = (0, 0);
                    if let Some(first) = m.segs.first_mut() {
                        first.resent = false;
                        if !first.sacked && !first.lost {
                            first.lost = true;
                            expected = (first.len(), 1);
                        }
                    }
                    prop_assert_eq!((bytes, segments), expected);
                }
                Step::Begin => {
                    b.begin_episode(m.una);
                    m.high_rxt = m.una;
                }
                Step::Timeout => {
                    b.mark_all_lost();
                    m.on_rto();
                }
            }
            prop_assert_eq!(b.pipe(), m.pipe());
            prop_assert_eq!(b.flight_size(), m.nxt - m.una);
            prop_assert_eq!(b.is_empty(), m.segs.is_empty());
            prop_assert_eq!(b.next_hole().map(|s| s.start), m.next_hole());
            prop_assert_eq!(b.last_unsacked().map(|s| s.start), m.last_unsacked());
            let front = m.segs.first().is_some_and(|s| s.lost && !s.sacked);
            prop_assert_eq!(b.front_is_lost(), front);
        }
    }
}
