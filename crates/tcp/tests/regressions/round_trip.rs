//! Samples of the round trip.

use lowtide_units::Duration;
use lowtide_wire::Flags;

use crate::single::{SingleConnection, plain};

/// A connection with 3000 B to send, a closed window, and a window probe in flight.
fn probing() -> SingleConnection {
    let mut c = SingleConnection::opened(plain(), 0);
    c.conn.send(3000);
    assert!(c.sends().is_none());
    c.now = c.conn.poll_timeout().expect("the persist timer");
    c.conn.handle_timeout(c.now);
    assert_eq!(c.sends().expect("a probe").stream, 0..1);
    c
}

#[test]
fn an_accepted_probe_gives_no_round_trip() {
    let mut c = probing();
    let before = c.conn.info().min_rtt;
    c.later(Duration::from_ms(20));
    c.arrives(0, 0, 1, Flags::NONE).unwrap();
    assert_eq!(c.conn.acked_upto(), 1);
    assert_eq!(c.conn.info().min_rtt, before);
}

#[test]
fn a_probed_byte_that_is_sent_again_gives_no_round_trip() {
    let mut c = probing();
    let before = c.conn.info().min_rtt;
    c.later(Duration::from_ms(20));
    c.window = 1000;
    c.arrives(0, 0, 0, Flags::NONE).unwrap();
    assert_eq!(c.sends().expect("the window opened").stream, 0..1000);
    // The answer to the probe, late: the peer had room for its byte.
    c.later(Duration::from_us(1));
    c.arrives(0, 0, 1, Flags::NONE).unwrap();
    assert_eq!(c.conn.acked_upto(), 1);
    assert_eq!(c.conn.info().min_rtt, before);
}

#[test]
fn the_backoff_of_probes_is_not_that_of_data() {
    let mut c = probing();
    let timeout = c.conn.info().rto;
    for _ in 0..3 {
        c.now = c.conn.poll_timeout().expect("the persist timer");
        c.conn.handle_timeout(c.now);
        assert!(c.sends().is_some(), "another probe");
        c.arrives(0, 0, 0, Flags::NONE).unwrap();
    }
    assert_eq!(c.conn.poll_timeout(), Some(c.now + timeout * 16));
    c.window = 9000;
    c.arrives(0, 0, 0, Flags::NONE).unwrap();
    assert_eq!(c.conn.info().rto, timeout);
    assert!(c.sends().is_some());
    assert_eq!(c.conn.poll_timeout(), Some(c.now + timeout));
}
