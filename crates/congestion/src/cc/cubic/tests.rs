use super::*;
use crate::cc::WindowRules;

const MSS: u64 = 1000;

fn setup() -> CcSetup {
    CcSetup {
        mss: 1000,
        initial_window: 100 * MSS,
        floor: 2 * MSS,
        ssthresh_floor: 0,
        abc_limit: 2 * MSS,
        ecn: true,
        now: Instant::ZERO,
        seed: 0,
        rtt: None,
        rules: WindowRules::RFC,
    }
}

/// A sender that always has data: one ACK per segment, spread evenly over the round trip.
struct Flow {
    cc: Box<dyn CongestionControl>,
    now: Instant,
    rtt: Duration,
}

impl Flow {
    fn new(rtt: Duration) -> Self {
        Self {
            cc: build(&Values::parse(ENTRY.params, &[]).unwrap(), &setup()),
            now: Instant::ZERO,
            rtt,
        }
    }

    fn cwnd(&self) -> u64 {
        self.cc.cwnd()
    }

    fn sample(&self) -> AckSample {
        AckSample {
            now: self.now,
            acked_bytes: MSS,
            acked_segments: 1,
            rtt: Some(self.rtt),
            in_flight: self.cwnd(),
            prior_in_flight: self.cwnd(),
            may_grow: true,
            may_reduce: true,
            ..AckSample::default()
        }
    }

    fn round(&mut self) {
        let segments = (self.cwnd() / MSS).max(1);
        let start = self.now;
        for i in 1..=segments {
            self.now = start + self.rtt * i / segments;
            let _ = self.cc.on_ack(&self.sample());
        }
    }

    fn run(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            self.round();
        }
    }

    fn lose(&mut self) {
        let (now, in_flight) = (self.now, self.cwnd());
        self.cc.on_event(&CongestionEvent::Loss { now, in_flight, already_reduced: false });
    }

    fn mark(&mut self) -> Reaction {
        self.cc.on_ack(&AckSample { ece: true, ..self.sample() })
    }

    fn w_max(&self) -> u64 {
        struct Seen(u64);
        impl Probe for Seen {
            fn value(&mut self, name: &str, unit: Unit, value: u64) {
                assert_eq!((name, unit), ("w_max", Unit::Bytes));
                self.0 = value;
            }
        }
        let mut seen = Seen(u64::MAX);
        self.cc.probe(&mut seen);
        seen.0
    }
}

/// True if `value` is within `percent` of `ideal`.
fn near(value: u64, ideal: u64, percent: u64) -> bool {
    value.abs_diff(ideal) * 100 <= ideal * percent
}

#[test]
fn the_cube_root_is_exact() {
    for root in [1_u64, 2, 3, 10, 1000, 4_217_163, 1 << 40, (1 << 42) + 12345] {
        let cube = u128::from(root).pow(3);
        assert_eq!(cube_root(cube), root);
        assert_eq!(cube_root(cube - 1), root - 1);
        assert_eq!(cube_root(cube + 1), root);
    }
    assert_eq!(cube_root(0), 0);
    let most = u128::from(cube_root(u128::MAX));
    assert!(most.checked_pow(3).is_some() && (most + 1).checked_pow(3).is_none());
}

#[test]
fn k_and_the_curve_are_those_of_the_rfc() {
    // (100 - 70) / 0.4 = 75 segments; its cube root is 4.217163 s.
    let k = k_us(30 * MSS, MSS);
    assert_eq!(k, 4_217_163);
    let stage = Stage { start: Instant::ZERO, k_us: k, plateau: 100 * MSS, w_est: 0 };
    let at = |us| w_cubic(&stage, MSS, Duration::from_us(us));
    assert_eq!(at(0).abs_diff(70 * MSS), 1, "W_cubic(0) = cwnd_epoch, but for rounding");
    assert_eq!(at(k), 100 * MSS);
    assert_eq!(at(2 * k), 100 * MSS + 29_999);
    // 0.4 segments per cubic second, one second on both sides of the plateau.
    assert_eq!((at(k - 1_000_000), at(k + 1_000_000)), (99_600, 100_400));
}

#[test]
fn a_long_path_returns_to_the_plateau_after_k_and_leaves_it_again() {
    let mut flow = Flow::new(Duration::from_ms(200));
    flow.lose();
    assert_eq!(flow.cwnd(), 70 * MSS);
    flow.run(Duration::from_ms(1_000));
    // W_cubic(1.2 s) = 100 - 0.4 * 3.017^3 = 89.0 segments.
    assert!(near(flow.cwnd(), 89 * MSS, 3), "{}", flow.cwnd());
    flow.run(Duration::from_ms(3_200));
    assert!(near(flow.cwnd(), 100 * MSS, 1), "{}", flow.cwnd());
    flow.run(Duration::from_ms(4_200));
    assert!(near(flow.cwnd(), 130 * MSS, 4), "{}", flow.cwnd());
}

#[test]
fn a_short_path_grows_as_reno_would() {
    let mut flow = Flow::new(Duration::from_ms(1));
    flow.lose();
    // 9/17 of a segment per round trip up to the old window: 30 segments in 57 round trips.
    flow.run(Duration::from_ms(34));
    assert!(near(flow.cwnd(), 88 * MSS, 1), "{}", flow.cwnd());
    flow.run(Duration::from_ms(23));
    assert!(near(flow.cwnd(), 100 * MSS, 1), "{}", flow.cwnd());
    // From there one segment per round trip.
    flow.run(Duration::from_ms(50));
    assert!(near(flow.cwnd(), 150 * MSS, 1), "{}", flow.cwnd());
}

#[test]
fn growth_is_at_most_half_a_window_per_round_trip() {
    let mut flow = Flow::new(Duration::from_ms(200));
    flow.lose();
    flow.round();
    // A long silence on the wire, not an application pause: the curve rises far above the window.
    flow.now += Duration::from_secs(100);
    let before = flow.cwnd();
    for _ in 0..before / MSS {
        let _ = flow.cc.on_ack(&flow.sample());
    }
    // Each ACK targets 1.5 windows, so each segment acknowledged adds half a segment.
    assert!(near(flow.cwnd(), before * 3 / 2, 1), "{}", flow.cwnd());
}

#[test]
fn losses_and_marks_leave_seven_tenths_and_do_not_add_up() {
    let mut flow = Flow::new(Duration::from_ms(10));
    assert_eq!(flow.mark(), Reaction::Reduced);
    assert_eq!((flow.cwnd(), flow.cc.ssthresh()), (70 * MSS, 70 * MSS));
    let now = flow.now;
    let in_flight = 95 * MSS;
    flow.cc.on_event(&CongestionEvent::Loss { now, in_flight, already_reduced: true });
    assert_eq!((flow.cwnd(), flow.w_max()), (70 * MSS, 100 * MSS));
    flow.cc.on_event(&CongestionEvent::Loss { now, in_flight: 60 * MSS, already_reduced: false });
    assert_eq!(flow.cwnd(), 42 * MSS, "a loss counts what is in flight");
}

#[test]
fn fast_convergence_lowers_the_plateau_if_enabled() {
    for (on, plateau) in [("true", 59_500), ("false", 70_000)] {
        let mut flow = Flow::new(Duration::from_ms(10));
        let values = Values::parse(ENTRY.params, &[("fast-convergence", on)]).unwrap();
        flow.cc = build(&values, &setup());
        flow.lose();
        assert_eq!(flow.w_max(), 100 * MSS);
        flow.lose();
        assert_eq!(flow.w_max(), plateau);
    }
}

#[test]
fn after_a_timeout_the_curve_starts_at_the_window_where_slow_start_ended() {
    let mut flow = Flow::new(Duration::from_ms(200));
    let rto = CongestionEvent::Rto {
        now: flow.now,
        first: true,
        in_recovery: false,
        in_flight: 100 * MSS,
    };
    flow.cc.on_event(&rto);
    assert_eq!((flow.cwnd(), flow.cc.ssthresh()), (MSS, 70 * MSS));
    while flow.cwnd() < 70 * MSS {
        flow.round();
    }
    let start = flow.cwnd();
    flow.run(Duration::from_ms(2_000));
    // K = 0: 0.4 * 2.2^3 = 4.3 segments after two seconds; K > 0 would give twenty. Reno's estimate
    // adds 9/17 of a segment per round trip, 5.3 in total, which is more.
    let grown = flow.cwnd() - start;
    assert!(grown > 4 * MSS && grown < 7 * MSS, "{grown}");
    assert!(flow.w_max() < 72 * MSS, "{}", flow.w_max());
}

#[test]
fn undo_restores_window_and_curve() {
    let mut flow = Flow::new(Duration::from_ms(10));
    flow.lose();
    flow.run(Duration::from_ms(500));
    let before = (flow.cwnd(), flow.cc.ssthresh(), flow.w_max());
    let now = flow.now;
    let undo = CongestionEvent::Undo { now };
    flow.lose();
    assert_ne!(flow.w_max(), before.2);
    flow.cc.on_event(&undo);
    assert_eq!((flow.cwnd(), flow.cc.ssthresh(), flow.w_max()), before);
    for first in [true, false] {
        flow.cc.on_event(&CongestionEvent::Rto {
            now,
            first,
            in_recovery: false,
            in_flight: flow.cwnd(),
        });
    }
    flow.cc.on_event(&undo);
    assert_eq!((flow.cwnd(), flow.cc.ssthresh(), flow.w_max()), before);
    // A timeout during fast recovery is of the same episode.
    flow.lose();
    let rto = |first| CongestionEvent::Rto { now, first, in_recovery: true, in_flight: 5 * MSS };
    flow.cc.on_event(&rto(true));
    flow.cc.on_event(&rto(false));
    flow.cc.on_event(&undo);
    assert_eq!((flow.cwnd(), flow.cc.ssthresh(), flow.w_max()), before);
    // Growth continues along the old curve, not along a new one.
    flow.run(Duration::from_ms(100));
    assert!(flow.cwnd() > before.0);
}

#[test]
fn time_without_data_does_not_count() {
    let grown = |pause: &dyn Fn(&mut Flow)| {
        let mut flow = Flow::new(Duration::from_ms(200));
        flow.lose();
        for _ in 0..10 {
            flow.round();
        }
        pause(&mut flow);
        for _ in 0..10 {
            flow.round();
        }
        flow.cwnd()
    };
    let steady = grown(&|_| {});
    // The application stops with nothing in flight, and sends again later.
    let silent = grown(&|flow| {
        let _ = flow.cc.on_ack(&AckSample { in_flight: 0, acked_bytes: 0, ..flow.sample() });
        flow.now += Duration::from_secs(10) + flow.rtt;
        let _ = flow.cc.on_ack(&AckSample { acked_bytes: 0, ..flow.sample() });
    });
    // The application sends slowly, so the window is not the limit.
    let trickle = grown(&|flow| {
        for _ in 0..100 {
            flow.now += Duration::from_ms(100);
            let limited = AckSample { may_grow: false, app_limited: true, ..flow.sample() };
            let _ = flow.cc.on_ack(&limited);
        }
    });
    // The application pauses for more than an RTO with idle restart on and a large initial window.
    let restart = grown(&|flow| {
        let idle = Duration::from_secs(10);
        flow.now += idle;
        flow.cc.on_event(&CongestionEvent::IdleRestart { now: flow.now, idle, halvings: None });
    });
    for (name, cwnd) in [("silent", silent), ("trickle", trickle), ("restart", restart)] {
        assert!(near(cwnd, steady, 2), "{name}: {cwnd} against {steady}");
    }
}

#[test]
fn a_cut_after_a_loss_leaves_nothing_to_undo() {
    let mut flow = Flow::new(Duration::from_ms(10));
    flow.lose();
    assert_eq!(flow.mark(), Reaction::Reduced);
    let cut = (flow.cwnd(), flow.cc.ssthresh(), flow.w_max());
    flow.cc.on_event(&CongestionEvent::Undo { now: flow.now });
    assert_eq!((flow.cwnd(), flow.cc.ssthresh(), flow.w_max()), cut);
}

#[test]
fn the_region_is_reno_friendly_only_while_the_curve_is_below_the_estimate() {
    let window = 100 * MSS;
    let stage = Stage { start: Instant::ZERO, k_us: 0, plateau: window, w_est: window << EST_BITS };
    let mut cubic = Cubic {
        window: CongestionWindow::new(&setup(), BETA),
        fast_convergence: true,
        curve: Curve {
            w_max: window,
            cwnd_prior: 2 * window,
            reset_plateau: false,
            stage: Some(stage),
        },
        hystart: HyStart::new(&Values::parse(ENTRY.params, &[]).unwrap()),
        before_loss: None,
        srtt: Some(Duration::from_secs(2)),
        last_ack: Instant::ZERO,
        was_idle: false,
        growth_remainder: 0,
    };
    // Both equal the window (RFC 9438 §4.3: "less than"), and the curve has 3.2 segments more in a
    // round trip: a thousandth of them for a thousandth of the window.
    cubic.avoid(Instant::ZERO, 100);
    assert_eq!(cubic.window.cwnd(), window + 3);
}

#[test]
fn slow_start_ends_without_a_loss_when_the_round_trip_rises() {
    let mut flow = Flow::new(Duration::from_ms(20));
    let (mut una, mut nxt) = (0, 100);
    let mut round = |flow: &mut Flow, rtt_ms: u64| {
        for _ in 0..100 {
            (una, nxt) = (una + 1, nxt + 1);
            let rtt = Some(Duration::from_ms(rtt_ms));
            let ack = AckSample { snd_una: una, snd_nxt: nxt, rtt, ..flow.sample() };
            let _ = flow.cc.on_ack(&ack);
        }
        flow.cwnd()
    };
    assert_eq!(round(&mut flow, 20), 200 * MSS);
    // The eighth sample shows the rise: from then on a quarter of each ACK counts.
    assert_eq!(round(&mut flow, 30), 200 * MSS + 8 * MSS + 92 * MSS / 4);
    for _ in 0..4 {
        let _ = round(&mut flow, 30);
        assert_eq!(flow.cc.ssthresh(), u64::MAX);
    }
    let cwnd = flow.cwnd();
    let _ = round(&mut flow, 30);
    // The first ACK of the sixth round ends slow start; congestion avoidance begins at its window,
    // with K = 0.
    let end = flow.cc.ssthresh();
    assert_eq!(end, cwnd + MSS / 4);
    assert!(flow.cwnd() < end + MSS && flow.w_max() == end, "{}", flow.cwnd());
}

#[test]
fn a_mark_or_a_loss_ends_hystart_for_good() {
    for event in [Flow::lose as fn(&mut Flow), |flow| {
        let _ = flow.mark();
    }] {
        let values = Values::parse(ENTRY.params, &[]).unwrap();
        let mut flow = Flow::new(Duration::from_ms(20));
        flow.cc = build(&values, &setup());
        event(&mut flow);
        let ssthresh = flow.cc.ssthresh();
        let now = flow.now;
        flow.cc.on_event(&CongestionEvent::Rto {
            now,
            first: false,
            in_recovery: false,
            in_flight: 70 * MSS,
        });
        // Standard slow start up to ssthresh, though the round trip rises all the time.
        for i in 0..60 {
            let rtt = Some(Duration::from_ms(20 + 5 * i));
            let _ = flow.cc.on_ack(&AckSample { rtt, snd_una: i, snd_nxt: i, ..flow.sample() });
        }
        assert_eq!((flow.cwnd(), flow.cc.ssthresh()), (61 * MSS, ssthresh));
    }
}
