use std::vec::Vec;

use super::*;
use crate::cc::WindowRules;

const MSS: u64 = 1000;

/// A control with a target of 30 us for the fabric without flow scaling, and 100 us for hosts.
struct Flow {
    cc: Box<dyn CongestionControl>,
    now: Instant,
}

impl Flow {
    fn with(given: &[(&str, &str)], segments: u64) -> Self {
        let setup = CcSetup {
            mss: 1000,
            initial_window: segments * MSS,
            floor: 2 * MSS,
            ssthresh_floor: 0,
            abc_limit: 2 * MSS,
            ecn: false,
            now: Instant::ZERO,
            seed: 0,
            rtt: None,
            rules: WindowRules::RFC,
        };
        let own = [("hops", "5"), ("fs-range", "0 s")];
        let own = own.into_iter().filter(|(name, _)| given.iter().all(|(other, _)| name != other));
        let all: Vec<_> = own.chain(given.iter().copied()).collect();
        let values = Values::parse(ENTRY.params, &all).unwrap();
        Self { cc: build(&values, &setup), now: Instant::ZERO }
    }

    fn new(segments: u64) -> Self {
        Self::with(&[], segments)
    }

    /// One ACK `after_us` later, with these delays; the RTT is 40 us.
    fn ack(&mut self, after_us: u64, fabric_us: u64, endpoint_us: u64, segments: u64) -> u64 {
        self.now += us(after_us);
        let _ = self.cc.on_ack(&AckSample {
            now: self.now,
            acked_bytes: segments * MSS,
            delivered_bytes: segments * MSS,
            rtt: Some(us(40)),
            fabric_delay: Some(us(fabric_us)),
            endpoint_delay: Some(us(endpoint_us)),
            may_grow: true,
            ..AckSample::default()
        });
        self.cc.cwnd()
    }

    fn rto(&mut self, after_us: u64) -> u64 {
        self.now += us(after_us);
        let (now, in_flight) = (self.now, 0);
        self.cc.on_event(&CongestionEvent::Rto { now, first: true, in_recovery: false, in_flight });
        self.cc.cwnd()
    }

    fn lose(&mut self, after_us: u64) -> u64 {
        self.now += us(after_us);
        let (now, in_flight, already_reduced) = (self.now, 0, false);
        self.cc.on_event(&CongestionEvent::Loss { now, in_flight, already_reduced });
        self.cc.cwnd()
    }

    fn probed(&self, name: &str) -> u64 {
        struct Find<'a>(&'a str, Option<u64>);
        impl Probe for Find<'_> {
            fn value(&mut self, name: &str, _: Unit, value: u64) {
                self.1 = self.1.or((name == self.0).then_some(value));
            }
        }
        let mut find = Find(name, None);
        self.cc.probe(&mut find);
        find.1.unwrap()
    }
}

const fn us(n: u64) -> Duration {
    Duration::from_us(n)
}

/// Algorithm 1 lines 7 to 11, by hand: 10 + 1 / 10, then + 2 / 10.1; below one segment + 1.
#[test]
fn below_the_target_a_window_grows_by_ai_per_round_trip() {
    let mut flow = Flow::new(10);
    assert_eq!(flow.ack(1, 29, 0, 1), 10_100);
    assert_eq!(flow.ack(1, 29, 0, 2), 10_298);
    let mut flow = Flow::with(&[("ai", "1/4")], 10);
    assert_eq!(flow.ack(1, 29, 0, 10), 10_250);
    let mut small = Flow::new(1);
    assert_eq!(small.lose(0), 500);
    assert_eq!(small.ack(1, 29, 0, 1), 1_500);
    assert_eq!(small.ack(1, 29, 0, 1), 2_166);
}

/// Line 14, by hand: 1 - 0.8 (40 - 30) / 40 = 0.8 and 1 - 0.8 (32 - 30) / 32 = 0.95.
#[test]
fn at_the_target_it_shrinks_in_proportion_once_per_round_trip() {
    let mut flow = Flow::new(10);
    assert_eq!(flow.ack(0, 40, 0, 1), 8_000);
    assert_eq!(flow.ack(39, 40, 0, 1), 8_000, "within a round trip of the last");
    assert_eq!(flow.ack(1, 32, 0, 1), 7_600);
    // 1 - 0.8 (300 - 30) / 300 = 0.28 is less than 1 - max_mdf.
    assert_eq!(flow.ack(40, 300, 0, 1), 3_800);
    // At the target it neither grows nor shrinks, and that is no decrease (line 27).
    assert_eq!(flow.ack(40, 30, 0, 1), 3_800);
    assert_eq!(flow.ack(0, 40, 0, 1), 3_040);
}

/// §3.5 by hand, `fs_min` 1/4 and `fs_max` 4 segments, range 90 us: 1 / sqrt(W) goes from 2 to 1/2,
/// so that `a` = 60 us and `b` = -30 us.
#[test]
fn the_target_follows_the_inverse_root_of_the_window() {
    let scaled = [("fs-range", "90 us"), ("fs-min-cwnd", "1/4"), ("fs-max-cwnd", "4")];
    for (halvings, target_us) in [
        (0, 30),  // 16 segments: 15 - 30 is negative
        (2, 30),  // 4: 60 / 2 - 30
        (4, 60),  // 1: 60 - 30
        (6, 120), // 1/4: 120 - 30
        (8, 120), // 1/16: 240 - 30 is beyond the range
    ] {
        let mut flow = Flow::with(&scaled, 16);
        for _ in 0..halvings {
            flow.lose(40);
        }
        let target = flow.probed("target-delay");
        assert!(target.abs_diff(us(target_us).as_ps()) < 1_000, "{halvings}: {target}");
    }
    // The hops count: 25 us and 3 of 2 us.
    let flow = Flow::with(&[("hops", "3"), ("hop-delay", "2 us")], 16);
    assert_eq!(flow.probed("target-delay"), us(31).as_ps());
}

/// The EWMA by hand: 100, then 100 + (260 - 100) / 8 = 120, so the endpoint window keeps
/// 1 - 0.8 (120 - 100) / 120 = 13 / 15.
#[test]
fn slow_hosts_reduce_the_endpoint_window_and_not_that_of_the_fabric() {
    let mut flow = Flow::new(15);
    assert_eq!(flow.ack(0, 20, 100, 0), 15_000, "at the target");
    assert_eq!(flow.ack(0, 20, 260, 0), 13_000);
    assert_eq!((flow.probed("endpoint-window"), flow.probed("fabric-window")), (13_000, 15_000));
    assert_eq!(flow.ack(40, 40, 0, 0), 12_000, "the smaller one applies: 15 x 0.8");
    assert_eq!(flow.probed("fabric-window"), 12_000);
}

#[test]
fn timeouts_in_a_row_lead_to_the_minimum_and_an_ack_begins_anew() {
    let mut flow = Flow::with(&[("retx-reset-threshold", "3")], 16);
    assert_eq!((flow.rto(100), flow.rto(10), flow.rto(0)), (8_000, 4_000, 1), "no RTT so far");
    let mut flow = Flow::with(&[("retx-reset-threshold", "3"), ("min-cwnd", "1/50")], 16);
    assert_eq!(flow.rto(100), 8_000);
    assert_eq!(flow.ack(1, 30, 0, 1), 8_000);
    assert_eq!((flow.rto(100), flow.rto(100), flow.rto(100)), (4_000, 2_000, 20));
    // Fast recovery also ends the row (line 23).
    assert_eq!(flow.lose(100), 20);
    assert_eq!(flow.rto(100), 20);
}

#[test]
fn a_window_stays_within_its_bounds() {
    let mut flow = Flow::with(&[("max-cwnd", "10"), ("min-cwnd", "1/10")], 20);
    assert_eq!(flow.cc.cwnd(), 10_000);
    assert_eq!(flow.ack(1, 0, 0, 10), 10_000);
    for _ in 0..10 {
        flow.ack(40, 1_000, 0, 1);
    }
    assert_eq!(flow.cc.cwnd(), 100);
    // A minimum above the maximum, and nonsense elsewhere, is no reason to panic.
    let strange = [
        ("min-cwnd", "4000000000"),
        ("max-cwnd", "2"),
        ("max-mdf", "7"),
        ("beta", "4000000000"),
        ("fs-min-cwnd", "100"),
        ("fs-max-cwnd", "0.1"),
        ("base-target", "0 s"),
        ("endpoint-target", "0 s"),
    ];
    let mut flow = Flow::with(&strange, 10);
    assert_eq!(flow.ack(40, 0, 0, 1), 2_000);
    assert_eq!(flow.ack(40, 1_000, 0, u64::MAX / MSS), 2_000);
}
