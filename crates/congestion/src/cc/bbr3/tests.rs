//! The rules of the draft, each alone, with numbers computed by hand.

use std::vec::Vec;

use super::super::bbr::flow::{BW, Flow, MSS, RTT, setup};
use super::*;

fn mode(state: State) -> u64 {
    state as u64
}

fn startup(rounds: &[u64]) -> Flow {
    let mut flow = Flow::new(&ENTRY, &setup());
    for segments in rounds {
        flow.round(*segments, |_| {});
    }
    flow
}

/// In CRUISE on a path of 100 segments per round trip.
fn cruising() -> Flow {
    let flow = startup(&[10, 25, 60, 100, 100, 100, 100, 100]);
    assert_eq!(flow.mode(), mode(State::Cruise));
    flow
}

fn until(flow: &mut Flow, state: State) {
    for _ in 0..200 {
        if flow.mode() == mode(state) {
            return;
        }
        flow.round(100, |_| {});
    }
    panic!("in {} after 200 rounds", flow.mode());
}

/// A segment of `MSS` bytes at `at` is lost, one of `lost` of the `tx_in_flight` bytes.
fn lose(flow: &mut Flow, at: u64, lost: u64, tx_in_flight: u64) {
    let (start, end) = (at, at + MSS);
    let segment = LostSegment { start, end, tx_in_flight, lost, app_limited: false };
    flow.cc.on_event(&CongestionEvent::SegmentLost { now: flow.now, segment });
}

fn begin_recovery(flow: &mut Flow) {
    let now = flow.now;
    let in_flight = 100 * MSS;
    flow.cc.on_event(&CongestionEvent::Loss { now, in_flight, already_reduced: false });
}

fn undo(flow: &mut Flow) {
    flow.cc.on_event(&CongestionEvent::Undo { now: flow.now });
}

/// Whether the control has this variable now.
fn is_bound(flow: &Flow, wanted: &str) -> bool {
    struct Names(Vec<std::string::String>);
    impl Probe for Names {
        fn value(&mut self, name: &str, _: Unit, _: u64) {
            self.0.push(name.into());
        }
    }
    let mut names = Names(Vec::new());
    flow.cc.probe(&mut names);
    names.0.iter().any(|name| name == wanted)
}

#[test]
fn startup_ends_after_three_rounds_without_a_quarter_more_and_drain_when_the_bdp_is_in_flight() {
    let first = Flow::new(&ENTRY, &setup());
    assert_eq!(first.value("pacing-rate"), 10 * MSS * 8 * 25 * 277 / 100);
    let mut flow = startup(&[10, 29, 80, 100, 100, 110]);
    assert_eq!((flow.value("bw"), flow.mode()), (BW * 11 / 10, mode(State::Startup)));
    assert_eq!(flow.value("pacing-rate"), BW * 11 / 10 * 277 / 100 * 99 / 100);
    flow.round(100, |ack| ack.in_flight = 200 * MSS);
    assert_eq!((flow.mode(), flow.cc.ssthresh()), (mode(State::Drain), 110 * MSS));
    assert_eq!(flow.value("pacing-rate"), BW * 11 / 20 * 99 / 100);
    flow.round(100, |ack| ack.in_flight = 111 * MSS);
    assert_eq!(flow.mode(), mode(State::Drain));
    flow.round(100, |ack| ack.in_flight = 110 * MSS);
    assert_eq!(flow.mode(), mode(State::Cruise), "DOWN ends at the same ACK");
}

#[test]
fn drain_ends_after_three_rounds_with_a_queue_too() {
    let mut flow = startup(&[10, 29, 80, 100, 100, 100]);
    for _ in 0..4 {
        flow.round(100, |ack| ack.in_flight = 200 * MSS);
        assert_eq!(flow.mode(), mode(State::Drain));
    }
    flow.round(100, |ack| ack.in_flight = 200 * MSS);
    assert_eq!(flow.mode(), mode(State::Down));
}

#[test]
fn six_lost_ranges_and_two_per_cent_in_a_round_of_recovery_end_startup_and_an_undo_resumes_it() {
    let exits = |ranges: u64, step: u64, lost: u64| {
        let mut flow = startup(&[10, 29, 80]);
        begin_recovery(&mut flow);
        for i in 0..ranges {
            lose(&mut flow, i * step * MSS, MSS, 100 * MSS);
        }
        flow.round(80, |ack| {
            ack.in_flight = 200 * MSS;
            let sample = ack.rate_sample.as_mut().expect("a sample");
            (sample.lost, sample.tx_in_flight) = (lost, 100 * MSS);
        });
        flow
    };
    for (ranges, step, lost) in [(5, 2, 3 * MSS), (6, 1, 3 * MSS), (6, 2, 2 * MSS)] {
        assert_eq!(exits(ranges, step, lost).mode(), mode(State::Startup), "{ranges} {step}");
    }
    let mut flow = exits(6, 2, 3 * MSS);
    assert_eq!(flow.mode(), mode(State::Drain));
    assert_eq!(flow.value("inflight-longterm"), 80 * MSS);
    undo(&mut flow);
    assert_eq!(flow.mode(), mode(State::Startup));
    assert!(!is_bound(&flow, "inflight-longterm"));
}

#[test]
fn a_cycle_cruises_for_two_seconds_refills_for_a_round_and_probes_until_the_rate_stops_growing() {
    let mut flow = cruising();
    let began = flow.now;
    until(&mut flow, State::Refill);
    let cruised = flow.now.saturating_since(began);
    assert!(cruised > PROBE_WAIT - RTT * 2 && cruised < RTT * 64, "{cruised}");
    flow.round(100, |_| {});
    assert_eq!((flow.mode(), flow.value("pacing-gain")), (mode(State::Up), (5 << 20) / 4));
    flow.round(110, |_| {});
    flow.round(110, |_| {});
    assert_eq!(flow.mode(), mode(State::Up), "two rounds are not enough");
    flow.round(110, |ack| ack.in_flight = 200 * MSS);
    assert_eq!((flow.mode(), flow.value("max-bw")), (mode(State::Down), BW * 11 / 10));
    // The maximum of this probe and of the one before.
    until(&mut flow, State::Up);
    assert_eq!(flow.value("max-bw"), BW * 11 / 10);
    until(&mut flow, State::Cruise);
    assert_eq!(flow.value("max-bw"), BW);
}

#[test]
fn a_lossy_probe_bounds_the_flight_until_a_probe_without_losses_and_an_undo_starts_it_again() {
    let mut flow = cruising();
    until(&mut flow, State::Up);
    begin_recovery(&mut flow);
    // Of 150 segments three are 2 %: the fourth was one too many.
    for lost in 1..=3 {
        lose(&mut flow, 2 * lost * MSS, lost * MSS, 150 * MSS);
    }
    assert_eq!(flow.mode(), mode(State::Up));
    let too_much = |flow: &mut Flow| {
        lose(flow, 20 * MSS, 4 * MSS, 150 * MSS);
        assert_eq!(flow.value("inflight-longterm"), 149 * MSS);
        assert_eq!(flow.mode(), mode(State::Down));
    };
    too_much(&mut flow);
    undo(&mut flow);
    assert_eq!(flow.mode(), mode(State::Refill));
    assert!(!is_bound(&flow, "inflight-longterm"));
    until(&mut flow, State::Up);
    begin_recovery(&mut flow);
    too_much(&mut flow);
    flow.cc.on_event(&CongestionEvent::Recovered { now: flow.now, in_flight: u64::MAX });
    until(&mut flow, State::Cruise);
    flow.round(100, |_| {});
    assert_eq!(flow.cc.cwnd(), 149 * MSS - 149 * MSS * 15 / 100, "with headroom");
    // The next probe is precautionary: it ends at the bound, and then a full one follows.
    until(&mut flow, State::Up);
    assert_eq!(flow.cc.cwnd(), 149 * MSS);
    flow.round(100, |ack| ack.in_flight = 149 * MSS);
    assert_eq!(flow.mode(), mode(State::Down));
    flow.round(100, |_| {});
    assert_eq!(flow.mode(), mode(State::Refill));
    until(&mut flow, State::Up);
    // A used bound grows by 1, 2, 4 segments per round.
    let mut bounds = Vec::new();
    for _ in 0..3 {
        let cwnd = flow.cc.cwnd();
        flow.round(cwnd / MSS, |ack| ack.prior_in_flight = cwnd);
        bounds.push(flow.value("inflight-longterm") / MSS);
    }
    assert_eq!((flow.mode(), &bounds[..]), (mode(State::Up), &[150, 152, 156][..]));
}

#[test]
fn other_losses_lower_the_short_term_bounds_once_per_round_until_the_next_refill() {
    let mut flow = cruising();
    flow.round(100, |_| {});
    let cwnd = flow.cc.cwnd();
    begin_recovery(&mut flow);
    lose(&mut flow, 0, MSS, 100 * MSS);
    flow.round(60, |_| {});
    assert_eq!(flow.value("bw-shortterm"), BW, "the round before it had delivered that");
    lose(&mut flow, 9 * MSS, MSS, 100 * MSS);
    flow.round(60, |_| {});
    assert_eq!((flow.value("bw-shortterm"), flow.value("bw")), (BW * 7 / 10, BW * 7 / 10));
    assert_eq!(flow.value("inflight-shortterm"), (cwnd * 7 / 10) * 7 / 10);
    lose(&mut flow, 18 * MSS, MSS, 100 * MSS);
    flow.round(60, |_| {});
    assert_eq!(flow.value("bw-shortterm"), BW * 6 / 10, "not below what is delivered");
    until(&mut flow, State::Refill);
    assert!(!is_bound(&flow, "bw-shortterm") && !is_bound(&flow, "inflight-shortterm"));
    assert_eq!(flow.value("bw"), BW);
}

#[test]
fn probe_rtt_follows_five_seconds_without_a_minimum_with_half_of_the_bdp() {
    let mut flow = cruising();
    let lower = RTT - Duration::from_us(1);
    flow.round(100, |ack| ack.rtt = Some(lower));
    let since = flow.now;
    while flow.mode() != mode(State::ProbeRtt) {
        flow.round(100, |ack| (ack.rtt, ack.in_flight) = (Some(lower), 60 * MSS));
    }
    let waited = flow.now.saturating_since(since);
    assert!(waited > PROBE_RTT_INTERVAL && waited <= PROBE_RTT_INTERVAL + RTT, "{waited}");
    assert!(flow.cc.cwnd().abs_diff(50 * MSS) < MSS, "{}", flow.cc.cwnd());
    flow.round(50, |ack| ack.in_flight = 49 * MSS);
    let began = flow.now;
    while flow.mode() == mode(State::ProbeRtt) {
        flow.round(50, |ack| ack.in_flight = 49 * MSS);
    }
    // 200 ms are exceeded at the sixth round, and its samples are app-limited.
    assert_eq!(flow.now.saturating_since(began), RTT * 6);
    assert_eq!((flow.mode(), flow.value("max-bw")), (mode(State::Cruise), BW));
    assert!(flow.cc.cwnd() >= 200 * MSS, "{}", flow.cc.cwnd());
}

#[test]
fn a_flow_that_starts_again_paces_at_the_bandwidth_and_skips_probe_rtt() {
    let mut flow = cruising();
    flow.now += Duration::from_secs(20);
    let now = flow.now;
    flow.cc.on_event(&CongestionEvent::TransmitStart { now, app_limited: true });
    assert_eq!(flow.cc.pacing_rate().map(Rate::as_bps), Some(BW * 99 / 100));
    flow.round(10, |ack| ack.rate_sample.as_mut().expect("a sample").app_limited = true);
    assert_ne!(flow.mode(), mode(State::ProbeRtt));
    assert_eq!(flow.value("max-bw"), BW);
}

#[test]
fn a_timeout_leaves_one_segment_and_its_repair_restores_the_window() {
    let mut flow = cruising();
    let (now, cwnd, in_flight) = (flow.now, flow.cc.cwnd(), 100 * MSS);
    flow.cc.on_event(&CongestionEvent::Rto { now, first: true, in_recovery: false, in_flight });
    assert_eq!(flow.cc.cwnd(), MSS);
    flow.round(1, |ack| ack.after_rto = true);
    assert_eq!(flow.cc.cwnd(), 4 * MSS);
    flow.round(1, |_| {});
    assert!(flow.cc.cwnd() >= cwnd - 4 * MSS, "{}", flow.cc.cwnd());
}
