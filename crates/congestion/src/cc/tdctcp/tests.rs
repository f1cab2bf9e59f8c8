use std::string::ToString;

use lowtide_units::Instant;

use super::*;
use crate::cc::WindowRules;

const MSS: u64 = 1000;
const ONE: u32 = 1 << Q20_BITS;

fn setup(ecn: bool) -> CcSetup {
    CcSetup {
        mss: 1000,
        initial_window: 10 * MSS,
        floor: MSS,
        ssthresh_floor: 0,
        abc_limit: 2 * MSS,
        ecn,
        now: Instant::ZERO,
        seed: 0,
        rtt: None,
        rules: WindowRules::RFC,
    }
}

fn control(initial_alpha: u64, source: &str) -> Box<dyn CongestionControl> {
    let initial_alpha = initial_alpha.to_string();
    let given = [("initial-alpha", initial_alpha.as_str()), ("delack-timeout", source)];
    build(&Values::parse(ENTRY.params, &given).unwrap(), &setup(true))
}

/// One acknowledged segment of a full window; the observation window never ends.
fn ack() -> AckSample {
    AckSample {
        acked_bytes: MSS,
        acked_segments: 1,
        delivered_bytes: MSS,
        delivered_segments: 1,
        may_grow: true,
        may_reduce: true,
        ..AckSample::default()
    }
}

fn alpha(cc: &dyn CongestionControl) -> u64 {
    struct Seen(u64);
    impl Probe for Seen {
        fn value(&mut self, name: &str, _: Unit, value: u64) {
            if name == "alpha" {
                self.0 = value;
            }
        }
    }
    let mut seen = Seen(u64::MAX);
    cc.probe(&mut seen);
    seen.0
}

#[test]
fn the_increase_follows_the_formula() {
    // §IV-A: 2 MSS at alpha 0, 1.67 MSS at alpha 1.
    for (alpha, bytes) in [(0, 2000), (ONE, 1666), (ONE / 2, 1800), (1, 1999)] {
        assert_eq!(increase(1000, alpha), bytes, "alpha {alpha}/2^20");
    }
    assert_eq!(increase(u64::from(u32::MAX), 0), 2 * u64::from(u32::MAX));
}

#[test]
fn a_window_of_acks_adds_that_much_and_a_marked_ack_nothing() {
    for (initial, per_window) in [(0, 2000), (1024, 1666)] {
        let mut cc = control(initial, "inferred");
        let now = Instant::ZERO;
        cc.on_event(&CongestionEvent::Loss { now, in_flight: 20 * MSS, already_reduced: false });
        assert_eq!(cc.cwnd(), 10 * MSS);
        for _ in 0..9 {
            let _ = cc.on_ack(&ack());
        }
        let marked = AckSample { ece: true, may_reduce: false, ..ack() };
        assert_eq!(cc.on_ack(&marked), Reaction::None);
        assert_eq!(cc.cwnd(), 10 * MSS, "nine of ten");
        let _ = cc.on_ack(&ack());
        assert_eq!(cc.cwnd(), 10 * MSS + per_window);
    }
}

/// With one change off, the other remains: DCTCP's growth of a segment, or its alpha.
#[test]
fn each_change_can_be_off() {
    for (given, per_window, after_timeout) in [
        ([("increase", "one-segment"), ("reset", "at-timeout")], 1000, 0),
        ([("increase", "by-alpha"), ("reset", "never")], 1666, u64::from(ONE)),
    ] {
        let mut cc = build(&Values::parse(ENTRY.params, &given).unwrap(), &setup(true));
        let now = Instant::ZERO;
        cc.on_event(&CongestionEvent::Loss { now, in_flight: 20 * MSS, already_reduced: false });
        for _ in 0..10 {
            let _ = cc.on_ack(&ack());
        }
        assert_eq!(cc.cwnd(), 10 * MSS + per_window, "{given:?}");
        let _ = cc.on_ack(&AckSample { delack_suspected: true, ..ack() });
        assert_eq!(alpha(cc.as_ref()), after_timeout, "{given:?}");
    }
}

#[test]
fn a_delayed_ack_timeout_clears_alpha_and_the_observation_window() {
    for (source, suspected, timeout, cleared) in [
        ("inferred", true, None, true),
        ("inferred", true, Some(false), true),
        ("inferred", false, Some(true), false),
        ("oracle", false, Some(true), true),
        ("oracle", true, Some(false), false),
        ("oracle", true, None, true),
    ] {
        let mut cc = control(1024, source);
        let marked = AckSample { ece: true, ce_bytes: MSS, may_reduce: false, ..ack() };
        let _ = cc.on_ack(&marked);
        assert_eq!(alpha(cc.as_ref()), u64::from(ONE));
        let sample = AckSample {
            delack_suspected: suspected,
            delack_timeout: timeout,
            snd_una: 2 * MSS,
            snd_nxt: 2 * MSS,
            ..ack()
        };
        let _ = cc.on_ack(&sample);
        let next = AckSample { snd_una: 3 * MSS, snd_nxt: 4 * MSS, ..ack() };
        let _ = cc.on_ack(&next);
        // Marks before the timeout no longer count; otherwise alpha has decayed once, to 15/16.
        let expected = if cleared { 0 } else { u64::from(ONE) * 30 / 32 };
        let seen = alpha(cc.as_ref());
        assert!(seen == 0 || !cleared, "{source} {suspected} {timeout:?}: {seen}");
        assert!(seen.abs_diff(expected) <= u64::from(ONE) / 16, "{source} {timeout:?}: {seen}");
    }
}

#[test]
fn the_ack_of_the_timeout_belongs_to_the_window_before_the_reset() {
    let mut cc = control(1024, "inferred");
    let before = cc.cwnd();
    let released = AckSample {
        ece: true,
        ce_bytes: MSS,
        delack_suspected: true,
        snd_una: MSS,
        snd_nxt: MSS,
        ..ack()
    };
    assert_eq!(cc.on_ack(&released), Reaction::None, "nothing is cut");
    assert_eq!((cc.cwnd(), alpha(cc.as_ref())), (before, 0));
    // A window of clean ACKs: the mark before the pause is not counted.
    for i in 2..=3 {
        let _ = cc.on_ack(&AckSample { snd_una: i * MSS, snd_nxt: 2 * MSS, ..ack() });
    }
    assert_eq!(alpha(cc.as_ref()), 0);
    // A marked ACK without a timeout is a reduction, even by a small alpha.
    let marked =
        AckSample { ece: true, ce_bytes: MSS, snd_una: 4 * MSS, snd_nxt: 5 * MSS, ..ack() };
    assert_eq!(cc.on_ack(&marked), Reaction::Reduced);
}

#[test]
fn detection_is_counted_only_if_the_truth_is_known() {
    let mut cc = control(1024, "inferred");
    for (suspected, timeout) in [
        (true, None),
        (false, Some(false)),
        (true, Some(true)),
        (true, Some(true)),
        (false, Some(true)),
        (true, Some(false)),
    ] {
        let sample = AckSample { delack_suspected: suspected, delack_timeout: timeout, ..ack() };
        let _ = cc.on_ack(&sample);
    }
    assert_eq!(
        cc.delack_detection(),
        DelackDetection { true_positives: 2, false_negatives: 1, false_positives: 1 }
    );
}

#[test]
fn without_ecn_it_grows_as_newreno() {
    let mut cc = build(&Values::parse(ENTRY.params, &[]).unwrap(), &setup(false));
    let now = Instant::ZERO;
    cc.on_event(&CongestionEvent::Loss { now, in_flight: 20 * MSS, already_reduced: false });
    for _ in 0..10 {
        let _ = cc.on_ack(&ack());
    }
    assert_eq!(cc.cwnd(), 11 * MSS);
}
