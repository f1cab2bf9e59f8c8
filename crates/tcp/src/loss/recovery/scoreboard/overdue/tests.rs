use proptest::prelude::*;
use std::vec::Vec;

use super::*;
use crate::loss::recovery::{Acked, Rack, ReoWndInput};

const MSS: u32 = 1000;

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

/// Segments of 1000 B, sent at these times.
fn board(times: &[u64]) -> Scoreboard {
    let mut b = Scoreboard::default();
    for (i, us) in times.iter().enumerate() {
        b.push(i as u64 * 1000, MSS, at(*us));
    }
    b
}

fn sack(b: &mut Scoreboard, from: u64, to: u64) {
    b.sack(from * 1000, to * 1000, &mut Acked::default());
}

fn newest(us: u64, end: u64) -> SendOrder {
    SendOrder { at: at(us), end: end * 1000 }
}

const LOSS_DELAY: Duration = Duration::from_us(100);

#[test]
fn overdue_segments_sent_before_the_newest_are_lost() {
    let mut b = board(&[0, 10, 10, 20, 20]);
    sack(&mut b, 3, 4);
    let seen = b.mark_overdue_lost(at(105), newest(20, 4), LOSS_DELAY);
    assert_eq!((seen.bytes, seen.segments, seen.deadline), (1000, 1, at(110)));
    assert_eq!(b.next_lost().map(|s| s.start), Some(0));
    assert_eq!(b.pipe(), 3000);
    // The last was sent together with the newest, but has the higher end: it was not overtaken.
    let seen = b.mark_overdue_lost(at(200), newest(20, 4), LOSS_DELAY);
    assert_eq!((seen.bytes, seen.segments, seen.deadline), (2000, 2, Instant::FAR_FUTURE));
    assert_eq!(b.pipe(), 1000);
    assert_eq!(seen.resent_at, None);
}

#[test]
fn a_retransmission_is_overdue_by_its_own_send_time() {
    let mut b = board(&[0, 0, 0]);
    sack(&mut b, 2, 3);
    b.mark_overdue_lost(at(100), newest(0, 3), LOSS_DELAY);
    b.on_retransmit(0, 1000, at(100));
    b.on_retransmit(1000, 2000, at(101));
    assert_eq!(b.pipe(), 2000);
    sack(&mut b, 1, 2);
    let seen = b.mark_overdue_lost(at(199), newest(101, 2), LOSS_DELAY);
    assert_eq!((seen.bytes, seen.deadline), (0, at(200)));
    let seen = b.mark_overdue_lost(at(200), newest(101, 2), LOSS_DELAY);
    assert_eq!((seen.bytes, seen.segments, seen.resent_at), (1000, 1, Some(at(100))));
    assert_eq!(b.pipe(), 0);
    assert_eq!(b.next_lost().map(|s| s.start), Some(0), "it is sent a third time");
}

#[test]
fn a_timeout_marks_the_first_segment_and_equally_old_ones_lost() {
    let mut b = board(&[0, 10, 90, 95]);
    sack(&mut b, 1, 2);
    b.mark_lost_on_rto(at(110), LOSS_DELAY);
    assert_eq!(b.pipe(), 2000, "recently sent segments are still in flight");
    b.on_retransmit(0, 1000, at(110));
    b.mark_lost_on_rto(at(190), LOSS_DELAY);
    assert_eq!(b.pipe(), 1000, "the first again, and the third");
    assert_eq!(b.next_lost().map(|s| s.start), Some(0));
    b.on_retransmit(0, 1000, at(190));
    assert_eq!(b.next_lost().map(|s| s.start), Some(2000));
}

#[test]
fn a_timeout_after_reneging_loses_everything() {
    let mut b = board(&[0, 10, 90]);
    sack(&mut b, 0, 2);
    b.mark_lost_on_rto(at(100), LOSS_DELAY);
    assert_eq!((b.pipe(), b.sacked(), b.sacked_segments()), (0, 0, 0));
}

/// RFC 8985 §6 literally, over all segments, one by one.
struct Naive {
    segments: Vec<NaiveSegment>,
    una: usize,
    rack: Option<(u64, u64)>,
    rtt: u64,
    fack: u64,
    reordering_seen: bool,
    reo_wnd_mult: u64,
    reo_wnd_persist: i64,
    dsack_round: Option<usize>,
}

#[expect(clippy::struct_excessive_bools, reason = "the words of the RFC")]
#[derive(Clone, Copy, Default)]
struct NaiveSegment {
    /// `None` is INFINITE_TS.
    xmit: Option<u64>,
    first: u64,
    end: u64,
    retransmitted: bool,
    lost: bool,
    sacked: bool,
    delivered: bool,
}

const MIN_RTT: u64 = 80;
const SRTT: u64 = 130;

impl Naive {
    fn acked(&mut self, now: u64, delivered: &[usize], limit: u64) {
        let mut rtt = None;
        for n in delivered {
            let s = self.segments[*n];
            let xmit = s.xmit.unwrap_or(s.first);
            if !(s.retransmitted && xmit > limit)
                && rtt.is_none_or(|(x, e, _)| (x, e) < (xmit, s.end))
            {
                rtt = Some((xmit, s.end, now - xmit));
            }
            if s.end > self.fack {
                self.fack = s.end;
            } else if s.end < self.fack && !s.retransmitted {
                self.reordering_seen = true;
            }
        }
        if let Some((xmit, end, rtt)) = rtt {
            self.rtt = rtt;
            self.rack = self.rack.max(Some((xmit, end)));
        }
    }

    fn adapt(&mut self, dsack: bool, recovered: bool) {
        if self.dsack_round.is_some_and(|r| self.una >= r) {
            self.dsack_round = None;
        }
        if self.dsack_round.is_none() && dsack {
            self.dsack_round = Some(self.segments.len());
            self.reo_wnd_mult += 1;
            self.reo_wnd_persist = 16;
        } else if recovered {
            self.reo_wnd_persist -= 1;
            if self.reo_wnd_persist <= 0 {
                self.reo_wnd_mult = 1;
            }
        }
    }

    fn reo_wnd(&self, in_recovery: bool) -> u64 {
        let sacked = self.segments[self.una..].iter().filter(|s| s.sacked).count();
        if !self.reordering_seen && (in_recovery || sacked >= 3) {
            return 0;
        }
        (self.reo_wnd_mult * (MIN_RTT / 4)).min(SRTT)
    }

    /// The deadline of the reordering timer.
    fn detect(&mut self, now: u64, in_recovery: bool) -> Option<u64> {
        let reo_wnd = self.reo_wnd(in_recovery);
        let rack = self.rack?;
        let mut timer = None;
        for s in &mut self.segments[self.una..] {
            let Some(xmit) = s.xmit.filter(|xmit| !s.sacked && rack > (*xmit, s.end)) else {
                continue;
            };
            let due = xmit + self.rtt + reo_wnd;
            if due <= now {
                s.lost = true;
                s.xmit = None;
            } else {
                timer = timer.max(Some(due));
            }
        }
        timer
    }

    fn timeout(&mut self, now: u64, in_recovery: bool) {
        let age = self.rtt + self.reo_wnd(in_recovery);
        for (i, s) in self.segments[self.una..].iter_mut().enumerate() {
            if !s.sacked && (i == 0 || s.xmit.is_none_or(|xmit| xmit + age <= now)) {
                s.lost = true;
                s.xmit = None;
            }
        }
    }

    fn pipe(&self) -> u64 {
        self.segments[self.una..]
            .iter()
            .filter(|s| !s.sacked)
            .map(|s| if s.lost { u64::from(s.xmit.is_some()) } else { 1 })
            .sum::<u64>()
            * 1000
    }

    fn next_lost(&self) -> Option<u64> {
        let waits = |s: &&NaiveSegment| s.lost && s.xmit.is_none() && !s.sacked;
        self.segments[self.una..].iter().find(waits).map(|s| s.end - 1000)
    }
}

#[derive(Clone, Debug)]
enum Event {
    Send,
    Retransmit,
    /// These segments (counted from SND.UNA) arrive and are acknowledged, with or without a DSACK.
    Ack(Vec<usize>, bool),
    Timer,
    Timeout,
}

fn event() -> impl Strategy<Value = Event> {
    let some = prop::collection::vec(0_usize..12, 1..4);
    prop_oneof![
        4 => Just(Event::Send),
        3 => Just(Event::Retransmit),
        5 => (some, prop::bool::weighted(0.1)).prop_map(|(a, d)| Event::Ack(a, d)),
        1 => Just(Event::Timer),
        1 => Just(Event::Timeout),
    ]
}

proptest! {
    #[test]
    fn agrees_with_the_pseudocode(
        steps in prop::collection::vec((0_u64..60, event(), any::<bool>()), 1..120),
    ) {
        let (mut b, mut rack) = (Scoreboard::default(), Rack::new());
        let mut m = Naive {
            segments: Vec::new(),
            una: 0,
            rack: None,
            rtt: 0,
            fack: 0,
            reordering_seen: false,
            reo_wnd_mult: 1,
            reo_wnd_persist: 16,
            dsack_round: None,
        };
        let mut now = 1000;
        for (wait, event, in_recovery) in steps {
            now += wait;
            let nxt = m.segments.len() as u64 * 1000;
            let input = |b: &Scoreboard| ReoWndInput {
                in_recovery,
                segs_sacked: b.sacked_segments(),
                min_rtt: Duration::from_us(MIN_RTT),
                srtt: Duration::from_us(SRTT),
            };
            match event {
                Event::Send => {
                    b.push(nxt, MSS, at(now));
                    let end = nxt + 1000;
                    let fresh = NaiveSegment { xmit: Some(now), first: now, end, ..Default::default() };
                    m.segments.push(fresh);
                    continue;
                }
                Event::Retransmit => {
                    let next = b.next_lost();
                    prop_assert_eq!(next.map(|s| s.start), m.next_lost());
                    if let Some(s) = next {
                        b.on_retransmit(s.start, s.end(), at(now));
                        let s = &mut m.segments[(s.start / 1000) as usize];
                        (s.xmit, s.first, s.retransmitted) = (Some(now), now, true);
                    }
                    continue;
                }
                Event::Ack(which, dsack) => {
                    let total = m.segments.len();
                    let mut delivered: Vec<usize> =
                        which.iter().map(|n| m.una + n).filter(|n| *n < total).collect();
                    delivered.sort_unstable();
                    delivered.dedup();
                    delivered.retain(|n| !m.segments[*n].delivered);
                    let limit = now - MIN_RTT;
                    for n in &delivered {
                        m.segments[*n].delivered = true;
                    }
                    let before = m.una;
                    while m.una < total && m.segments[m.una].delivered {
                        m.una += 1;
                    }
                    m.acked(now, &delivered, limit);
                    let mut acked = Acked { rack_sample: Some(rack.begin_sample(at(limit))), ..Acked::default() };
                    b.ack(m.una as u64 * 1000, &mut acked);
                    // The newest block first, as on the wire.
                    for n in delivered.iter().rev().filter(|n| **n >= m.una) {
                        m.segments[*n].sacked = true;
                        b.sack(*n as u64 * 1000, *n as u64 * 1000 + 1000, &mut acked);
                    }
                    rack.on_sample(at(now), &acked.rack_sample.unwrap());
                    let recovered = in_recovery && m.una > before;
                    m.adapt(dsack, recovered);
                    rack.update_reo_wnd(m.una as u64 * 1000, nxt, dsack, recovered);
                }
                Event::Timer => {}
                Event::Timeout => {
                    let loss_delay = rack.loss_delay(&input(&b));
                    b.mark_lost_on_rto(at(now), loss_delay);
                    m.timeout(now, in_recovery);
                    prop_assert_eq!(b.pipe(), m.pipe());
                    continue;
                }
            }
            let before = m.segments.iter().filter(|s| s.lost && s.xmit.is_none()).count();
            let timer = m.detect(now, in_recovery);
            let after = m.segments.iter().filter(|s| s.lost && s.xmit.is_none()).count();
            if let Some(newest) = rack.newest() {
                let loss_delay = rack.loss_delay(&input(&b));
                let seen = b.mark_overdue_lost(at(now), newest, loss_delay);
                prop_assert_eq!(seen.segments as usize, after - before);
                prop_assert_eq!(seen.deadline, timer.map_or(Instant::FAR_FUTURE, at));
            } else {
                prop_assert_eq!(timer, None);
            }
            prop_assert_eq!(b.pipe(), m.pipe());
        }
    }
}
