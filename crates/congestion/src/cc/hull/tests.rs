use super::*;
use crate::cc::WindowRules;

const MSS: u64 = 1000;
const INTERVAL: Duration = Duration::from_us(64);
const START: Instant = Instant::ZERO;
const SETUP: CcSetup = CcSetup {
    mss: 1000,
    initial_window: 10 * MSS,
    floor: 2 * MSS,
    ssthresh_floor: 0,
    abc_limit: 2 * MSS,
    ecn: true,
    now: START,
    seed: 0,
    rtt: None,
    rules: WindowRules::RFC,
};

fn pacer(beta: u64) -> Pacer {
    Pacer {
        interval: INTERVAL,
        shift_eta: 3,
        beta,
        associate_after: 0,
        idle: Duration::from_ms(10),
        rate: 0,
        floor: 0,
        window_edge: 0,
        arrived: 0,
        since: START,
        last: START,
        srtt: None,
        marked: 0,
    }
}

#[test]
fn the_rate_follows_the_data_that_the_window_permits() {
    // 8000 B in each interval of 64 us are 1 Gbit/s.
    let mut p = pacer(0);
    let mut seen = alloc::vec::Vec::new();
    for i in 1..=40 {
        p.arrived = 8_000;
        p.estimate(START + INTERVAL * i, 0);
        seen.push(p.rate);
    }
    // eta = 1/8: an eighth of the difference each time.
    assert_eq!(seen[..3], [125_000_000, 234_375_000, 330_078_125]);
    assert!((994_000_000..=1_000_000_000).contains(&seen[39]), "{}", seen[39]);
    // Three intervals pass, with data in the first only.
    p.arrived = 8_000;
    let before = p.rate;
    p.estimate(START + INTERVAL * 43, 0);
    let expected = (0..3).fold(before, |r, i| r - (r >> 3) + if i == 0 { 125_000_000 } else { 0 });
    assert_eq!(p.rate, expected);
}

#[test]
fn backlog_raises_the_rate() {
    let mut p = pacer(16);
    p.estimate(START + INTERVAL, 10_000);
    assert_eq!(p.rate, 8 * 16 * 10_000);
    p.estimate(START + INTERVAL, 10_000);
    assert_eq!(p.rate, 8 * 16 * 10_000, "no interval has passed");
}

#[test]
fn the_far_future_ends_in_finite_time_and_nothing_overflows() {
    let mut p = pacer(u64::MAX);
    p.arrived = u64::MAX;
    p.estimate(Instant::FAR_FUTURE, u64::MAX);
    assert_eq!(p.rate, u64::MAX);
}

fn ack(at_us: u64, ece: bool) -> AckSample {
    AckSample {
        now: START + Duration::from_us(at_us),
        snd_una: MSS,
        snd_nxt: 10 * MSS,
        in_flight: 10 * MSS,
        acked_bytes: MSS,
        delivered_bytes: MSS,
        ece,
        rtt: Some(Duration::from_us(100)),
        ..AckSample::default()
    }
}

fn control(associate_after: &str) -> Box<dyn CongestionControl> {
    let given = [("associate-after", associate_after)];
    build(&Values::parse(ENTRY.params, &given).unwrap(), &SETUP)
}

#[test]
fn a_flow_is_paced_after_so_many_marked_acks_until_it_is_silent() {
    let mut cc = control("2");
    for (at, ece, paced) in [
        (100, false, false),
        (110, true, false),
        (120, false, false),
        (130, true, true),
        (5_000, false, true),
        // More than 10 ms without an ACK.
        (15_001, false, false),
        (15_010, true, false),
        (15_020, true, true),
    ] {
        let _ = cc.on_ack(&ack(at, ece));
        assert_eq!(cc.pacing_rate().is_some(), paced, "at {at} us");
    }
}

#[test]
fn silence_can_be_shorter() {
    let given = [("associate-after", "1"), ("idle", "500 us")];
    let mut cc = build(&Values::parse(ENTRY.params, &given).unwrap(), &SETUP);
    let _ = cc.on_ack(&ack(100, true));
    assert!(cc.pacing_rate().is_some());
    let _ = cc.on_ack(&ack(600, false));
    assert!(cc.pacing_rate().is_some(), "half a millisecond is no silence yet");
    let _ = cc.on_ack(&ack(1_101, false));
    assert_eq!(cc.pacing_rate(), None);
}

#[test]
fn the_rate_is_at_least_a_window_per_round_trip() {
    let mut cc = control("0");
    assert_eq!(cc.pacing_rate(), None, "no round trip is known");
    let _ = cc.on_ack(&ack(100, false));
    let floor = cc.cwnd() * 8 * 10_000;
    assert_eq!(cc.pacing_rate().map(Rate::as_bps), Some(floor));
    // Also after a long silence.
    let _ = cc.on_ack(&ack(1_000_000, false));
    assert!(cc.pacing_rate().map(Rate::as_bps) >= Some(floor));
}
