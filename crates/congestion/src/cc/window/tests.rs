//! Effects of [`WindowRules`], one at a time.

use lowtide_units::{Duration, Instant};

use super::*;
use crate::cc::WindowRules;

const MSS: u64 = 1000;
const NOW: Instant = Instant::ZERO;

/// A window of ten segments with these rules.
fn window(rules: WindowRules) -> CongestionWindow {
    let setup = CcSetup {
        mss: 1000,
        initial_window: 10 * MSS,
        floor: 2 * MSS,
        ssthresh_floor: 0,
        abc_limit: 2 * MSS,
        ecn: true,
        now: NOW,
        seed: 0,
        rtt: None,
        rules,
    };
    CongestionWindow::new(&setup, Factor::HALF)
}

fn ack(bytes: u64) -> AckSample {
    AckSample { acked_bytes: bytes, may_grow: true, ..AckSample::default() }
}

const ACKS: WindowRules = WindowRules { counts: GrowthCounts::Acks, ..WindowRules::RFC };
const LIMITED: WindowRules = WindowRules { counts: GrowthCounts::LimitedBytes, ..WindowRules::RFC };

#[test]
fn slow_start_counts_bytes_or_one_segment_per_ack() {
    for (rules, overshoots, grown) in [
        (WindowRules::RFC, false, [1000, 2000, 400, 0]),
        (WindowRules::RFC, true, [1000, 2000, 400, 0]),
        (ACKS, false, [1000, 1000, 1000, 0]),
        (ACKS, true, [1000, 1000, 1000, 0]),
    ] {
        let mut window = window(rules).overshooting(overshoots);
        let growth = [1000, 2000, 400, 0].map(|bytes| {
            let before = window.cwnd();
            window.grow(&ack(bytes));
            window.cwnd() - before
        });
        assert_eq!(growth, grown, "{rules:?} {overshoots}");
    }
}

#[test]
fn with_acks_counted_delayed_acks_halve_the_growth_of_congestion_avoidance() {
    for (rules, acks_of_two) in [(WindowRules::RFC, 5), (ACKS, 10)] {
        let mut window = window(rules);
        window.end_slow_start();
        for _ in 1..acks_of_two {
            window.grow(&ack(2 * MSS));
        }
        assert_eq!(window.cwnd(), 10 * MSS, "{rules:?}");
        window.grow(&ack(2 * MSS));
        assert_eq!(window.cwnd(), 11 * MSS, "{rules:?}");
    }
    // ACKs of less than a segment count as much.
    let mut window = window(ACKS);
    window.end_slow_start();
    for _ in 0..10 {
        window.grow(&ack(100));
    }
    assert_eq!(window.cwnd(), 11 * MSS);
}

#[test]
fn l_limits_an_ack_in_congestion_avoidance_if_chosen() {
    // L is two segments, and each ACK covers five.
    for (rules, acks_of_five) in [(WindowRules::RFC, 2), (LIMITED, 5), (ACKS, 10)] {
        let mut window = window(rules);
        window.end_slow_start();
        for _ in 1..acks_of_five {
            window.grow(&ack(5 * MSS));
        }
        assert_eq!(window.cwnd(), 10 * MSS, "{rules:?}");
        window.grow(&ack(5 * MSS));
        assert_eq!(window.cwnd(), 11 * MSS, "{rules:?}");
    }
}

#[test]
fn slow_start_of_a_new_connection_ends_at_the_initial_ssthresh() {
    let mut window = window(WindowRules { initial_ssthresh: 12_500, ..WindowRules::RFC });
    assert_eq!(window.ssthresh(), 12_500);
    window.grow(&ack(2 * MSS));
    window.grow(&ack(2 * MSS));
    assert_eq!(window.cwnd(), 12_500);
    // 1500 B of the second ACK count already, of the 12,500 B for the next segment.
    for _ in 0..11 {
        window.grow(&ack(MSS));
    }
    assert_eq!(window.cwnd(), 13_500);
}

#[test]
fn after_idle_the_window_is_the_initial_or_the_restart_window() {
    let idle =
        CongestionEvent::IdleRestart { now: NOW, idle: Duration::from_secs(1), halvings: None };
    for (restart_window, cwnd) in
        [(None, 10 * MSS), (Some(3 * MSS), 3 * MSS), (Some(40 * MSS), 20 * MSS)]
    {
        let mut window = window(WindowRules { restart_window, ..WindowRules::RFC });
        window.raise_to(20 * MSS);
        window.on_event(&idle);
        assert_eq!(window.cwnd(), cwnd, "{restart_window:?}");
    }
}

#[test]
fn a_cut_starts_from_cwnd_or_from_the_window_in_use() {
    let window_in_use = WindowRules { cut_from_window: true, ..WindowRules::RFC };
    for (rules, snd_wnd, cwnd) in [
        (WindowRules::RFC, 4 * MSS, 5 * MSS),
        (window_in_use, 8 * MSS, 4 * MSS),
        (window_in_use, 30 * MSS, 5 * MSS),
        // A closed window does not take cwnd below its floor.
        (window_in_use, 0, 2 * MSS),
    ] {
        let mut window = window(rules);
        window.drop_unused(&AckSample { snd_wnd, ..ack(MSS) });
        window.cut_to(window.cwnd() / 2);
        assert_eq!((window.cwnd(), window.ssthresh()), (cwnd, cwnd), "{rules:?} {snd_wnd}");
    }
}

/// Linux `tcp_cwnd_restart`: 80 segments, halved for each RTO, not below the initial 10; ssthresh
/// keeps three quarters.
#[test]
fn after_idle_the_window_halves_for_each_rto() {
    for (halvings, cwnd) in [(0, 80), (1, 40), (2, 20), (3, 10), (64, 10)] {
        let mut window = window(WindowRules { initial_ssthresh: 30 * MSS, ..WindowRules::RFC });
        window.raise_to(80 * MSS);
        let halvings = Some(halvings);
        window.on_event(&CongestionEvent::IdleRestart {
            now: NOW,
            idle: Duration::from_secs(1),
            halvings,
        });
        assert_eq!((window.cwnd(), window.ssthresh()), (cwnd * MSS, 60 * MSS), "{halvings:?}");
    }
}
