use std::collections::VecDeque;
use std::string::String;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;

/// A bulk sender of segments of length one, whose peer acknowledges each segment with SACK. A loss
/// is detected as soon as three segments above it have arrived, as in RFC 6675.
struct Bulk {
    arrived: Vec<bool>,
    lost: Vec<bool>,
    retransmitted: Vec<bool>,
    una: usize,
    target: u64,
    prr: Option<Prr>,
    /// Segments in flight, in order.
    wire: VecDeque<usize>,
}

impl Bulk {
    fn new(window: usize, target: u64) -> Self {
        let mut bulk = Self {
            arrived: Vec::new(),
            lost: Vec::new(),
            retransmitted: Vec::new(),
            una: 0,
            target,
            prr: None,
            wire: VecDeque::new(),
        };
        for _ in 0..window {
            bulk.send_new();
        }
        bulk
    }

    fn send_new(&mut self) {
        self.wire.push_back(self.arrived.len());
        self.arrived.push(false);
        self.lost.push(false);
        self.retransmitted.push(false);
    }

    fn pipe(&self) -> u64 {
        (self.una..self.arrived.len())
            .filter(|n| !self.arrived[*n])
            .map(|n| u64::from(!self.lost[n]) + u64::from(self.retransmitted[n]))
            .sum()
    }

    /// Segment `n` arrives and its ACK returns. The result lists the segments sent: N is new, R a
    /// retransmission.
    fn ack(&mut self, n: usize) -> String {
        self.arrived[n] = true;
        let before = self.una;
        while self.una < self.arrived.len() && self.arrived[self.una] {
            self.una += 1;
        }
        let mut lost_now = false;
        for hole in self.una..self.arrived.len() {
            let above = (hole + 1..self.arrived.len()).filter(|s| self.arrived[*s]).count();
            if !self.arrived[hole] && !self.lost[hole] && above >= 3 {
                self.lost[hole] = true;
                lost_now = true;
            }
        }
        let sacked = (self.una..self.arrived.len()).filter(|s| self.arrived[*s]).count() as u64;
        if lost_now && self.prr.is_none() {
            let flight_size = (self.arrived.len() - self.una) as u64;
            self.prr = Some(Prr::begin(flight_size - sacked + 1, None));
        }
        let mut out = String::new();
        let in_flight = self.pipe();
        let Some(mut prr) = self.prr else {
            // Limited transmit.
            self.send_new();
            out.push('N');
            return out;
        };
        let safe = self.una > before && !lost_now;
        prr.on_ack(&PrrAck { delivered: 1, in_flight, target: self.target, safe, mss: 1 });
        while prr.budget() > 0 {
            let next = (self.una..self.arrived.len())
                .find(|n| self.lost[*n] && !self.retransmitted[*n] && !self.arrived[*n]);
            if let Some(n) = next {
                self.retransmitted[n] = true;
                self.wire.push_back(n);
                out.push('R');
            } else {
                self.send_new();
                out.push('N');
            }
            prr.on_sent(1);
        }
        self.prr = Some(prr);
        out
    }
}

#[test]
fn a_single_loss_sends_on_every_other_ack() {
    // RFC 6937 §3.1: segment 0 of 20 is lost, ssthresh is 10.
    let mut bulk = Bulk::new(20, 10);
    let sent: Vec<String> = (1..20).map(|n| bulk.ack(n)).collect();
    let row = sent.iter().map(|s| if s.is_empty() { "." } else { s }).collect::<String>();
    assert_eq!(row, "NNR.N.N.N.N.N.N.N..");
    assert_eq!(bulk.pipe(), 10, "the round ends at ssthresh");
}

#[test]
fn a_burst_of_losses_is_repaired_by_the_ack_clock() {
    // RFC 6937 §3.1: the first 15 of 20 are lost. No ACK is safe, so each releases one segment.
    let mut bulk = Bulk::new(20, 10);
    let sent: Vec<String> = (15..20).map(|n| bulk.ack(n)).collect();
    assert_eq!(sent, ["N", "N", "R", "R", "R"]);
    assert_eq!(bulk.pipe(), 5);
    // The segments of limited transmit arrive, then the first retransmissions, and SND.UNA
    // advances. Recovery makes progress: each ACK releases two segments, up to ssthresh.
    assert_eq!([20, 21].map(|n| bulk.ack(n)), ["R", "R"]);
    let sent: Vec<String> = (0..6).map(|n| bulk.ack(n)).collect();
    assert_eq!(sent, ["RR", "RR", "RR", "RR", "RR", "N"]);
    assert_eq!(bulk.pipe(), 10);
}

fn prr_ack(delivered: u64, in_flight: u64) -> PrrAck {
    PrrAck { delivered, in_flight, target: 10_000, safe: false, mss: 1000 }
}

#[test]
fn the_first_segment_is_sent_even_when_the_formula_gives_zero() {
    let mut prr = Prr::begin(20_000, None);
    assert_eq!(prr.budget(), 0);
    prr.on_ack(&PrrAck { target: 0, ..prr_ack(1000, 20_000) });
    assert_eq!(prr.budget(), 1000);
    prr.on_sent(1000);
    prr.on_ack(&PrrAck { target: 0, ..prr_ack(1000, 19_000) });
    assert_eq!(prr.budget(), 0, "once");
}

#[test]
fn shares_are_rounded_up_to_segments_and_sent_bytes_count() {
    let mut prr = Prr::begin(20_000, None);
    prr.on_ack(&prr_ack(1, 20_000));
    assert_eq!(prr.budget(), 1000, "half a byte is the first segment");
    prr.on_sent(400);
    assert_eq!(prr.budget(), 600);
    prr.on_ack(&prr_ack(1999, 20_000));
    assert_eq!(prr.budget(), 600, "2000 B delivered are one segment of share");
    prr.on_ack(&prr_ack(1, 20_000));
    assert_eq!(prr.budget(), 1600);
}

#[test]
fn an_ack_that_delivers_nothing_changes_nothing() {
    let mut prr = Prr::begin(20_000, None);
    prr.on_ack(&prr_ack(4000, 20_000));
    assert_eq!(prr.budget(), 2000);
    prr.on_ack(&prr_ack(0, 0));
    assert_eq!(prr.budget(), 2000);
}

#[test]
fn below_the_target_a_safe_ack_adds_a_segment_and_the_target_limits() {
    for (safe, in_flight, budget) in
        [(false, 5000, 1000), (true, 5000, 2000), (true, 8500, 1500), (true, 10_000, 0)]
    {
        let mut prr = Prr::begin(20_000, None);
        prr.on_sent(1);
        prr.on_ack(&PrrAck { safe, ..prr_ack(1000, in_flight) });
        assert_eq!(prr.budget(), budget, "{safe} {in_flight}");
    }
    // Bytes that were delivered but not used may still be sent.
    let mut prr = Prr::begin(20_000, None);
    prr.on_ack(&prr_ack(4000, 20_000));
    prr.on_sent(2000);
    prr.on_ack(&prr_ack(1000, 3000));
    assert_eq!(prr.budget(), 3000);
}

#[test]
fn a_timer_releases_one_segment_if_there_is_room() {
    let mut prr = Prr::begin(20_000, None);
    prr.on_timer(20_000, 10_000, 1000);
    assert_eq!(prr.budget(), 1000, "the fast retransmission");
    prr.on_sent(1000);
    prr.on_timer(9001, 10_000, 1000);
    assert_eq!(prr.budget(), 0);
    prr.on_timer(9000, 10_000, 1000);
    assert_eq!(prr.budget(), 1000);
}

#[test]
fn a_cut_for_ecn_ends_with_its_window_and_a_loss_with_recovery() {
    let prr = Prr::begin(1, Some(5000));
    assert!(!prr.is_over(4999));
    assert!(prr.is_over(5000));
    assert!(!prr.restart(1, Some(7000), 1000).is_over(5000));
    assert!(!Prr::begin(1, None).is_over(u64::MAX));
}

#[test]
fn a_cut_per_ack_sends_what_the_targets_allow_and_saves_no_budget() {
    // Ten segments in flight, each ACK delivers one and is marked: the target halves each time.
    let mut prr = Prr::begin(10_000, Some(10_000));
    let mut sent = 0;
    for target in [5000, 2500, 1250, 1000, 1000] {
        prr.on_ack(&PrrAck { target, ..prr_ack(1000, 9000) });
        if prr.budget() > 0 {
            sent += 1;
            prr.on_sent(1000);
        }
        prr = prr.restart(10_000, Some(10_000), 1000);
    }
    // 0.5 + 0.25 + 0.125 + 0.1 + 0.1 segments: one, and a second by rounding.
    assert_eq!(sent, 2);
    // Unused budget of the large target is discarded with the small one.
    let mut prr = Prr::begin(10_000, Some(10_000));
    prr.on_ack(&PrrAck { target: 5000, ..prr_ack(8000, 9000) });
    assert_eq!(prr.budget(), 4000);
    prr = prr.restart(9000, Some(10_000), 1000);
    prr.on_ack(&PrrAck { target: 1000, ..prr_ack(1000, 8000) });
    assert_eq!(prr.budget(), 1000);
}

#[test]
fn bytes_sent_below_the_target_are_no_debt_of_the_next_cut() {
    let mut prr = Prr::begin(10_000, Some(10_000));
    prr.on_sent(3000);
    prr.on_ack(&PrrAck { target: 5000, ..prr_ack(1000, 5000) });
    prr = prr.restart(10_000, Some(10_000), 1000);
    prr.on_ack(&PrrAck { target: 5000, ..prr_ack(1000, 9000) });
    assert_eq!(prr.budget(), 1000, "half a segment of share is the first segment");
}

#[test]
fn without_sack_a_duplicate_counts_a_segment_and_an_advance_what_is_left() {
    let mut prr = Prr::begin(10_000, None).with_dupacks(2000);
    assert_eq!(prr.delivered_without_sack(0, true, 10_000, 1000), 1000);
    assert_eq!(prr.dupack_delivered(), 3000);
    assert_eq!(prr.delivered_without_sack(0, false, 10_000, 1000), 0);
    // The hole and two of the three duplicates.
    assert_eq!(prr.delivered_without_sack(3000, false, 7000, 1000), 1000);
    assert_eq!(prr.dupack_delivered(), 1000);
    assert_eq!(prr.delivered_without_sack(5000, false, 2000, 1000), 4000);
    assert_eq!(prr.dupack_delivered(), 0);
    // More duplicates than segments in flight are not counted.
    let counted: u64 = (0..10).map(|_| prr.delivered_without_sack(0, true, 4000, 1000)).sum();
    assert_eq!(counted, 3000);
    // Nor is a duplicate that would leave no room for the missing segment.
    let mut prr = Prr::begin(10_000, None);
    let counted: u64 = (0..10).map(|_| prr.delivered_without_sack(0, true, 4500, 1000)).sum();
    assert_eq!(counted, 3000);
}

proptest! {
    /// For any input: while too much is in flight, the sent bytes stay within the share of the
    /// delivered bytes. Otherwise the pipe never exceeds the target.
    #[test]
    fn sends_no_more_than_the_rules_allow(
        recover_fs in 1_u64..50,
        target in 1_u64..50,
        acks in prop::collection::vec((0_u64..4, 0_u64..60, any::<bool>(), 0_u64..5), 1..60),
    ) {
        let mut prr = Prr::begin(recover_fs, None);
        let (mut delivered, mut out) = (0_u64, 0_u64);
        for (newly_delivered, in_flight, safe, used) in acks {
            let before = prr.budget();
            prr.on_ack(&PrrAck { delivered: newly_delivered, in_flight, target, safe, mss: 1 });
            delivered += newly_delivered;
            let budget = prr.budget();
            if newly_delivered == 0 {
                prop_assert_eq!(budget, before);
            } else if out == 0 && budget == 1 {
                // The forced segment may exceed every bound.
            } else if in_flight > target {
                prop_assert!(budget == 0 || out + budget == (delivered * target).div_ceil(recover_fs));
            } else {
                prop_assert!(in_flight + budget <= target);
                let bound = delivered.saturating_sub(out).max(newly_delivered) + u64::from(safe);
                prop_assert!(budget <= bound);
                prop_assert!(budget == bound || in_flight + budget == target, "no less than allowed");
            }
            let used = used.min(prr.budget());
            prr.on_sent(used);
            out += used;
        }
    }

    /// Some segments of the first window are lost; all others arrive in the order of transmission.
    /// When a round has been delivered, the bytes in flight equal the target.
    #[test]
    fn the_round_ends_at_the_target(
        window in 8_usize..60,
        share in 1_u64..10,
        lost in prop::collection::btree_set(0_usize..60, 1..6),
    ) {
        let target = (window as u64 * share / 10).max(1);
        prop_assume!(lost.iter().all(|n| n + 4 < window) && window >= 2 * lost.len());
        let mut bulk = Bulk::new(window, target);
        bulk.wire.retain(|n| !lost.contains(n));
        let mut left = None;
        while left != Some(0) {
            let n = bulk.wire.pop_front().expect("the ACK clock never stops");
            bulk.ack(n);
            left = match (left, bulk.prr) {
                (None, Some(prr)) => Some(prr.recover_fs),
                (left, _) => left.map(|n| n - 1),
            };
        }
        prop_assert_eq!(bulk.pipe(), target);
    }
}
