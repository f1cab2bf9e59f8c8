use lowtide_units::Instant;

use super::*;
use crate::cc::WindowRules;

const MSS: u64 = 1000;
const NOW: Instant = Instant::ZERO;

/// A control with the sequence space and path of a sender.
struct Flow {
    cc: Box<dyn CongestionControl>,
    una: u64,
}

impl Flow {
    fn new() -> Self {
        let path = CcSetup {
            mss: 1000,
            initial_window: 4 * MSS,
            floor: 2 * MSS,
            ssthresh_floor: 0,
            abc_limit: 2 * MSS,
            ecn: true,
            now: NOW,
            seed: 0,
            rtt: None,
            rules: WindowRules::RFC,
        };
        Self { cc: build(&Values::parse(ENTRY.params, &[]).unwrap(), &path), una: 0 }
    }

    /// In congestion avoidance with ten segments, base RTT 100 us.
    fn avoiding() -> Self {
        let mut flow = Self::new();
        let _ = flow.round(100);
        flow.cc.on_event(&CongestionEvent::Loss {
            now: NOW,
            in_flight: 20 * MSS,
            already_reduced: false,
        });
        while flow.segments() < 10 {
            let _ = flow.round(100);
        }
        flow
    }

    fn segments(&self) -> u64 {
        self.cc.cwnd() / MSS
    }

    /// One window of data, acknowledged segment by segment with this round-trip time. Returns the
    /// number of reductions.
    fn round(&mut self, rtt_us: u64) -> usize {
        let nxt = self.una + self.cc.cwnd();
        let mut cuts = 0;
        while self.una < nxt {
            let prior_in_flight = nxt - self.una;
            self.una += MSS;
            let sample = AckSample {
                snd_una: self.una,
                // Each ACK releases new data, so the window stays full.
                snd_nxt: self.una + self.cc.cwnd(),
                acked_bytes: MSS,
                acked_segments: 1,
                prior_in_flight: prior_in_flight.max(self.cc.cwnd()),
                rtt: Some(Duration::from_us(rtt_us)),
                may_grow: true,
                may_reduce: true,
                ..AckSample::default()
            };
            cuts += usize::from(self.cc.on_ack(&sample) == Reaction::Reduced);
        }
        cuts
    }
}

#[test]
fn slow_start_doubles_in_every_other_round_trip() {
    let mut flow = Flow::new();
    let windows: alloc::vec::Vec<u64> = (0..4)
        .map(|_| {
            let _ = flow.round(100);
            flow.segments()
        })
        .collect();
    assert_eq!(windows, [8, 8, 16, 16]);
}

#[test]
fn slow_start_ends_with_an_eighth_less_when_more_than_gamma_wait() {
    let mut flow = Flow::new();
    while flow.segments() < 16 {
        let _ = flow.round(100);
    }
    // At 120 us a sixth of the window, more than two segments, is queued.
    let mut cuts = 0;
    for _ in 0..3 {
        cuts += flow.round(120);
    }
    assert_eq!(cuts, 1);
    assert!(flow.cc.ssthresh() < u64::MAX);
    assert_eq!(flow.segments(), 14);
}

#[test]
fn between_alpha_and_beta_the_window_stays() {
    let mut flow = Flow::avoiding();
    // Two of ten segments are queued at 125 us.
    let _ = flow.round(125);
    let before = flow.segments();
    for _ in 0..5 {
        assert_eq!(flow.round(125), 0);
    }
    assert_eq!(flow.segments(), before);
}

#[test]
fn above_beta_one_segment_less_each_round_trip_and_below_alpha_one_more() {
    let mut flow = Flow::avoiding();
    // Half of the window is queued.
    let _ = flow.round(200);
    let before = flow.segments();
    let cuts: usize = (0..3).map(|_| flow.round(200)).sum();
    assert_eq!(cuts, 3);
    assert_eq!(flow.segments(), before - 3);
    let _ = flow.round(100);
    let before = flow.segments();
    for _ in 0..3 {
        assert_eq!(flow.round(100), 0);
    }
    assert!((before + 2..=before + 4).contains(&flow.segments()), "{}", flow.segments());
}

#[test]
fn at_the_floor_nothing_is_taken_and_nothing_reported() {
    let mut flow = Flow::avoiding();
    for _ in 0..30 {
        let _ = flow.round(1_000_000);
    }
    assert_eq!(flow.segments(), 3, "three of three wait: not more than beta");
    assert_eq!(flow.round(1_000_000), 0);
}

#[test]
fn a_round_without_a_sample_decides_nothing() {
    assert_eq!(Round::default().diff_bytes(Duration::ZERO), None);
    let zero = Round { samples: 3, ..Round::default() };
    assert_eq!(zero.diff_bytes(Duration::ZERO), None);
    let round = Round { samples: 2, sum: 300, max_in_flight: 1000, ..Round::default() };
    assert_eq!(round.diff_bytes(Duration::from_ps(100)), Some(333));
    assert_eq!(round.diff_bytes(Duration::from_ps(200)), Some(0), "a base above the mean");
}
