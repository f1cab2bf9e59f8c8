//! Loss detection by time (RFC 8985 §6).

use lowtide_tcp::{Config, RecoveryRule, Reduction};

use crate::common::{Origin, Script, at_every_origin, ms, plain};

fn rack() -> Config {
    Config { sack: true, recovery: RecoveryRule::Rack, ..plain() }
}

/// Ten segments in flight, `more` bytes waiting. The round trip is 10 ms.
fn ten_in_flight(o: Origin, config: &Config, more: u64) -> Script {
    let mut t = Script::established(o, config);
    t.run(&format!("send {}\n> . 1:1001(1000) ack 1 * 10", 10_000 + more));
    t
}

#[test]
fn rfc8985_6_2_a_hole_is_given_a_quarter_of_the_least_round_trip() {
    at_every_origin(|o| {
        ten_in_flight(o, &rack(), 20_000).run(
            "+10ms < . 1:1(0) ack 1 <sack 1001:2001>
             > . 10001:11001(1000) ack 1
             is timer 2500us
             is recovery false
             +2500us > . 1:1001(1000) ack 1
             is recovery true
             is ssthresh 5000
             is retransmits 1
             // 11 sent, 1 SACKed, 1 lost and retransmitted; the retransmission timer takes over.
             is flight 10000
             is timer 1s
             +10ms < . 1:1(0) ack 11001
             > . 11001:12001(1000) ack 1 * 2
             is recovery false",
        );
        // On a host with coarse timers.
        ten_in_flight(o, &Config { loss_timer_slack: ms(8), ..rack() }, 0)
            .run("+10ms < . 1:1(0) ack 1 <sack 1001:2001>\nis timer 10500us");
        // Linux at 250 jiffies per second: 2.5 ms remain, and with 2 ms of slack two jiffies.
        let linux = Config { loss_timer_slack: ms(2), loss_timer_granularity: ms(4), ..rack() };
        ten_in_flight(o, &linux, 0).run("+10ms < . 1:1(0) ack 1 <sack 1001:2001>\nis timer 8ms");
    });
}

#[test]
fn rfc8985_6_2_late_segments_are_not_lost_and_reordering_is_remembered() {
    at_every_origin(|o| {
        ten_in_flight(o, &rack(), 20_000).run(
            "+10ms < . 1:1(0) ack 1 <sack 1001:2001>
             > . 10001:11001(1000) ack 1
             +1ms < . 1:1(0) ack 2001
             > . 11001:12001(1000) ack 1 * 3
             is timer 1s
             is retransmits 0
             // Before reordering was seen, three segments above a hole were a loss at once. Now
             // they wait.
             < . 1:1(0) ack 2001 <sack 3001:6001>
             > . 14001:15001(1000) ack 1 * 3
             is timer 2500us
             +1ms < . 1:1(0) ack 6001
             > . 17001:18001(1000) ack 1 * 3
             is recovery false",
        );
    });
}

#[test]
fn rfc8985_6_2_three_segments_above_are_a_loss_at_once_while_no_reordering_was_seen() {
    at_every_origin(|o| {
        ten_in_flight(o, &rack(), 0).run(
            "+10ms < . 1:1(0) ack 1 <sack 1001:2001>
             < . 1:1(0) ack 1 <sack 3001:4001 1001:2001>
             is recovery false
             < . 1:1(0) ack 1 <sack 5001:6001 3001:4001 1001:2001>
             > . 1:1001(1000) ack 1
             is recovery true
             // Unlike RFC 6675 it does not count the segments above each hole: all three are lost.
             is flight 5000
             is cwnd 5000
             < . 1:1(0) ack 1 <sack 5001:7001 3001:4001 1001:2001>
             > . 2001:3001(1000) ack 1",
        );
    });
}

#[test]
fn rfc8985_3_4_a_tail_is_probed_and_a_lost_retransmission_is_found() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &Config { tail_loss_probe: true, ..rack() });
        t.run(
            "send 4000
             > . 1:1001(1000) ack 1 * 3
             > P. 3001:4001(1000) ack 1
             +10ms < . 1:1(0) ack 1001
             // The other three are lost. Two round trips later:
             is timer 20ms
             +20ms > P. 3001:4001(1000) ack 1
             +10ms < . 1:1(0) ack 1001 <sack 3001:4001>
             > . 1001:2001(1000) ack 1
             > . 2001:3001(1000) ack 1
             // The first of these is lost again, and a segment that overtook it reveals the loss.
             +10ms < . 1:1(0) ack 1001 <sack 2001:4001>
             > . 1001:2001(1000) ack 1
             +10ms < . 1:1(0) ack 4001
             is recovery false
             is probes 1
             is rtos 0
             // Recovery has already reacted to the loss; the probe does not react again.
             send 1000
             > P. 4001:5001(1000) ack 1
             +10ms < . 1:1(0) ack 5001
             is probe-repairs 0",
        );
    });
}

#[test]
fn rfc8985_9_3_a_lost_retransmission_lowers_the_window_again_unless_prr_holds_back() {
    at_every_origin(|o| {
        for (reduction, ssthresh) in [(Reduction::OneStep, 2500), (Reduction::Prr, 5000)] {
            let mut t = ten_in_flight(o, &Config { reduction, ..rack() }, 20_000);
            t.run("+10ms");
            t.inject(". 1:1(0) ack 1 <sack 1001:4001>").expect("an ACK");
            assert_eq!(t.sent().seq, o.isn.add(1), "the retransmission");
            while t.drop_sent() {}
            t.run("is ssthresh 5000");
            t.inject(". 1:1(0) ack 1 <sack 1001:10001>").expect("an ACK");
            let new = std::iter::from_fn(|| t.drop_sent().then_some(())).count();
            assert!(new >= 1, "new data behind the retransmission");
            t.run("+10ms");
            t.inject(". 1:1(0) ack 1 <sack 1001:11001>").expect("an ACK");
            while t.drop_sent() {}
            t.run(&format!("is ssthresh {ssthresh}\nis retransmits 1"));
        }
    });
}

#[test]
fn rfc8985_9_3_the_retransmissions_of_one_window_count_once() {
    at_every_origin(|o| {
        ten_in_flight(o, &rack(), 20_000).run(
            "+10ms < . 1:1(0) ack 1 <sack 2001:3001>
             > . 10001:11001(1000) ack 1
             < . 1:1(0) ack 1 <sack 2001:5001>
             > . 1:1001(1000) ack 1
             is ssthresh 5000
             +1ms < . 1:1(0) ack 1 <sack 2001:9001>
             > . 1001:2001(1000) ack 1
             > . 11001:12001(1000) ack 1
             // A segment sent just before the first retransmission arrives, the retransmission does
             // not.
             +9ms < . 1:1(0) ack 1 <sack 10001:11001 2001:9001>
             is ssthresh 2500
             // The second one was lost in the same window of data.
             +1ms < . 1:1(0) ack 1 <sack 10001:12001 2001:9001>
             > . 1:1001(1000) ack 1
             > . 1001:2001(1000) ack 1
             is ssthresh 2500",
        );
    });
}

#[test]
fn rfc8985_9_3_a_later_retransmission_counts_too() {
    at_every_origin(|o| {
        ten_in_flight(o, &rack(), 20_000).run(
            "+10ms < . 1:1(0) ack 1 <sack 2001:5001>
             > . 1:1001(1000) ack 1
             +1ms < . 1:1(0) ack 1 <sack 2001:10001>
             > . 1001:2001(1000) ack 1
             > . 10001:11001(1000) ack 1 * 3
             +9ms < . 1:1(0) ack 1001 <sack 2001:10001>
             > . 13001:14001(1000) ack 1
             is ssthresh 5000
             +1ms < . 1:1(0) ack 1001 <sack 2001:11001>
             is ssthresh 2500",
        );
    });
}

#[test]
fn rfc8985_8_the_retransmission_timer_stops_while_the_reordering_timer_runs() {
    at_every_origin(|o| {
        ten_in_flight(o, &Config { rto_min: ms(1), ..rack() }, 0).run(
            "is timer 30ms
             +29ms < . 1:1(0) ack 1 <sack 1001:2001>
             is timer 2500us
             +2500us > . 1:1001(1000) ack 1
             is rtos 0",
        );
    });
}

#[test]
fn a_dsack_for_a_probe_is_no_reordering() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &Config { tail_loss_probe: true, ..rack() });
        t.run(
            "send 1000
             > P. 1:1001(1000) ack 1
             +220ms > P. 1:1001(1000) ack 1
             +1ms < . 1:1(0) ack 1001
             < . 1:1(0) ack 1001 <sack 1:1001>
             send 2000
             > . 1001:2001(1000) ack 1
             > P. 2001:3001(1000) ack 1
             +10ms < . 1:1(0) ack 1001 <sack 2001:3001>
             is timer 2500us
             < . 1:1(0) ack 3001",
        );
    });
}

#[test]
fn rfc8985_6_2_a_dsack_widens_the_reordering_window() {
    at_every_origin(|o| {
        ten_in_flight(o, &rack(), 0).run(
            "+10ms < . 1:1(0) ack 1 <sack 1001:2001>
             is timer 2500us
             +2500us > . 1:1001(1000) ack 1
             // It was only late.
             < . 1:1(0) ack 2001
             +10ms < . 1:1(0) ack 2001 <sack 1:1001>
             < . 1:1(0) ack 10001
             is recovery false
             send 3000
             > . 10001:11001(1000) ack 1 * 2
             +10ms < . 1:1(0) ack 10001 <sack 11001:12001>
             > P. 12001:13001(1000) ack 1
             is timer 5ms
             +5ms > . 10001:11001(1000) ack 1",
        );
    });
}

#[test]
fn rfc8985_6_3_a_timeout_marks_the_first_and_old_segments_lost() {
    at_every_origin(|o| {
        let run = |config: &Config, rest: &str| {
            let mut t = Script::established(o, config);
            t.run(
                "send 1000
                 > P. 1:1001(1000) ack 1
                 +10ms < . 1:1(0) ack 1001
                 send 1000
                 > P. 1001:2001(1000) ack 1
                 +100ms send 1000
                 > P. 2001:3001(1000) ack 1
                 +895ms send 1000
                 > P. 3001:4001(1000) ack 1
                 +5ms > . 1001:2001(1000) ack 1
                 is rtos 1",
            );
            t.run(rest);
        };
        // The first again; the last was sent 5 ms ago and may still arrive.
        run(
            &rack(),
            "is flight 2000
             +5ms < . 1:1(0) ack 1001 <sack 3001:4001>
             is flight 1000
             +5ms < . 1:1(0) ack 2001 <sack 3001:4001>
             > . 2001:3001(1000) ack 1
             +10ms < . 1:1(0) ack 4001
             is recovery false",
        );
        run(&Config { recovery: RecoveryRule::Sack, ..rack() }, "is flight 1000");
    });
}

#[test]
fn without_sack_it_counts_duplicates() {
    at_every_origin(|o| {
        ten_in_flight(o, &Config { sack: false, ..rack() }, 0).run(
            "+10ms < . 1:1(0) ack 1 * 2
             is timer 990ms
             < . 1:1(0) ack 1
             > . 1:1001(1000) ack 1
             is recovery true",
        );
    });
}

#[test]
fn with_timestamps_an_echo_distinguishes_the_original_from_the_retransmission() {
    at_every_origin(|o| {
        let mut t = ten_in_flight(o, &Config { timestamps: true, mtu: 1052, ..rack() }, 0);
        t.run(
            "+10ms < . 1:1(0) ack 1 <sack 1001:2001>
             +2500us > . 1:1001(1000) ack 1
             // The ACK of the original: it echoes a segment sent 13 ms ago. If it counted for the
             // retransmission, all segments sent before that would be lost.
             +10ms < . 1:1(0) ack 2001 <TS val 40 ecr 10>
             is flight 8000
             is timer 1s",
        );
        while t.drop_sent() {}
    });
}
