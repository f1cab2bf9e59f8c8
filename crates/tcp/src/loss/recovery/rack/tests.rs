use super::*;

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

fn order(us: u64, end: u64) -> SendOrder {
    SendOrder { at: at(us), end }
}

/// Processes one ACK at `now` that delivers segments: send time, end, retransmitted.
fn arrive(rack: &mut Rack, now: u64, latest_send_time: u64, what: &[(u64, u64, bool)]) {
    let mut sample = rack.begin_sample(at(latest_send_time));
    for (sent, end, again) in what {
        sample.on_delivered(order(*sent, *end), *again);
    }
    rack.on_sample(at(now), &sample);
}

fn input(in_recovery: bool, segs_sacked: u32) -> ReoWndInput {
    let (min_rtt, srtt) = (Duration::from_us(80), Duration::from_us(100));
    ReoWndInput { in_recovery, segs_sacked, min_rtt, srtt }
}

#[test]
fn the_most_recently_sent_delivered_segment_counts_and_ties_go_to_the_higher_end() {
    let mut rack = Rack::new();
    assert_eq!(rack.newest(), None);
    arrive(&mut rack, 100, 100, &[(10, 2000, false), (10, 1000, false), (5, 9000, false)]);
    assert_eq!(rack.newest(), Some(order(10, 2000)));
    assert_eq!(rack.loss_delay(&input(true, 0)), Duration::from_us(90));
    // A segment sent before does not change it, but its RTT counts.
    arrive(&mut rack, 110, 110, &[(7, 3000, false)]);
    assert_eq!(rack.newest(), Some(order(10, 2000)));
    assert_eq!(rack.rtt, Duration::from_us(103));
    arrive(&mut rack, 120, 120, &[]);
    assert_eq!(rack.rtt, Duration::from_us(103), "an ACK that delivers nothing changes nothing");
}

#[test]
fn a_retransmission_that_cannot_have_arrived_yet_is_ignored() {
    let mut rack = Rack::new();
    arrive(&mut rack, 200, 120, &[(50, 1000, false), (150, 2000, true)]);
    assert_eq!(rack.newest(), Some(order(50, 1000)));
    arrive(&mut rack, 240, 150, &[(150, 3000, true)]);
    assert_eq!(rack.newest(), Some(order(150, 3000)));
}

#[test]
fn reordering_is_a_segment_sent_once_that_arrives_below_fack() {
    let mut rack = Rack::new();
    arrive(&mut rack, 100, 0, &[(1, 3000, false), (1, 2000, false)]);
    assert!(!rack.reordering_seen, "one ACK may report several blocks in any order");
    arrive(&mut rack, 100, 0, &[(1, 1000, true)]);
    assert!(!rack.reordering_seen, "a retransmission fills a hole");
    arrive(&mut rack, 100, 0, &[(1, 3000, false)]);
    assert!(!rack.reordering_seen, "the highest again, after reneging");
    arrive(&mut rack, 100, 0, &[(1, 1000, false)]);
    assert!(rack.reordering_seen);
}

#[test]
fn the_reordering_window_is_a_quarter_of_min_rtt_or_zero() {
    let quarter = Duration::from_us(20);
    let mut rack = Rack::new();
    for (in_recovery, sacked, window) in [
        (false, 0, quarter),
        (false, 2, quarter),
        (false, 3, Duration::ZERO),
        (true, 0, Duration::ZERO),
    ] {
        assert_eq!(rack.reordering_window(&input(in_recovery, sacked)), window);
    }
    rack.reordering_seen = true;
    for (in_recovery, sacked) in [(false, 0), (false, 3), (true, 0), (true, 9)] {
        assert_eq!(rack.reordering_window(&input(in_recovery, sacked)), quarter);
    }
}

#[test]
fn dsacks_widen_the_window_once_per_round_up_to_srtt() {
    let mut rack = Rack::new();
    rack.update_reo_wnd(0, 1000, true, false);
    assert_eq!(rack.reordering_window(&input(false, 0)), Duration::from_us(40));
    rack.update_reo_wnd(999, 2000, true, false);
    assert_eq!(rack.reordering_window(&input(false, 0)), Duration::from_us(40), "the same round");
    rack.update_reo_wnd(1000, 2000, true, false);
    assert_eq!(rack.reordering_window(&input(false, 0)), Duration::from_us(60));
    for round in 2..9 {
        rack.update_reo_wnd(round * 1000, round * 1000 + 1000, true, false);
    }
    assert_eq!(rack.reordering_window(&input(false, 0)), Duration::from_us(100));
}

#[test]
fn sixteen_recoveries_without_a_dsack_reset_the_window() {
    let mut rack = Rack::new();
    rack.update_reo_wnd(0, 1000, true, false);
    for _ in 0..15 {
        rack.update_reo_wnd(2000, 3000, false, true);
        rack.update_reo_wnd(2000, 3000, false, false);
    }
    assert_eq!(rack.reo_wnd_mult, 2);
    rack.update_reo_wnd(2000, 3000, true, true);
    assert_eq!((rack.reo_wnd_mult, rack.reo_wnd_persist), (3, 16), "a DSACK restarts the count");
    for _ in 0..16 {
        rack.update_reo_wnd(4000, 5000, false, true);
    }
    assert_eq!(rack.reo_wnd_mult, 1);
}

/// Linux `tcp_rack_advance` sets `rack.rtt_us` for each segment in turn: SACKed ones first, then
/// the acknowledged ones in the order of the queue.
#[test]
fn the_segment_processed_last_can_give_the_rtt() {
    // (sent at, end), SND.UNA, sent time that gives the RTT.
    for (segments, una, last) in [
        (&[(30, 2000), (10, 3000)][..], 1000, 10),
        (&[(10, 3000), (30, 2000)], 1000, 10),
        (&[(30, 4000), (10, 2000)], 2000, 10),
        (&[(10, 1000), (30, 2000)], 2000, 30),
    ] {
        let mut rack = Rack::new();
        let mut sample = rack.begin_sample(at(100)).by_processing(una);
        for (sent, end) in segments {
            sample.on_delivered(order(*sent, *end), false);
        }
        rack.on_sample(at(100), &sample);
        assert_eq!(rack.rtt, at(100).saturating_since(at(last)), "{segments:?}");
        assert_eq!(rack.newest().unwrap().at, at(30));
    }
}
