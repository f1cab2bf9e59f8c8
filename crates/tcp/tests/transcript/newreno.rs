//! Loss without SACK: limited transmit (RFC 3042), fast retransmit (RFC 5681 §3.2) and NewReno's
//! fast recovery (RFC 6582).

use lowtide_tcp::Config;

use crate::common::{LinkAction, Origin, Pair, Script, at_every_origin, ms, plain};

/// Ten segments in flight, more waiting.
fn ten_in_flight(o: Origin, config: &Config) -> Script {
    let mut t = Script::established(o, config);
    t.run("send 30000\n> . 1:1001(1000) ack 1 * 10");
    t
}

#[test]
fn rfc3042_2_the_first_two_duplicates_let_one_new_segment_go_each() {
    at_every_origin(|o| {
        ten_in_flight(o, &plain()).run(
            "< . 1:1(0) ack 1
             > . 10001:11001(1000) ack 1
             < . 1:1(0) ack 1
             > . 11001:12001(1000) ack 1
             is cwnd 10000
             // It was reordering: no loss, and the window has room for the data sent early.
             < . 1:1(0) ack 4001
             is recovery false
             is cwnd 12000
             > . 12001:13001(1000) ack 1 * 4",
        );
        ten_in_flight(o, &Config { limited_transmit: false, ..plain() }).run(
            "< . 1:1(0) ack 1
             < . 1:1(0) ack 1
             < . 1:1(0) ack 1
             > . 1:1001(1000) ack 1",
        );
    });
}

#[test]
fn rfc3042_2_never_beyond_the_window_of_the_peer() {
    at_every_origin(|o| {
        let mut t = Script::opened(o, &plain(), "S. 0:0(0) ack 1 win 10000 <mss 1460>");
        t.window = 10_000;
        t.run(
            "send 30000
             > . 1:1001(1000) ack 1 * 10
             < . 1:1(0) ack 1
             < . 1:1(0) ack 1
             < . 1:1(0) ack 1
             > . 1:1001(1000) ack 1",
        );
    });
}

#[test]
fn rfc5681_3_2_one_loss() {
    at_every_origin(|o| {
        ten_in_flight(o, &plain()).run(
            "< . 1:1(0) ack 1
             > . 10001:11001(1000) ack 1
             < . 1:1(0) ack 1
             > . 11001:12001(1000) ack 1
             // Step 2: half of the flight, without the data of limited transmit. Step 3: plus the
             // loss.
             < . 1:1(0) ack 1
             > . 1:1001(1000) ack 1
             is recovery true
             is retransmits 1
             is ssthresh 5000
             is cwnd 5000
             // Step 4: 5000 plus 3000 for those that left; each further duplicate adds one. 12000
             // are in flight, so the fifth one releases new data (step 5).
             < . 1:1(0) ack 1 * 4
             < . 1:1(0) ack 1
             > . 12001:13001(1000) ack 1
             < . 1:1(0) ack 1
             > . 13001:14001(1000) ack 1
             // Step 6 and RFC 6582 step 3: ssthresh, or the bytes in flight plus one segment.
             +10ms < . 1:1(0) ack 12001
             is recovery false
             is cwnd 3000
             > . 14001:15001(1000) ack 1
             < . 1:1(0) ack 14001
             // Slow start up to ssthresh.
             is cwnd 5000
             > . 15001:16001(1000) ack 1 * 4",
        );
    });
}

#[test]
fn rfc6582_3_2_two_losses_by_a_partial_ack() {
    at_every_origin(|o| {
        // 1:1001 and 4001:5001 are lost.
        ten_in_flight(o, &plain()).run(
            "< . 1:1(0) ack 1
             > . 10001:11001(1000) ack 1
             < . 1:1(0) ack 1
             > . 11001:12001(1000) ack 1
             < . 1:1(0) ack 1
             > . 1:1001(1000) ack 1
             < . 1:1(0) ack 1 * 4
             < . 1:1(0) ack 1
             > . 12001:13001(1000) ack 1
             // The next hole at once; deflate by 4000, add one segment: 5000 + 8000 - 4000 + 1000,
             // and 9000 are in flight.
             +10ms < . 1:1(0) ack 4001
             > . 4001:5001(1000) ack 1
             > . 13001:14001(1000) ack 1
             is recovery true
             is retransmits 1
             is cwnd 5000
             // It began with 12000 in flight: an ACK of less does not end it, one of all does.
             < . 1:1(0) ack 11001
             > . 11001:12001(1000) ack 1
             > . 14001:15001(1000) ack 1 * 3
             is recovery true
             < . 1:1(0) ack 12001
             is recovery false
             is cwnd 5000",
        );
    });
}

#[test]
fn rfc6582_3_2_no_second_fast_retransmit_below_recover() {
    at_every_origin(|o| {
        // Duplicates caused by unneeded retransmissions only: nothing beyond `recover` was
        // acknowledged yet.
        let mut t = ten_in_flight(o, &plain());
        t.run(
            "+1s > . 1:1001(1000) ack 1
             +10ms < . 1:1(0) ack 10001
             is cwnd 2000
             > . 10001:11001(1000) ack 1 * 2
             < . 1:1(0) ack 10001
             > . 12001:13001(1000) ack 1
             < . 1:1(0) ack 10001
             > . 13001:14001(1000) ack 1
             < . 1:1(0) ack 10001
             is retransmits 0
             // Once new data is acknowledged, three duplicates count again.
             < . 1:1(0) ack 11001
             < . 1:1(0) ack 11001
             > . 14001:15001(1000) ack 1
             < . 1:1(0) ack 11001
             > . 15001:16001(1000) ack 1
             < . 1:1(0) ack 11001
             > . 11001:12001(1000) ack 1
             is retransmits 1",
        );
    });
}

#[test]
fn rfc5681_2_acks_that_are_not_duplicates() {
    at_every_origin(|o| {
        let mut t = ten_in_flight(o, &plain());
        t.run(
            "// Payload, another window, a SYN or FIN, nothing in flight.
             < . 1:101(100) ack 1
             > . 10001:10001(0) ack 101
             < . 101:101(0) ack 1 win 60000
             < . 101:101(0) ack 1 win 50000
             < . 101:101(0) ack 1 win 40000
             is retransmits 0
             is recovery false",
        );
        Script::established(o, &plain()).run(
            "< . 1:1(0) ack 1 * 5
             send 1000
             > P. 1:1001(1000) ack 1
             // The five did not count.
             < . 1:1(0) ack 1
             is recovery false",
        );
    });
}

#[test]
fn rfc6582_3_2_a_retransmission_that_is_lost_waits_for_the_timer() {
    at_every_origin(|o| {
        ten_in_flight(o, &plain()).run(
            "< . 1:1(0) ack 1
             > . 10001:11001(1000) ack 1
             < . 1:1(0) ack 1
             > . 11001:12001(1000) ack 1
             < . 1:1(0) ack 1
             > . 1:1001(1000) ack 1
             +1s > . 1:1001(1000) ack 1
             is rtos 1
             is cwnd 1000
             // Half of the bytes in flight now.
             is ssthresh 6000",
        );
    });
}

#[test]
fn rfc6582_any_two_losses_are_repaired_without_a_timeout() {
    at_every_origin(|o| {
        for first in 0..8 {
            for second in first + 1..8 {
                let mut pair = Pair::new(o, &plain(), &plain(), ms(10));
                let mut data = 0;
                pair.link(move |t| {
                    let hit = t.has_data() && (data == first || data == second);
                    data += usize::from(t.has_data());
                    if hit { LinkAction::Drop } else { LinkAction::Pass }
                });
                pair.a.send(40_000);
                pair.run_until(ms(5000), |p| p.a.acked_upto() == 40_000);
                let counters = pair.a.info().counters;
                assert_eq!((counters.rto_count, counters.fast_retransmits), (0, 1));
                assert_eq!(counters.bytes_retrans, 2000, "{}", pair.tail());
            }
        }
    });
}
