//! The send buffer: the limit on unacknowledged data, and when the application is notified of room.

use lowtide_tcp::Config;
use lowtide_units::Bytes;

use crate::common::{Script, at_every_origin, plain};

#[test]
fn data_beyond_the_buffer_waits() {
    at_every_origin(|o| {
        let config = Config { send_buffer: Bytes::new(3000), ..plain() };
        Script::established(o, &config).run(
            "send 5000
             > . 1:1001(1000) ack 1 * 3
             is limited SendBuffer
             < . 1:1(0) ack 1001
             > . 3001:4001(1000) ack 1
             < . 1:1(0) ack 4001
             > P. 4001:5001(1000) ack 1
             is limited Application",
        );
    });
}

#[test]
fn writable_is_reported_once_after_a_full_buffer() {
    at_every_origin(|o| {
        let config = Config { send_buffer: Bytes::new(3000), ..plain() };
        let mut t = Script::established(o, &config);
        t.run(
            "event established\nsend 3000\n> . 1:1001(1000) ack 1 * 2\n> P. 2001:3001(1000) ack 1",
        );
        // The application has not asked.
        t.run("< . 1:1(0) ack 1001\nevent none");
        assert_eq!(t.conn.send_space(), 1000);
        t.run("send 1000\n> P. 3001:4001(1000) ack 1");
        assert_eq!(t.conn.send_space(), 0);
        t.run("< . 1:1(0) ack 2001\nevent writable\n< . 1:1(0) ack 3001\nevent none");
        assert_eq!(t.conn.send_space(), 2000);
    });
}

#[test]
fn a_buffer_below_a_segment_still_sends() {
    at_every_origin(|o| {
        let config = Config { send_buffer: Bytes::new(300), nagle: true, ..plain() };
        Script::established(o, &config).run(
            "send 500
             > . 1:301(300) ack 1
             < . 1:1(0) ack 301
             > P. 301:501(200) ack 1",
        );
    });
}

#[test]
fn data_beyond_the_buffer_can_be_discarded() {
    at_every_origin(|o| {
        let config = Config { send_buffer: Bytes::new(4_500), ..plain() };
        let mut t = Script::established(o, &config);
        t.run(
            "send 1000000000
             > . 1:1001(1000) ack 1 * 4
             > . 4001:4501(500) ack 1",
        );
        t.app(|c| assert_eq!(c.discard_unsent(), 1_000_000_000 - 4_500));
        t.app(|c| assert_eq!(c.discard_unsent(), 0));
        t.run(
            "close
             > F. 4501:4501(0) ack 1",
        );
        t.app(|c| assert_eq!(c.discard_unsent(), 0, "a FIN is on its way"));
    });
}
