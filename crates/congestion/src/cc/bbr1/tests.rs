//! Each rule of `tcp_bbr.c` alone, with numbers computed by hand.

use super::super::bbr::flow::{BW, Flow, MSS, RTT, setup};
use super::*;

/// In `PROBE_BW` on a path of 100 segments per round trip.
fn steady() -> Flow {
    let mut flow = Flow::new(&ENTRY, &setup());
    for segments in [10, 25, 60, 100, 100, 100, 100, 100] {
        flow.round(segments, |_| {});
    }
    assert_eq!(flow.mode(), Mode::ProbeBw as u64);
    flow
}

#[test]
fn the_first_rate_is_2_89_windows_per_round_trip_less_one_per_cent_and_ten_segments_are_free() {
    let mut flow = Flow::new(&ENTRY, &setup());
    assert_eq!(flow.cc.pacing_rate(), None);
    let window = 10 * MSS * 8 * 25;
    assert_eq!(flow.value("pacing-rate"), window * 739 / 256 * 99 / 100);
    flow.round(10, |_| {});
    assert_eq!(flow.cc.pacing_rate().map(Rate::as_bps), Some(window * 739 / 256 * 99 / 100));
    // Without an RTT of the handshake 1 ms is assumed, and the first sample replaces it.
    let mut blind = Flow::new(&ENTRY, &CcSetup { rtt: None, ..setup() });
    assert_eq!(blind.value("pacing-rate"), window * 40 * 739 / 256 * 99 / 100);
    blind.round(10, |_| {});
    let (first, cwnd) = (blind.value("pacing-rate"), 10 * MSS);
    assert_eq!(first, cwnd * 8 * 25 * 739 / 256 * 99 / 100);
}

#[test]
fn startup_ends_after_three_rounds_without_a_quarter_more_and_drain_when_the_bdp_is_in_flight() {
    let mut flow = Flow::new(&ENTRY, &setup());
    for segments in [10, 29, 80, 100] {
        flow.round(segments, |_| {});
    }
    assert_eq!((flow.value("bw"), flow.mode()), (BW, Mode::Startup as u64));
    flow.round(100, |_| {});
    flow.round(110, |_| {});
    assert_eq!(flow.mode(), Mode::Startup as u64, "ten per cent more is not enough");
    flow.round(100, |ack| ack.in_flight = 200 * MSS);
    assert_eq!((flow.mode(), flow.value("pacing-gain")), (Mode::Drain as u64, DRAIN_GAIN << 12));
    // The BDP, and three quanta of 7 segments.
    assert_eq!(flow.cc.ssthresh(), 132 * MSS);
    flow.round(100, |ack| ack.in_flight = 133 * MSS);
    assert_eq!(flow.mode(), Mode::Drain as u64);
    flow.round(100, |ack| ack.in_flight = 110 * MSS);
    assert_eq!(flow.mode(), Mode::ProbeBw as u64);
}

#[test]
fn app_limited_rounds_neither_lower_the_bandwidth_nor_end_startup() {
    let mut flow = Flow::new(&ENTRY, &setup());
    for segments in [10, 29, 80, 100] {
        flow.round(segments, |_| {});
    }
    for _ in 0..30 {
        flow.round(5, |ack| ack.rate_sample.as_mut().expect("a sample").app_limited = true);
    }
    assert_eq!((flow.value("bw"), flow.mode()), (BW, Mode::Startup as u64));
    flow.round(120, |ack| ack.rate_sample.as_mut().expect("a sample").app_limited = true);
    assert_eq!(flow.value("bw"), BW * 12 / 10, "a higher one counts");
}

#[test]
fn a_bandwidth_sample_lives_for_ten_rounds() {
    let mut flow = steady();
    for _ in 0..10 {
        flow.round(50, |_| {});
        assert_eq!(flow.value("bw"), BW);
    }
    flow.round(50, |_| {});
    assert_eq!(flow.value("bw"), BW / 2);
}

#[test]
fn the_cycle_has_each_gain_for_a_minimum_round_trip() {
    let mut flow = steady();
    let mut gains = std::vec::Vec::new();
    for _ in 0..34 {
        // Longer than the minimum; the flight is what each gain asks for.
        let now = flow.now + Duration::from_us(1);
        flow.now = now;
        flow.round(100, |ack| ack.prior_in_flight = 200 * MSS);
        gains.push(flow.value("pacing-gain") >> 12);
    }
    let first = gains.iter().position(|g| *g == CYCLE[0]).expect("a probe");
    for (i, gain) in gains[first..].iter().enumerate() {
        assert_eq!(*gain, CYCLE[i % 8], "{gains:?}");
    }
}

#[test]
fn probe_rtt_follows_ten_seconds_without_a_minimum_and_restores_the_window() {
    let mut flow = steady();
    let cwnd = flow.cc.cwnd();
    // Two BDP, an ACK of 100 segments at once, three quanta and the rounding.
    assert!((300 * MSS..320 * MSS).contains(&cwnd), "{cwnd}");
    // An equal minimum postpones nothing (Linux since 5.10), only a lower one.
    flow.round(100, |ack| ack.rtt = Some(RTT - Duration::from_us(1)));
    let since = flow.now;
    while flow.mode() == Mode::ProbeBw as u64 {
        flow.round(100, |ack| ack.rtt = Some(RTT - Duration::from_us(1)));
    }
    let waited = flow.now.saturating_since(since);
    assert!(waited > MIN_RTT_WINDOW && waited <= MIN_RTT_WINDOW + RTT, "{waited}");
    assert_eq!((flow.mode(), flow.cc.cwnd()), (Mode::ProbeRtt as u64, 4 * MSS));
    assert_eq!(flow.value("min-rtt"), (RTT - Duration::from_us(1)).as_ps());
    let before = flow.cc.cwnd();
    assert_eq!(before, 4 * MSS);
    let began = flow.now;
    while flow.mode() == Mode::ProbeRtt as u64 {
        flow.round(4, |ack| ack.in_flight = 4 * MSS);
    }
    // 200 ms are exceeded at the sixth ACK after the first.
    assert_eq!(flow.now.saturating_since(began), RTT * 6);
    assert_eq!((flow.value("bw"), flow.mode()), (BW, Mode::ProbeBw as u64));
    // The target, now without the aggregation of the ACKs before.
    assert!(flow.cc.cwnd() >= 200 * MSS, "{}", flow.cc.cwnd());
}

#[test]
fn the_first_round_of_recovery_conserves_packets_and_its_end_restores_the_window() {
    let mut flow = steady();
    let cwnd = flow.cc.cwnd();
    let loss = |now| CongestionEvent::Loss { now, in_flight: 100 * MSS, already_reduced: false };
    flow.cc.on_event(&loss(flow.now));
    flow.round(1, |ack| {
        (ack.lost_bytes, ack.in_flight) = (3 * MSS, 90 * MSS);
    });
    assert_eq!(flow.cc.cwnd(), 91 * MSS);
    flow.cc.on_event(&CongestionEvent::Recovered { now: flow.now, in_flight: u64::MAX });
    flow.round(1, |ack| ack.in_flight = 90 * MSS);
    // Up to the target, which has changed.
    assert!(flow.cc.cwnd() >= cwnd - 10 * MSS, "{}", flow.cc.cwnd());
}

#[test]
fn a_timeout_leaves_one_segment_and_its_repair_restores_the_window() {
    let mut flow = steady();
    let cwnd = flow.cc.cwnd();
    let now = flow.now;
    let in_flight = 100 * MSS;
    flow.cc.on_event(&CongestionEvent::Rto { now, first: true, in_recovery: false, in_flight });
    assert_eq!(flow.cc.cwnd(), MSS);
    flow.round(1, |ack| ack.after_rto = true);
    assert_eq!(flow.cc.cwnd(), 4 * MSS);
    flow.round(4, |ack| ack.after_rto = true);
    assert_eq!(flow.cc.cwnd(), 8 * MSS);
    flow.round(1, |_| {});
    assert!(flow.cc.cwnd() >= cwnd, "{}", flow.cc.cwnd());
}

/// Two intervals that end with a loss of a fifth or more, at one rate.
#[test]
fn a_policer_sets_the_bandwidth_for_48_rounds() {
    let mut flow = steady();
    let policed = |flow: &mut Flow| flow.round(50, |ack| ack.lost_bytes = 20 * MSS);
    for _ in 0..4 {
        policed(&mut flow);
    }
    assert_eq!(flow.value("bw"), BW, "one interval");
    for _ in 0..4 {
        policed(&mut flow);
    }
    assert_eq!((flow.value("bw"), flow.value("pacing-gain")), (BW / 2, 1 << 20));
    for round in 0..48 {
        assert_eq!(flow.value("bw"), BW / 2, "round {round}");
        flow.round(60, |_| {});
    }
    assert!(flow.value("bw") > BW / 2);
}

#[test]
fn a_flow_that_starts_again_paces_at_the_bandwidth_and_skips_probe_rtt() {
    let mut flow = steady();
    flow.now += Duration::from_secs(20);
    let now = flow.now;
    flow.cc.on_event(&CongestionEvent::TransmitStart { now, app_limited: true });
    assert_eq!(flow.cc.pacing_rate().map(Rate::as_bps), Some(BW * 99 / 100));
    flow.round(10, |ack| ack.rate_sample.as_mut().expect("a sample").app_limited = true);
    assert_eq!((flow.mode(), flow.value("bw")), (Mode::ProbeBw as u64, BW));
}

/// ACKs in bursts of half a round trip: the window has room for the silence between them.
#[test]
fn aggregated_acks_raise_the_window_by_what_they_exceed_the_rate() {
    let (mut smooth, mut bursts) = (steady(), steady());
    for _ in 0..20 {
        smooth.round(100, |_| {});
        bursts.round(100, |_| {});
        // A second ACK at the same time, measured over its own flight of a round trip.
        let prior = bursts.delivered;
        bursts.delivered += 50 * MSS;
        let _ = bursts.cc.on_ack(&AckSample {
            now: bursts.now,
            delivered_bytes: 50 * MSS,
            prior_in_flight: 100 * MSS,
            rate_sample: Some(RateSample {
                prior_delivered: prior - MSS,
                delivered: 51 * MSS,
                interval: RTT,
                app_limited: false,
                tx_in_flight: 0,
                lost: 0,
            }),
            ..AckSample::default()
        });
    }
    let more = bursts.cc.cwnd().saturating_sub(smooth.cc.cwnd());
    assert!(more >= 40 * MSS, "{more}");
    assert_eq!(bursts.value("bw"), BW);
}
