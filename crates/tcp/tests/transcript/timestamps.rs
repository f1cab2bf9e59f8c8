//! Timestamps: sent, echoed, and rejected as too old (RFC 7323 §3 to §5).

use lowtide_tcp::Config;
use lowtide_units::Duration;

use crate::common::{Origin, Script, at_every_origin, ms, plain};

fn stamped() -> Config {
    Config { timestamps: true, ..plain() }
}

/// An opened connection; the peer's timestamp clock shows 10.
fn opened(o: Origin) -> Script {
    Script::established(o, &stamped())
}

#[test]
fn rfc7323_3_2_every_segment_carries_the_clock_and_the_echo() {
    at_every_origin(|o| {
        opened(o).run(
            "send 1000
             > . 1:989(988) ack 1 <TS val 10 ecr 10>
             > P. 989:1001(12) ack 1 <TS val 10 ecr 10>
             +7ms < . 1:101(100) ack 1001 <TS val 40 ecr 10>
             > . 1001:1001(0) ack 101 <TS val 17 ecr 40>
             +3ms close
             > F. 1001:1001(0) ack 101 <TS val 20 ecr 40>
             abort
             > R. 1002:1002(0) ack 101 <TS val 20 ecr 40>",
        );
    });
}

#[test]
fn rfc7323_3_2_a_segment_without_the_option_is_dropped() {
    at_every_origin(|o| {
        opened(o).run(
            "< . 1:101(100) ack 1 <nots> -> Paws
             is received 0
             < . 1:101(100) ack 1
             > . 1:1(0) ack 101
             // Except for RST, which may lack it.
             < R 101:101(0) <nots>
             is state Closed",
        );
    });
}

#[test]
fn rfc7323_3_2_not_agreed_on_they_are_ignored() {
    at_every_origin(|o| {
        Script::opened(o, &stamped(), "S. 0:0(0) ack 1 <mss 1460,nots>").run(
            "is mss 1000
             < . 1:101(100) ack 1 <TS val 5 ecr 0>
             > . 1:1(0) ack 101 <nots>
             < . 101:201(100) ack 1 <TS val 4 ecr 0>
             > . 1:1(0) ack 201 <nots>",
        );
    });
}

#[test]
fn rfc7323_4_3_a_delayed_ack_echoes_the_oldest() {
    at_every_origin(|o| {
        Script::established(o, &Config { delack_segments: 3, ..stamped() }).run(
            "< . 1:101(100) ack 1 <TS val 21 ecr 10>
             < . 101:201(100) ack 1 <TS val 22 ecr 10>
             < . 201:301(100) ack 1 <TS val 23 ecr 10>
             > . 1:1(0) ack 301 <TS val 10 ecr 21>
             < . 301:401(100) ack 1 <TS val 24 ecr 10>
             +200ms > . 1:1(0) ack 401 <TS val 210 ecr 24>",
        );
    });
}

#[test]
fn rfc7323_4_3_out_of_order_segments_are_echoed_when_they_fill_the_gap() {
    at_every_origin(|o| {
        // The table of §4.3: A, C, B, E, D, F with their timestamps.
        opened(o).run(
            "< . 1:101(100) ack 1 <TS val 21 ecr 10>
             > . 1:1(0) ack 101 <TS val 10 ecr 21>
             < . 201:301(100) ack 1 <TS val 23 ecr 10>
             > . 1:1(0) ack 101 <TS val 10 ecr 21>
             < . 101:201(100) ack 1 <TS val 22 ecr 10>
             > . 1:1(0) ack 301 <TS val 10 ecr 22>
             < . 401:501(100) ack 1 <TS val 25 ecr 10>
             > . 1:1(0) ack 301 <TS val 10 ecr 22>
             < . 301:401(100) ack 1 <TS val 24 ecr 10>
             > . 1:1(0) ack 501 <TS val 10 ecr 24>
             < . 501:601(100) ack 1 <TS val 26 ecr 10>
             > . 1:1(0) ack 601 <TS val 10 ecr 26>",
        );
    });
}

#[test]
fn rfc7323_5_3_an_older_timestamp_is_refused_and_answered() {
    at_every_origin(|o| {
        opened(o).run(
            "< . 1:101(100) ack 1 <TS val 1000 ecr 10>
             > . 1:1(0) ack 101
             // The sequence number is valid, the timestamp is not.
             < . 101:201(100) ack 1 <TS val 999 ecr 10> -> Paws
             > . 1:1(0) ack 101 <TS val 10 ecr 1000>
             is received 100
             // An equal tick is not older.
             < . 101:201(100) ack 1 <TS val 1000 ecr 10>
             > . 1:1(0) ack 201
             // R1 does not apply to RST.
             < R. 201:201(0) ack 1 <TS val 5 ecr 10>
             is state Closed",
        );
    });
}

#[test]
fn rfc7323_5_3_segments_outside_the_window_do_not_move_the_clock() {
    at_every_origin(|o| {
        opened(o).run(
            "< . 1:101(100) ack 1 <TS val 50 ecr 10>
             > . 1:1(0) ack 101
             < . 900001:900101(100) ack 1 <TS val 90000 ecr 10> -> OutOfWindow
             > . 1:1(0) ack 101 <TS val 10 ecr 50>
             < . 101:201(100) ack 1 <TS val 60 ecr 10>
             > . 1:1(0) ack 201 <TS val 10 ecr 60>",
        );
    });
}

#[test]
fn rfc7323_5_5_after_24_days_idle_the_last_timestamp_proves_nothing() {
    at_every_origin(|o| {
        for (days, fits) in [(23, false), (25, true)] {
            let mut t = opened(o);
            t.advance(t.now + Duration::from_secs(days * 24 * 3600));
            t.run(if fits {
                "< . 1:101(100) ack 1 <TS val 5 ecr 10>
                 > . 1:1(0) ack 101"
            } else {
                "< . 1:101(100) ack 1 <TS val 5 ecr 10> -> Paws
                 > . 1:1(0) ack 1"
            });
        }
    });
}

#[test]
fn rfc7323_4_1_an_echo_measures_a_retransmission() {
    at_every_origin(|o| {
        let config = Config { rto_min: ms(1), ..stamped() };
        Script::established(o, &config).run(
            "is srtt 10ms
             is rto 30ms
             send 100
             > P. 1:101(100) ack 1 <TS val 10 ecr 10>
             +30ms > P. 1:101(100) ack 1 <TS val 40 ecr 10>
             // The ACK is that of the second transmission: 18 ms.
             +18ms < . 1:1(0) ack 101 <TS val 50 ecr 40>
             is srtt 11ms
             is rto 34ms",
        );
    });
}

#[test]
fn rfc7323_4_1_a_duplicate_ack_is_no_sample() {
    at_every_origin(|o| {
        opened(o).run(
            "send 1976
             > . 1:989(988) ack 1
             > P. 989:1977(988) ack 1
             +500ms < . 1:1(0) ack 1
             is srtt 10ms
             // One for data is not either: it echoes an old timestamp.
             < . 1:101(100) ack 1 <TS val 600 ecr 10>
             > . 1977:1977(0) ack 101
             is srtt 10ms",
        );
    });
}
