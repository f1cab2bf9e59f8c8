//! Small segments: Nagle's algorithm (RFC 9293 §3.7.4), alone and against delayed ACKs.

use lowtide_tcp::Config;

use crate::common::{Pair, Script, Side, at_every_origin, ms, plain};

fn nagle() -> Config {
    Config { nagle: true, ..plain() }
}

#[test]
fn rfc9293_3_7_4_small_data_waits_for_the_ack_of_data_in_flight() {
    at_every_origin(|o| {
        Script::established(o, &nagle()).run(
            "// Nothing is outstanding: sent at once.
             send 100
             > P. 1:101(100) ack 1
             send 100
             send 200
             is limited Application
             // Collected into one segment.
             < . 1:1(0) ack 101
             > P. 101:401(300) ack 1
             // A full segment never waits; its rest does, until everything is acknowledged.
             send 1500
             > . 401:1401(1000) ack 1
             < . 1:1(0) ack 401
             < . 1:1(0) ack 1401
             > P. 1401:1901(500) ack 1
             // Or until it fills a segment.
             send 999
             send 1
             > P. 1901:2901(1000) ack 1",
        );
    });
}

#[test]
fn rfc9293_3_7_4_nothing_waits_behind_a_close() {
    at_every_origin(|o| {
        Script::established(o, &nagle()).run(
            "send 100
             > P. 1:101(100) ack 1
             send 50
             close
             > FP. 101:151(50) ack 1",
        );
    });
}

#[test]
fn rfc9293_3_7_4_without_nagle_every_write_leaves() {
    at_every_origin(|o| {
        Script::established(o, &plain()).run(
            "send 100
             > P. 1:101(100) ack 1
             send 1
             > P. 101:102(1) ack 1
             send 1500
             > . 102:1102(1000) ack 1
             > P. 1102:1602(500) ack 1",
        );
    });
}

#[test]
fn rfc9293_3_7_4_nagle_and_delayed_acks_wait_for_each_other() {
    at_every_origin(|o| {
        let patient = Config { delack_segments: 2, delack_timer: ms(200), ..plain() };
        for (config, second) in [(nagle(), 220), (plain(), 0)] {
            let mut pair = Pair::new(o, &config, &patient, ms(10));
            pair.run(ms(100));
            let start = pair.now;
            pair.a.send(100);
            pair.run(ms(0));
            pair.a.send(100);
            pair.run(ms(1000));
            let sent: Vec<_> =
                pair.sent_by(Side::A).filter(|t| t.has_data()).map(|t| t.sent_at).collect();
            assert_eq!(sent, [start, start + ms(second)], "{}", pair.tail());
        }
    });
}
