//! Effects of ICMP errors on a connection (RFC 1191, RFC 8201, RFC 5927).

use lowtide_tcp::Config;

use crate::common::{Script, at_every_origin, plain};

fn both_recoveries(script: &str) {
    at_every_origin(|o| {
        for sack in [false, true] {
            Script::established(o, &Config { sack, ..plain() }).run(script);
        }
    });
}

#[test]
fn segments_that_are_too_big_are_split_and_the_window_is_unchanged() {
    both_recoveries(
        "send 2500
         > . 1:1001(1000) ack 1 * 2
         > P. 2001:2501(500) ack 1
         is cwnd 10000
         +10ms too-big 1 640
         > . 1:601(600) ack 1
         > . 601:1001(400) ack 1
         > . 1001:1601(600) ack 1
         > . 1601:2001(400) ack 1
         is mss 600
         is cwnd 10000
         is flight 2500
         is rtos 0
         is retransmits 0
         < . 1:1(0) ack 2501
         is recovery false
         send 1200
         > . 2501:3101(600) ack 1
         > P. 3101:3701(600) ack 1
         < . 1:1(0) ack 3701",
    );
}

#[test]
fn errors_about_segments_not_in_flight_are_ignored() {
    both_recoveries(
        "send 1000
         > P. 1:1001(1000) ack 1
         < . 1:1(0) ack 1001
         send 1000
         > P. 1001:2001(1000) ack 1
         too-big 1 640
         is mss 1000
         too-big 2002 640
         is mss 1000
         too-big 1001 0
         is mss 1000
         too-big 1001 1040
         is mss 1000
         // Less than the MTU of any link is an attack.
         too-big 1001 68
         is mss 512
         > . 1001:1513(512) ack 1
         > P. 1513:2001(488) ack 1
         < . 1:1(0) ack 2001",
    );
}

#[test]
fn a_hard_error_ends_a_connection_only_in_syn_sent() {
    at_every_origin(|o| {
        Script::active(o, &plain()).run(
            "> S 0:0(0) win 65535 <mss 1000>
             refused 5
             is state SynSent
             refused 0
             event refused
             is state Closed",
        );
        Script::established(o, &plain()).run(
            "send 100
             > P. 1:101(100) ack 1
             refused 1
             is state Established
             < . 1:1(0) ack 101",
        );
    });
}
