//! Departure of ACKs: every m segments, after the timer, with data, or at once (RFC 9293 §3.8.6.3,
//! RFC 5681 §4.2).

use lowtide_tcp::Config;

use crate::common::{Script, at_every_origin, ms, plain};

fn every(segments: u32) -> Config {
    Config { delack_segments: segments, delack_timer: ms(200), ..plain() }
}

#[test]
fn rfc9293_3_8_6_3_every_second_segment_is_acknowledged() {
    at_every_origin(|o| {
        Script::established(o, &every(2)).run(
            "< . 1:1001(1000) ack 1
             is timer 200ms
             < . 1001:2001(1000) ack 1
             > . 1:1(0) ack 2001
             is timer none
             // For segments of any size (the RFC requires it for full-sized ones only).
             < P. 2001:2002(1) ack 1
             < P. 2002:2003(1) ack 1
             > . 1:1(0) ack 2003",
        );
    });
}

#[test]
fn rfc9293_3_8_6_3_the_timer_runs_from_the_first_segment() {
    at_every_origin(|o| {
        Script::established(o, &every(4)).run(
            "< . 1:1001(1000) ack 1
             +150ms < . 1001:2001(1000) ack 1
             is timer 50ms
             +50ms > . 1:1(0) ack 2001
             // The count also restarts.
             < . 2001:3001(1000) ack 1 * 3
             is timer 200ms
             < . 5001:6001(1000) ack 1
             > . 1:1(0) ack 6001",
        );
    });
}

#[test]
fn rfc9293_3_8_6_3_data_takes_the_ack_along() {
    at_every_origin(|o| {
        Script::established(o, &every(2)).run(
            "< . 1:1001(1000) ack 1
             +10ms send 100
             > P. 1:101(100) ack 1001
             // Only the retransmission timer is left, and the count restarts.
             is timer 1s
             < . 1001:2001(1000) ack 101
             is timer 200ms
             +200ms > . 101:101(0) ack 2001",
        );
    });
}

#[test]
fn rfc5681_4_2_a_gap_its_filling_a_duplicate_and_a_fin_are_acknowledged_at_once() {
    at_every_origin(|o| {
        Script::established(o, &every(2)).run(
            "< . 1001:2001(1000) ack 1
             > . 1:1(0) ack 1
             < . 3001:4001(1000) ack 1
             > . 1:1(0) ack 1
             // Fills a part of the hole, all of it, the rest.
             < . 1:501(500) ack 1
             > . 1:1(0) ack 501
             < . 501:1001(500) ack 1
             > . 1:1(0) ack 2001
             < . 2001:3001(1000) ack 1
             > . 1:1(0) ack 4001
             < . 3001:4001(1000) ack 1 -> OutOfWindow
             > . 1:1(0) ack 4001
             // In order again.
             < . 4001:5001(1000) ack 1
             is timer 200ms
             < F. 5001:5001(0) ack 1
             > . 1:1(0) ack 5002",
        );
    });
}

#[test]
fn rfc9293_3_8_6_3_an_ack_of_our_data_is_not_acknowledged() {
    at_every_origin(|o| {
        Script::established(o, &every(1)).run(
            "send 1000
             > P. 1:1001(1000) ack 1
             < . 1:1(0) ack 1001
             < . 1:1(0) ack 1001
             is timer none",
        );
    });
}

#[test]
fn rfc9293_3_8_6_3_a_window_update_takes_the_delayed_ack_along() {
    at_every_origin(|o| {
        let config = Config { receive_buffer: lowtide_units::Bytes::new(2000), ..every(2) };
        Script::established(o, &config).run(
            "< . 1:1001(1000) ack 1
             read 1000
             > . 1:1(0) ack 1001 win 2000
             is timer none",
        );
    });
}

#[test]
fn rfc9293_3_8_6_2_2_a_window_that_the_field_cannot_say_is_no_update() {
    at_every_origin(|o| {
        // The buffer holds 4 MB; without scaling 65535 B are advertised before and after.
        Script::established(o, &every(2)).run(
            "< . 1:1001(1000) ack 1
             read 1000
             is timer 200ms
             < . 1001:2001(1000) ack 1
             > . 1:1(0) ack 2001 win 65535",
        );
    });
}
