use lowtide_units::Instant;

use super::*;
use crate::cc::WindowRules;

const MSS: u64 = 1000;
const NOW: Instant = Instant::ZERO;
/// R.
const BASE: Duration = Duration::from_us(100);

/// A control with the stream of a sender.
struct Flow {
    cc: Box<dyn CongestionControl>,
    una: u64,
}

impl Flow {
    fn with(given: &[(&str, &str)], floor: u64) -> Self {
        let path = CcSetup {
            mss: 1000,
            initial_window: 10 * MSS,
            floor: floor * MSS,
            ssthresh_floor: 0,
            abc_limit: 2 * MSS,
            ecn: false,
            now: NOW,
            seed: 0,
            rtt: None,
            rules: WindowRules::RFC,
        };
        let values = Values::parse(ENTRY.params, given).unwrap();
        Self { cc: build(&values, &path), una: 0 }
    }

    fn new() -> Self {
        Self::with(&[], 1)
    }

    fn segments(&self) -> u64 {
        self.cc.cwnd() / MSS
    }

    fn ack(&mut self, delay: Option<Duration>, nxt: u64) -> Reaction {
        self.una += MSS;
        self.cc.on_ack(&AckSample {
            snd_una: self.una,
            snd_nxt: nxt,
            acked_bytes: MSS,
            delivered_segments: 1,
            queueing_delay: delay,
            base_rtt: delay.map(|_| BASE),
            may_grow: true,
            ..AckSample::default()
        })
    }

    /// One window of data is acknowledged segment by segment, with these delays in turn.
    fn round(&mut self, delays: &[Duration]) -> Reaction {
        let mut last = Reaction::None;
        let window = self.segments();
        for i in 0..window {
            // The next window is in flight when the first ACK of this one arrives.
            let nxt = self.una + self.cc.cwnd() + MSS;
            last = match self.ack(Some(delays[i as usize % delays.len()]), nxt) {
                Reaction::Reduced => Reaction::Reduced,
                Reaction::None => last,
            };
        }
        last
    }

    /// In congestion avoidance with this many segments.
    fn avoiding(segments: u64) -> Self {
        let mut flow = Self::new();
        let loss = CongestionEvent::Loss {
            now: NOW,
            in_flight: 2 * segments * MSS,
            already_reduced: false,
        };
        flow.cc.on_event(&loss);
        while flow.segments() < segments {
            let _ = flow.round(&[Duration::ZERO]);
        }
        assert_eq!(flow.segments(), segments);
        flow
    }

    fn lose(&mut self, in_flight: u64) {
        let now = NOW;
        self.cc.on_event(&CongestionEvent::Loss { now, in_flight, already_reduced: false });
    }

    fn rto(&mut self, first: bool) {
        let in_flight = self.cc.cwnd();
        self.cc.on_event(&CongestionEvent::Rto { now: NOW, first, in_recovery: false, in_flight });
    }
}

const fn us(n: u64) -> Duration {
    Duration::from_us(n)
}

#[test]
fn a_window_at_its_floor_is_not_cut_by_any_queue() {
    let mut flow = Flow::new();
    assert_eq!(flow.round(&[us(200)]), Reaction::Reduced);
    assert_eq!(flow.cc.cwnd(), MSS);
    for _ in 0..20 {
        assert_eq!(flow.round(&[us(90)]), Reaction::None);
        assert_eq!(flow.cc.cwnd(), MSS);
    }
}

/// DX eq. 1 with eq. 8, computed by hand: W (1 - Q / V), V = R W / (W - 1).
#[test]
fn the_cut_is_that_of_equations_1_and_8() {
    for (window, queueing, left) in [
        (10_000, 10_000, 9_100),  // V = 111.1 us: 10 (1 - 0.09)
        (10_000, 50_000, 5_500),  // half of R: 10 - 9 / 2
        (2_000, 10_000, 1_900),   // V = 200 us
        (100_000, 1_230, 98_783), // one packet at 10 Gbit/s
        (10_000, 111_111, 1),     // Q = V
        (10_000, 200_000, 0),     // Q > V
        (1_000, 90_000, 1_000),   // W = 1: eq. 8 has no value, and there is nothing to take
        (500, 90_000, 500),       // W < 1: it would be negative, and the window would grow
    ] {
        assert_eq!(
            target_window(window, MSS, queueing, 100_000),
            left,
            "{window} B, {queueing} ns"
        );
    }
    assert_eq!(target_window(10_000, MSS, 1, 0), 0, "no round trip at all: any queue is beyond V");
    let huge = u64::MAX;
    assert_eq!(target_window(huge, MSS, huge, huge), MSS);
    assert_eq!(target_window(huge, MSS, huge, 1), 0);
}

#[test]
fn slow_start_ends_with_the_first_queue_and_one_segment_per_round_follows() {
    let mut flow = Flow::new();
    assert_eq!(flow.round(&[Duration::ZERO]), Reaction::None);
    assert_eq!(flow.segments(), 20, "one segment per ACK");
    let _ = flow.round(&[Duration::ZERO]);
    assert_eq!((flow.segments(), flow.cc.ssthresh()), (40, u64::MAX));
    assert_eq!(flow.round(&[us(10)]), Reaction::Reduced);
    let after = flow.cc.cwnd();
    assert_eq!(flow.cc.ssthresh(), after);
    assert!(after < 80 * MSS);
    let mut flow = Flow::avoiding(20);
    for more in 1..=5 {
        let _ = flow.round(&[Duration::ZERO]);
        assert_eq!(flow.segments(), 20 + more);
    }
}

#[test]
fn the_mean_of_a_round_decides_and_not_its_peak() {
    // Nine segments without a queue and one with 10 us: Q is 1 us.
    let mut delays = [Duration::ZERO; 10];
    delays[4] = us(10);
    for (headroom, grows) in [("999 ns", false), ("1 us", true)] {
        let mut flow = Flow::with(&[("headroom", headroom), ("cut-by", "whole")], 1);
        flow.lose(20 * MSS);
        assert_eq!(flow.segments(), 10);
        // The first ACK ends the preceding empty round.
        let _ = flow.ack(None, 11 * MSS);
        let nxt = flow.una + 10 * MSS;
        for delay in delays {
            let _ = flow.ack(Some(delay), nxt);
        }
        let before = flow.cc.cwnd();
        let _ = flow.ack(None, 99 * MSS);
        let after = flow.cc.cwnd();
        if grows {
            assert_eq!(after, before + MSS);
        } else {
            assert_eq!(after, before - (before - MSS) / 100, "Q = R / 100");
        }
    }
}

#[test]
fn one_decision_per_round_trip() {
    let mut flow = Flow::with(&[("decide", "each-round")], 1);
    flow.lose(100 * MSS);
    let mut cuts = 0;
    for _ in 0..10 {
        let window = flow.segments();
        for _ in 0..window {
            let nxt = flow.una + window * MSS;
            cuts += u32::from(flow.ack(Some(us(2)), nxt) == Reaction::Reduced);
        }
    }
    assert!((9..=10).contains(&cuts), "{cuts} cuts in ten windows");
}

#[test]
fn a_fresh_round_counts_only_data_sent_after_the_last_decision() {
    let mut flow = Flow::with(&[("decide", "fresh-round")], 1);
    flow.lose(20 * MSS);
    // Decides for the first time, without a measurement; data up to 20 is in flight.
    let _ = flow.ack(None, 20 * MSS);
    let mut cuts = std::vec::Vec::new();
    for _ in 0..60 {
        let nxt = flow.una + 10 * MSS;
        if flow.ack(Some(us(50)), nxt) == Reaction::Reduced {
            cuts.push(flow.una / MSS);
        }
    }
    // Data sent until 20 is stale; 21 to 30 is the round; its end makes the next ten stale.
    assert_eq!(cuts[0], 31, "{cuts:?}");
    assert!(cuts.windows(2).all(|w| w[1] - w[0] >= 20), "{cuts:?}");
}

/// Segments that were acknowledged at each decision in `acks` ACKs, ten segments in flight, with
/// this delay until `change` segments and none later.
fn decisions(rule: &str, change: u64, acks: u32) -> std::vec::Vec<(u64, i64)> {
    let mut flow = Flow::with(&[("decide", rule)], 1);
    flow.lose(20 * MSS);
    let _ = flow.ack(None, 10 * MSS);
    let mut found = std::vec::Vec::new();
    for _ in 0..acks {
        let (before, nxt) = (flow.cc.cwnd(), flow.una + 10 * MSS);
        let delay = if flow.una < change * MSS { us(2) } else { Duration::ZERO };
        let _ = flow.ack(Some(delay), nxt);
        let moved = flow.cc.cwnd() as i64 - before as i64;
        if moved != 0 {
            found.push((flow.una / MSS, moved.signum()));
        }
    }
    found
}

#[test]
fn after_a_cut_only_data_sent_since_counts_and_growth_is_in_each_round_trip() {
    // The queue that the cut at 11 answers is in the delays of all data sent before it, to 20.
    let queue_once = |rule| decisions(rule, 20, 60);
    assert_eq!(queue_once("each-round")[..3], [(11, -1), (21, -1), (31, 1)], "answered twice");
    let after = queue_once("after-cut");
    assert_eq!(after[..4], [(11, -1), (31, 1), (41, 1), (51, 1)], "growth in each round trip");
    let fresh = queue_once("fresh-round");
    assert_eq!(fresh, [(21, -1), (41, 1), (61, 1)], "every second round trip");
}

#[test]
fn after_cut_equals_each_round_without_a_queue_and_fresh_round_with_one_always() {
    assert_eq!(decisions("after-cut", 0, 200), decisions("each-round", 0, 200));
    let gaps = |rule| {
        let all = decisions(rule, 1 << 32, 200);
        all.windows(2).map(|w| w[1].0 - w[0].0).collect::<std::vec::Vec<_>>()
    };
    assert_eq!(gaps("after-cut"), gaps("fresh-round"));
}

/// By hand, with Q = 11 us, headroom 1 us, R = 100 us and W = 11: a cut takes (W - 1) Q / R.
#[test]
fn a_cut_takes_all_of_the_delay_or_that_above_the_headroom() {
    for (cut_by, left) in [("whole", 9_900), ("excess", 10_000), ("excess-shifted", 10_010)] {
        let mut flow = Flow::with(&[("headroom", "1 us"), ("cut-by", cut_by)], 1);
        flow.lose(22 * MSS);
        let _ = flow.ack(None, 11 * MSS);
        let _ = flow.round(&[us(11)]);
        assert_eq!(flow.cc.cwnd(), left, "{cut_by}");
    }
}

#[test]
fn a_delay_up_to_the_headroom_grows_or_holds_the_window() {
    for (below, delay, grows) in
        [("grow", 1, true), ("hold", 1, false), ("hold", 0, true), ("grow", 0, true)]
    {
        let mut flow = Flow::with(&[("headroom", "1 us"), ("below-headroom", below)], 1);
        flow.lose(20 * MSS);
        let _ = flow.ack(None, 10 * MSS);
        let _ = flow.round(&[us(delay)]);
        assert_eq!(flow.segments() > 10, grows, "{below}, {delay} us");
    }
}

#[test]
fn an_unknown_rule_for_decisions_is_rejected() {
    let error = Values::parse(ENTRY.params, &[("decide", "twice")]).unwrap_err();
    assert!(std::format!("{error}").contains("after-cut"), "{error}");
}

/// The module doc's bound on the two readings of `W*` in eq. 8.
#[test]
fn the_window_of_equation_8_matters_by_less_than_q_over_r_of_a_segment() {
    let (rtt, mss) = (100_000_u64, MSS as f64);
    for window in 2..200_u64 {
        // Windows before the last decision: growth by one, or a cut to no less than half.
        for previous in [window - 1, window + 1, 2 * window - 1] {
            for queueing in [1_200, 12_000, 60_000] {
                let share = queueing as f64 / rtt as f64;
                let here = (window * MSS - target_window(window * MSS, MSS, queueing, rtt)) as f64;
                // W Q / V with V = R W* / (W* - 1).
                let previous = previous as f64;
                let paper = window as f64 * mss * share * (previous - 1.0) / previous;
                let bound = share * mss + 1.0;
                assert!((here - paper).abs() <= bound, "{window} {previous}: {here} {paper}");
            }
        }
    }
}

#[test]
fn the_floor_holds_for_any_queue() {
    for floor in [1, 2] {
        let mut flow = Flow::with(&[], floor);
        for _ in 0..10 {
            let _ = flow.round(&[us(1_000)]);
            assert!(flow.segments() >= floor);
        }
        assert_eq!(flow.segments(), floor);
        for _ in 0..6 {
            let _ = flow.round(&[Duration::ZERO]);
        }
        assert!(flow.segments() > floor, "and it grows again");
    }
}

#[test]
fn loss_without_a_queue_leaves_the_window() {
    let mut flow = Flow::avoiding(30);
    let before = (flow.cc.cwnd(), flow.cc.ssthresh());
    flow.lose(30 * MSS);
    flow.cc.on_event(&CongestionEvent::Recovered { now: NOW, in_flight: 0 });
    flow.cc.on_event(&CongestionEvent::Undo { now: NOW });
    assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), before);
    flow.rto(true);
    assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), before);
    // There was a measurement since: the next timeout is a first one again.
    let _ = flow.ack(Some(Duration::ZERO), 1 << 40);
    flow.rto(true);
    assert_eq!(flow.cc.cwnd(), before.0);
    // No ACK arrived between two timeouts.
    flow.rto(false);
    assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (MSS, 15 * MSS));
}

#[test]
fn loss_in_a_queue_and_before_any_measurement_halves() {
    let mut blind = Flow::new();
    blind.lose(8 * MSS);
    assert_eq!((blind.segments(), blind.cc.ssthresh()), (4, 4 * MSS));

    let mut flow = Flow::avoiding(30);
    let _ = flow.round(&[us(10)]);
    let window = flow.cc.cwnd();
    flow.lose(window);
    assert_eq!(flow.cc.cwnd(), window / 2);

    let mut flow = Flow::avoiding(30);
    // A measurement in the current round is enough.
    let _ = flow.ack(Some(us(50)), 1 << 40);
    flow.rto(true);
    assert_eq!(flow.cc.cwnd(), MSS);
}

#[test]
fn without_a_measurement_the_window_stays() {
    let mut flow = Flow::avoiding(10);
    for i in 0..100 {
        let _ = flow.ack(None, (i + 20) * MSS);
    }
    assert_eq!(flow.segments(), 10);
}
