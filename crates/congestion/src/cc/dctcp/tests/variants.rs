//! Effects of the parameters, one at a time.

use super::*;

fn with(arithmetic: &'static str, alpha: u64, more: &[(&'static str, &str)]) -> Flow {
    Flow::with(&setup(), arithmetic, alpha, more)
}

const fn loss(in_flight: u64, already_reduced: bool) -> CongestionEvent {
    CongestionEvent::Loss { now: NOW, in_flight, already_reduced }
}

const IDLE: CongestionEvent =
    CongestionEvent::IdleRestart { now: NOW, idle: Duration::from_secs(1), halvings: None };
const RTO: CongestionEvent =
    CongestionEvent::Rto { now: NOW, first: true, in_recovery: false, in_flight: 10 * MSS };
const RECOVERED: CongestionEvent = CongestionEvent::Recovered { now: NOW, in_flight: u64::MAX };

#[test]
fn after_an_idle_time_alpha_is_kept_or_as_at_the_start() {
    for arithmetic in ["q20", "linux", "freebsd"] {
        for (after_idle, initial) in [("keep", 0), ("reset", 0), ("reset", 1024)] {
            let mut flow = with(arithmetic, initial, &[("after-idle", after_idle)]);
            flow.rounds(40, 5);
            let before = flow.alpha();
            assert!((ONE * 3 / 10..ONE * 7 / 10).contains(&before), "{arithmetic}: {before}");
            flow.cc.on_event(&IDLE);
            let expected = if after_idle == "keep" { before } else { initial << 10 };
            assert_eq!(flow.alpha(), expected, "{arithmetic} {after_idle} {initial}");
        }
    }
}

#[test]
fn an_ack_of_nothing_new_ends_no_round_after_an_idle_time() {
    for arithmetic in ["q20", "linux", "freebsd"] {
        let mut flow = with(arithmetic, 1024, &[("after-idle", "reset")]);
        flow.rounds(3, 0);
        flow.cc.on_event(&IDLE);
        let (una, before) = (flow.una, flow.alpha());
        let nothing = AckSample { snd_una: una, snd_nxt: una + 9 * MSS, ..AckSample::default() };
        let _ = flow.cc.on_ack(&nothing);
        assert_eq!(flow.alpha(), before, "{arithmetic}");
        let _ = flow.ack(false, false);
        assert!(flow.alpha() < before, "{arithmetic}: the first ACK of new data ends the round");
    }
}

#[test]
fn counts_before_an_idle_time_are_reset_with_alpha() {
    let alphas = ["keep", "reset"].map(|after_idle| {
        let mut flow = with("freebsd", 0, &[("after-idle", after_idle)]);
        let _ = flow.ack(false, false);
        for _ in 0..8 {
            let _ = flow.ack(true, false);
        }
        flow.cc.on_event(&IDLE);
        for _ in 0..2 {
            let _ = flow.ack(false, false);
        }
        flow.alpha()
    });
    // Kept: 8 of 10 marked; reset: the later ACKs are separate rounds, without marks.
    assert_eq!(alphas, [((8 << 6) / 10) << 10, 0]);
}

#[test]
fn with_slowstart_the_first_sign_of_congestion_halves_if_it_is_a_mark() {
    for arithmetic in ["q20", "linux", "freebsd"] {
        let slowstart = [("slowstart", "true"), ("order", "cut-first")];
        let mut flow = with(arithmetic, 0, &slowstart);
        assert_eq!(flow.ack(true, true), Reaction::Reduced);
        assert_eq!(flow.cc.cwnd(), 50 * MSS, "{arithmetic}");
        // The second mark cuts by alpha, which is then near one.
        let before = flow.cc.cwnd();
        flow.rounds(1, 10);
        assert_eq!(flow.ack(true, true), Reaction::Reduced);
        assert!(flow.cc.cwnd() <= before / 2 + MSS, "{arithmetic}: {}", flow.cc.cwnd());
        // After an idle time with reset, everything starts anew.
        let anew = [&slowstart[..], &[("after-idle", "reset")]].concat();
        let mut flow = with(arithmetic, 0, &anew);
        assert_eq!(flow.ack(true, true), Reaction::Reduced);
        flow.cc.on_event(&IDLE);
        let before = flow.cc.cwnd();
        assert_eq!(flow.ack(true, true), Reaction::Reduced);
        assert_eq!(flow.cc.cwnd(), before / 2, "{arithmetic}");
        // After a loss or a timeout the mark is no longer the first sign.
        for event in [loss(100 * MSS, false), RTO] {
            let mut flow = with(arithmetic, 0, &slowstart);
            flow.cc.on_event(&event);
            flow.cc.on_event(&RECOVERED);
            let before = flow.cc.cwnd();
            assert_eq!(flow.ack(true, true), Reaction::Reduced);
            assert_eq!(flow.cc.cwnd(), before, "{arithmetic}: alpha is zero");
        }
    }
}

#[test]
fn the_ack_that_cuts_may_grow_the_window_as_well() {
    for (grows, more) in [(false, 0), (true, 2 * MSS)] {
        let set = [
            ("grow-with-cut", if grows { "true" } else { "false" }),
            ("slow-start-end", "overshoot"),
            ("order", "cut-first"),
        ];
        let mut flow = with("freebsd", 1024, &set);
        let stretch = AckSample { acked_bytes: 2 * MSS, ..flow.sample(true) };
        let sample = AckSample { may_reduce: true, may_grow: true, ..stretch };
        assert_eq!(flow.cc.on_ack(&sample), Reaction::Reduced);
        assert_eq!((flow.cc.ssthresh(), flow.cc.cwnd()), (50 * MSS, 50 * MSS + more));
        // Never if growth is frozen for the round.
        let mut flow = with("freebsd", 1024, &set);
        let sample = AckSample { may_grow: false, ..sample };
        assert_eq!(flow.cc.on_ack(&sample), Reaction::Reduced);
        assert_eq!(flow.cc.cwnd(), 50 * MSS);
    }
}

#[test]
fn slow_start_stops_at_ssthresh_or_overshoots_by_one_ack() {
    for (end, expected) in [("exact", [0, 0]), ("overshoot", [2 * MSS, 0])] {
        let mut flow = with("q20", 1024, &[("slow-start-end", end)]);
        assert_eq!(flow.ack(true, true), Reaction::Reduced);
        let grown = [(); 2].map(|()| {
            let before = flow.cc.cwnd();
            let stretch = AckSample { acked_bytes: 2 * MSS, ..flow.sample(false) };
            let _ = flow.cc.on_ack(&AckSample { may_grow: true, ..stretch });
            flow.cc.cwnd() - before
        });
        assert_eq!(grown, expected, "{end}: the first ACK finds cwnd at ssthresh");
    }
}

#[test]
fn a_loss_halves_flight_size_or_cwnd() {
    for (from, expected) in [("flight", 30 * MSS), ("cwnd", 50 * MSS)] {
        let mut flow = with("q20", 0, &[("loss-from", from)]);
        flow.cc.on_event(&loss(60 * MSS, false));
        assert_eq!(flow.cc.ssthresh(), expected, "{from}");
        let mut flow = with("q20", 0, &[("loss-from", from)]);
        flow.cc.on_event(&CongestionEvent::Rto {
            now: NOW,
            first: true,
            in_recovery: false,
            in_flight: 60 * MSS,
        });
        assert_eq!((flow.cc.ssthresh(), flow.cc.cwnd()), (expected, MSS), "{from}");
    }
}

#[test]
fn a_loss_in_the_window_of_a_cut_halves_cwnd_before_or_after_it() {
    // Alpha is one half: the cut leaves 75 of 100 segments.
    for (set, expected) in [("once", 50 * MSS), ("again", 37_500)] {
        let set = [("loss-after-cut", set), ("loss-from", "cwnd"), ("order", "cut-first")];
        let mut flow = with("freebsd", 512, &set);
        assert_eq!(flow.ack(true, true), Reaction::Reduced);
        assert_eq!(flow.cc.cwnd(), 75 * MSS);
        flow.cc.on_event(&loss(70 * MSS, true));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (expected, expected), "{set:?}");
        // In a later window of data the cut has no effect on the loss.
        let mut flow = with("freebsd", 512, &set);
        assert_eq!(flow.ack(true, true), Reaction::Reduced);
        flow.cc.on_event(&loss(70 * MSS, false));
        assert_eq!(flow.cc.cwnd(), 37_500, "{set:?}");
    }
}

#[test]
fn freebsds_rounds_wait_for_the_end_of_fast_recovery_and_end_with_it() {
    let run = |arithmetic| {
        let mut flow = with(arithmetic, 0, &[]);
        let _ = flow.ack(false, false);
        flow.cc.on_event(&loss(10 * MSS, false));
        // More than a window of marked data during recovery.
        let during = [(); 15].map(|()| {
            let _ = flow.ack(true, false);
            flow.alpha() > 0
        });
        flow.cc.on_event(&RECOVERED);
        let _ = flow.ack(true, false);
        (during.iter().any(|up| *up), flow.alpha())
    };
    assert_eq!(run("freebsd"), (false, 64 << 10));
    assert!(run("q20").0, "RFC 8257 §3.3 does not look at recovery");
    assert!(run("linux").0);
}

#[test]
fn a_loss_while_a_timeout_is_repaired_does_not_stop_freebsds_rounds() {
    let mut flow = with("freebsd", 0, &[]);
    let _ = flow.ack(false, false);
    flow.cc.on_event(&RTO);
    flow.cc.on_event(&loss(10 * MSS, false));
    let sample = AckSample { after_rto: true, ..flow.sample(true) };
    let _ = flow.cc.on_ack(&sample);
    let _ = flow.ack(true, false);
    assert_eq!(flow.alpha(), 64 << 10, "nothing will tell that recovery is over");
}

#[test]
fn freebsds_round_after_a_timeout_ends_with_the_second_segment() {
    let mut flow = with("freebsd", 0, &[]);
    let _ = flow.ack(false, false);
    flow.cc.on_event(&RTO);
    assert_eq!(flow.alpha(), 0);
    let alphas = [(); 3].map(|()| {
        let _ = flow.ack(true, false);
        flow.alpha() >> 10
    });
    // The first ACK reaches the end of the round, the second passes it; then a whole window.
    assert_eq!(alphas, [0, 64, 64]);
}

#[test]
fn without_ecn_no_parameter_matters() {
    let plain = CcSetup { ecn: false, ..setup() };
    let set = [
        ("loss-from", "cwnd"),
        ("loss-after-cut", "again"),
        ("loss-cut", "alpha"),
        ("grow-with-cut", "true"),
        ("slowstart", "true"),
    ];
    let [mut a, mut b] = [&set[..], &[]].map(|set| Flow::with(&plain, "freebsd", 512, set));
    for flow in [&mut a, &mut b] {
        assert_eq!(flow.ack(true, true), Reaction::None);
        flow.cc.on_event(&loss(60 * MSS, true));
    }
    assert_eq!((a.cc.cwnd(), a.alpha()), (b.cc.cwnd(), b.alpha()));
    assert_eq!(a.cc.cwnd(), 30 * MSS);
}

#[test]
fn a_loss_halves_or_cuts_by_alpha() {
    for (arithmetic, cut) in [("q20", "half"), ("q20", "alpha"), ("linux", "alpha")] {
        // Alpha is 1/4 and ten of a hundred segments are in flight.
        for (event, flight) in [(loss(80 * MSS, false), 80), (RTO, 10)] {
            let mut flow = with(arithmetic, 256, &[("loss-cut", cut)]);
            flow.cc.on_event(&event);
            let kept = if cut == "half" { flight * MSS / 2 } else { flight * MSS * 7 / 8 };
            assert_eq!(flow.cc.ssthresh(), kept, "{arithmetic} {cut}");
        }
    }
    // An alpha of one halves; an alpha of zero reduces nothing.
    for (alpha, ssthresh) in [(1024, 40 * MSS), (0, 80 * MSS)] {
        let mut flow = with("q20", alpha, &[("loss-cut", "alpha")]);
        flow.cc.on_event(&loss(80 * MSS, false));
        assert_eq!(flow.cc.ssthresh(), ssthresh);
    }
}

#[test]
fn a_mark_cuts_the_window_in_use_if_cuts_start_from_it() {
    let rules = WindowRules { cut_from_window: true, ..WindowRules::RFC };
    for (rules, cwnd) in [(WindowRules::RFC, 50 * MSS), (rules, 10 * MSS)] {
        let mut flow = Flow::with(&CcSetup { rules, ..setup() }, "q20", 1024, &[]);
        let sample = AckSample { may_reduce: true, snd_wnd: 20 * MSS, ..flow.sample(true) };
        assert_eq!(flow.cc.on_ack(&sample), Reaction::Reduced);
        assert_eq!(flow.cc.cwnd(), cwnd);
    }
}
