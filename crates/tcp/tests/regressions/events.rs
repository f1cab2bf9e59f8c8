//! Events of the application, and the timeouts requested by the connection.

use lowtide_tcp::{CloseReason, Config, Event};
use lowtide_units::{Bytes, Duration};
use lowtide_wire::Flags;

use crate::single::{SingleConnection, plain};

#[test]
fn writable_follows_only_after_a_full_buffer_was_reported() {
    let mut c = SingleConnection::established(Config { send_buffer: Bytes::new(2000), ..plain() });
    c.conn.send(1000);
    assert_eq!(c.sends_all().len(), 1);
    c.arrives(0, 0, 1000, Flags::NONE).unwrap();
    assert_eq!(c.events(), [], "no one asked for room");

    assert_eq!(c.conn.send_space(), 2000);
    c.conn.send(2000);
    assert_eq!(c.conn.send_space(), 0);
    assert_eq!(c.sends_all().len(), 2);
    c.arrives(0, 0, 2000, Flags::NONE).unwrap();
    assert_eq!(c.events(), [Event::Writable]);
    c.arrives(0, 0, 3000, Flags::NONE).unwrap();
    assert_eq!(c.events(), [], "told once");
}

#[test]
fn a_fin_is_no_unread_byte() {
    let mut c = SingleConnection::established(plain());
    c.arrives(0, 100, 0, Flags::FIN).unwrap();
    assert_eq!(c.conn.unread(), 100);
    c.conn.read(100);
    assert_eq!(c.conn.unread(), 0);
}

#[test]
fn data_acknowledged_beyond_our_fin_is_rejected() {
    let mut c = SingleConnection::established(plain());
    c.conn.send(10);
    c.conn.close();
    assert_eq!(c.sends_all().last().map(|t| t.stream.clone()), Some(0..10));
    c.arrives(0, 5, 11, Flags::NONE).unwrap();
    let ack = c.sends().expect("an ACK");
    assert_eq!(ack.stream, 10..10, "the FIN has a sequence number and no byte");
}

#[test]
fn no_timer_outlives_the_connection() {
    // An ACK is due, delayed by this timer.
    let timer = Duration::from_ms(200);
    let delayed = Config { delack_segments: 2, delack_timer: timer, ..plain() };
    let mut aborted = SingleConnection::established(delayed.clone());
    aborted.arrives(0, 100, 0, Flags::NONE).unwrap();
    assert!(aborted.conn.poll_timeout().is_some());
    aborted.conn.abort();
    assert!(aborted.sends().is_some_and(|t| t.header.flags.contains(Flags::RST)));
    assert_eq!(aborted.conn.poll_timeout(), None);

    let mut reset = SingleConnection::established(delayed);
    reset.arrives(0, 100, 0, Flags::NONE).unwrap();
    reset.arrives(100, 0, 0, Flags::RST).unwrap();
    assert_eq!(reset.conn.poll_timeout(), None);
    assert_eq!(reset.events().last(), Some(&Event::Closed(CloseReason::Reset)));
}
