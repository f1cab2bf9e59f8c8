//! Loss with SACK: the scoreboard, the pipe and the next segment to send (RFC 6675).

use lowtide_tcp::{Config, RecoveryRule};

use crate::common::{LinkAction, Origin, Pair, Script, at_every_origin, ms, plain};

fn sack() -> Config {
    Config { sack: true, ..plain() }
}

/// Ten segments in flight, `more` bytes waiting.
fn ten_in_flight(o: Origin, config: &Config, more: u64) -> Script {
    let mut t = Script::established(o, config);
    t.run(&format!("send {}\n> . 1:1001(1000) ack 1 * 10", 10_000 + more));
    t
}

#[test]
fn rfc6675_5_one_loss() {
    at_every_origin(|o| {
        ten_in_flight(o, &sack(), 20_000).run(
            "// Limited transmit: SACKed segments have left the pipe.
             < . 1:1(0) ack 1 <sack 1001:2001>
             > . 10001:11001(1000) ack 1
             < . 1:1(0) ack 1 <sack 1001:3001>
             > . 11001:12001(1000) ack 1
             is flight 10000
             // (4.2) half of the flight, without the data of limited transmit; (4.3) the lost
             // segment is sent regardless of the pipe: 12 sent, 3 SACKed, 1 lost and retransmitted.
             < . 1:1(0) ack 1 <sack 1001:4001>
             > . 1:1001(1000) ack 1
             is recovery true
             is ssthresh 5000
             is cwnd 5000
             is flight 9000
             // (C) if the pipe has room for a segment.
             < . 1:1(0) ack 1 <sack 1001:7001>
             is flight 6000
             < . 1:1(0) ack 1 <sack 1001:9001>
             > . 12001:13001(1000) ack 1
             < . 1:1(0) ack 1 <sack 1001:10001>
             > . 13001:14001(1000) ack 1
             // RFC 6582 §3.2: the bytes in flight plus one segment, no burst.
             +10ms < . 1:1(0) ack 12001
             > . 14001:15001(1000) ack 1
             is cwnd 3000
             is recovery false
             is retransmits 1",
        );
    });
}

#[test]
fn rfc6675_4_is_lost_by_three_runs_or_more_than_two_segments() {
    at_every_origin(|o| {
        // Every second one is lost: three runs above the first.
        ten_in_flight(o, &sack(), 0).run(
            "< . 1:1(0) ack 1 <sack 1001:2001>
             < . 1:1(0) ack 1 <sack 3001:4001 1001:2001>
             < . 1:1(0) ack 1 <sack 5001:6001 3001:4001 1001:2001>
             > . 1:1001(1000) ack 1
             // There are 3000 B above 2001, and only 2000 above 4001.
             < . 1:1(0) ack 1 <sack 5001:7001 3001:4001 1001:2001>
             is flight 5000",
        );
        // One ACK may report all of it: an ACK was lost, or the receiver aggregates.
        ten_in_flight(o, &sack(), 0).run(
            "< . 1:1(0) ack 1 <sack 1001:4001>
             > . 1:1001(1000) ack 1",
        );
        // Three runs of small segments, in one ACK.
        let mut t = Script::established(o, &sack());
        for i in 0..7 {
            t.run(&format!("send 300\n> P. {}:{}(300) ack 1", 300 * i + 1, 300 * i + 301));
        }
        t.run(
            "< . 1:1(0) ack 1 <sack 1501:1801 901:1201 301:601>
             > . 1:301(300) ack 1
             // The other holes are not lost, but there is no new data (rule 3).
             > . 601:901(300) ack 1
             > . 1201:1501(300) ack 1",
        );
        // 2000 B are not more than two segments.
        ten_in_flight(o, &sack(), 0).run("< . 1:1(0) ack 1 <sack 1001:3001>\nis recovery false");
    });
}

#[test]
fn rfc6675_5_many_losses_in_one_window_are_sent_as_the_pipe_empties() {
    at_every_origin(|o| {
        // 1, 2 and 4 of ten are lost.
        ten_in_flight(o, &sack(), 20_000).run(
            "< . 1:1(0) ack 1 <sack 2001:3001>
             > . 10001:11001(1000) ack 1
             < . 1:1(0) ack 1 <sack 4001:5001 2001:3001>
             > . 11001:12001(1000) ack 1
             < . 1:1(0) ack 1 <sack 4001:6001 2001:3001>
             > . 1:1001(1000) ack 1
             is cwnd 5000
             // 12 sent, 3 SACKed, 2 lost, 1 retransmitted.
             is flight 8000
             < . 1:1(0) ack 1 <sack 4001:7001 2001:3001>
             // Now the fourth is also lost.
             is flight 6000
             < . 1:1(0) ack 1 <sack 4001:8001 2001:3001>
             < . 1:1(0) ack 1 <sack 4001:9001 2001:3001>
             > . 1001:2001(1000) ack 1
             < . 1:1(0) ack 1 <sack 4001:10001 2001:3001>
             > . 3001:4001(1000) ack 1
             // No lost segment is left: new data.
             < . 1:1(0) ack 1 <sack 4001:11001 2001:3001>
             > . 12001:13001(1000) ack 1
             // A partial ACK only shrinks the pipe.
             < . 1:1(0) ack 1001 <sack 4001:11001 2001:3001>
             > . 13001:14001(1000) ack 1
             is recovery true
             < . 1:1(0) ack 12001
             > . 14001:15001(1000) ack 1
             is recovery false
             is retransmits 1",
        );
    });
}

#[test]
fn rfc6675_4_next_seg_rule_3_and_the_rescue_when_nothing_new_is_left() {
    at_every_origin(|o| {
        // 1, 9 and 10 of ten are lost, no more data.
        ten_in_flight(o, &sack(), 0).run(
            "< . 1:1(0) ack 1 <sack 1001:2001>
             < . 1:1(0) ack 1 <sack 1001:3001>
             < . 1:1(0) ack 1 <sack 1001:4001>
             > . 1:1001(1000) ack 1
             < . 1:1(0) ack 1 <sack 1001:6001>
             is flight 5000
             // Rule 4, once: the highest one.
             < . 1:1(0) ack 1 <sack 1001:7001>
             > P. 9001:10001(1000) ack 1
             < . 1:1(0) ack 1 <sack 1001:8001>
             +10ms < . 1:1(0) ack 8001
             is recovery true
             // The rescue arrived: a hole remains, rule 3.
             < . 1:1(0) ack 8001 <sack 9001:10001>
             > . 8001:9001(1000) ack 1
             < . 1:1(0) ack 10001
             is recovery false
             is rtos 0",
        );
    });
}

#[test]
fn rfc6675_5_1_sacked_data_is_not_retransmitted_after_a_timeout() {
    at_every_origin(|o| {
        ten_in_flight(o, &sack(), 0).run(
            "< . 1:1(0) ack 1 <sack 2001:4001>
             +1s > . 1:1001(1000) ack 1
             is cwnd 1000
             < . 1:1(0) ack 1001 <sack 2001:4001>
             > . 1001:2001(1000) ack 1
             > . 4001:5001(1000) ack 1
             < . 1:1(0) ack 5001
             > . 5001:6001(1000) ack 1 * 3",
        );
    });
}

#[test]
fn rfc2018_8_a_peer_that_took_its_sack_back_gets_everything_again() {
    at_every_origin(|o| {
        ten_in_flight(o, &sack(), 0).run(
            "< . 1:1(0) ack 1 <sack 1001:3001>
             // 1001:3001 was SACKed, so this ACK means that the peer discarded it.
             < . 1:1(0) ack 1001
             +1s > . 1001:2001(1000) ack 1
             < . 1:1(0) ack 2001
             > . 2001:3001(1000) ack 1
             > . 3001:4001(1000) ack 1",
        );
    });
}

#[test]
fn rfc2018_5_blocks_that_cannot_be_true_are_ignored() {
    at_every_origin(|o| {
        for blocks in ["sack 20001:21001", "sack 9001:10002", "sack 3001:2001", "sack 2001:2001"] {
            ten_in_flight(o, &sack(), 0).run(&format!(
                "< . 1:1(0) ack 1 <{blocks}> * 4
                 is flight 10000
                 is recovery false"
            ));
        }
    });
}

#[test]
fn rfc2883_5_a_dsack_is_no_sign_of_loss() {
    at_every_origin(|o| {
        let mut t = ten_in_flight(o, &sack(), 20_000);
        t.run("< . 1:1(0) ack 4001\nis cwnd 12000\n> . 10001:11001(1000) ack 1 * 6");
        t.run(
            "< . 1:1(0) ack 4001 <sack 1:1001> * 4
             is recovery false
             is flight 12000",
        );
    });
}

#[test]
fn rfc6675_3_the_switch_newreno_counts_duplicates_although_sack_was_agreed() {
    at_every_origin(|o| {
        let config = Config { recovery: RecoveryRule::NewReno, ..sack() };
        ten_in_flight(o, &config, 20_000).run(
            "< . 1:1(0) ack 1 <sack 1001:2001>
             > . 10001:11001(1000) ack 1
             < . 1:1(0) ack 1 <sack 1001:3001>
             > . 11001:12001(1000) ack 1
             is recovery false
             < . 1:1(0) ack 1 <sack 1001:4001>
             > . 1:1001(1000) ack 1
             is recovery true
             // 12000 count as in flight regardless of SACK; the window is 5000 plus the duplicates.
             < . 1:1(0) ack 1 <sack 1001:5001>
             < . 1:1(0) ack 1 <sack 1001:10001>",
        );
    });
}

#[test]
fn rfc6675_any_three_losses_are_repaired_without_a_timeout() {
    at_every_origin(|o| {
        for lost in [[0, 1, 2], [0, 2, 4], [0, 4, 9], [1, 8, 9], [3, 4, 9], [7, 8, 9]] {
            let mut pair = Pair::new(o, &sack(), &sack(), ms(10));
            let mut data = 0;
            pair.link(move |t| {
                let hit = t.has_data() && lost.contains(&data);
                data += usize::from(t.has_data());
                if hit { LinkAction::Drop } else { LinkAction::Pass }
            });
            pair.a.send(40_000);
            pair.run_until(ms(5000), |p| p.a.acked_upto() == 40_000);
            let counters = pair.a.info().counters;
            assert_eq!((counters.rto_count, counters.fast_retransmits), (0, 1), "{}", pair.tail());
            assert_eq!(counters.bytes_retrans, 3000, "{}", pair.tail());
        }
    });
}

#[test]
fn rfc6675_4_each_episode_has_its_rescue() {
    at_every_origin(|o| {
        let mut pair = Pair::new(o, &sack(), &sack(), ms(10));
        let mut data = 0;
        pair.link(move |t| {
            // The first and the last of ten; later, after 30 more, those of six.
            let hit = t.has_data() && [0, 9, 42, 47].contains(&data);
            data += usize::from(t.has_data());
            if hit { LinkAction::Drop } else { LinkAction::Pass }
        });
        let mut total = 0;
        for bytes in [10_000, 30_000, 6000] {
            pair.a.send(bytes);
            total += bytes;
            pair.run_until(ms(5000), |p| p.a.acked_upto() == total);
        }
        let counters = pair.a.info().counters;
        assert_eq!((counters.rto_count, counters.fast_retransmits), (0, 2), "{}", pair.tail());
        assert_eq!(counters.bytes_retrans, 4000);
    });
}

#[test]
fn rfc6675_5_a_lost_retransmission_waits_for_the_timer() {
    at_every_origin(|o| {
        ten_in_flight(o, &sack(), 0).run(
            "< . 1:1(0) ack 1 <sack 1001:4001>
             > . 1:1001(1000) ack 1
             // It is not the rescue either: it was sent just now.
             < . 1:1(0) ack 1 <sack 1001:10001>
             +1s > . 1:1001(1000) ack 1
             is rtos 1
             < . 1:1(0) ack 10001
             is timer none",
        );
    });
}

#[test]
fn rfc3042_the_switch_holds_new_data_back_with_sack_too() {
    at_every_origin(|o| {
        ten_in_flight(o, &Config { limited_transmit: false, ..sack() }, 20_000).run(
            "< . 1:1(0) ack 1 <sack 1001:2001>
             < . 1:1(0) ack 1 <sack 1001:3001>
             < . 1:1(0) ack 1 <sack 1001:4001>
             > . 1:1001(1000) ack 1",
        );
    });
}

#[test]
fn rfc6675_4_one_rescue_also_when_new_data_follows_it() {
    at_every_origin(|o| {
        ten_in_flight(o, &sack(), 0).run(
            "< . 1:1(0) ack 1 <sack 1001:4001>
             > . 1:1001(1000) ack 1
             < . 1:1(0) ack 1 <sack 1001:7001>
             > P. 9001:10001(1000) ack 1
             send 1000
             < . 1:1(0) ack 1 <sack 1001:8001>
             > P. 10001:11001(1000) ack 1
             // There is room for a segment, and 10001:11001 would be the highest one.
             < . 1:1(0) ack 8001
             is flight 4000
             is cwnd 5000",
        );
    });
}
