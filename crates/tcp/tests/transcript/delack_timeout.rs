//! ACKs released by the delayed-ACK timer: flagged to the driver, never on the wire.

use lowtide_tcp::{Config, Connection};
use lowtide_units::{Duration, Instant};
use lowtide_wire::{Flags, Segment, SeqNum};
use std::sync::Arc;

use crate::common::plain;

struct Ends {
    conn: Connection,
    now: Instant,
    peer: u64,
}

impl Ends {
    fn open() -> Self {
        let config = Config { delack_segments: 2, ..plain() };
        let mut conn = Connection::connect(Arc::new(config), 1, 2, SeqNum::new(1000), 0);
        let syn = conn.poll_transmit(Instant::ZERO).expect("a SYN");
        assert!(!syn.delack_timeout);
        let mut ends = Self { conn, now: Instant::ZERO, peer: 0 };
        let syn_ack = Segment {
            src_port: 2,
            dst_port: 1,
            ack: SeqNum::new(1001),
            flags: Flags::SYN | Flags::ACK,
            window: 65_535,
            ..Segment::default()
        };
        ends.conn.handle_segment(ends.now, &syn_ack).expect("it opens");
        assert_eq!(ends.sent(), [false]);
        ends
    }

    /// A segment of 1000 B arrives.
    fn data(&mut self) {
        let seg = Segment {
            src_port: 2,
            dst_port: 1,
            seq: SeqNum::new(1).add(self.peer),
            ack: SeqNum::new(1001),
            flags: Flags::ACK,
            window: 65_535,
            payload_len: 1000,
            ..Segment::default()
        };
        self.peer += 1000;
        self.conn.handle_segment(self.now, &seg).expect("it is taken");
    }

    /// For each packet sent now, whether it is flagged as released by the timer.
    fn sent(&mut self) -> Vec<bool> {
        std::iter::from_fn(|| self.conn.poll_transmit(self.now).map(|t| t.delack_timeout)).collect()
    }

    fn wait(&mut self, span: Duration) {
        self.now += span;
        self.conn.handle_timeout(self.now);
    }
}

#[test]
fn only_the_ack_released_by_the_timer_is_flagged() {
    let mut e = Ends::open();
    e.data();
    assert_eq!(e.sent(), Vec::new() as Vec<bool>, "it is delayed");
    e.wait(Duration::from_ms(200));
    assert_eq!(e.sent(), [true]);
    e.data();
    e.data();
    assert_eq!(e.sent(), [false], "the second segment released it");
    let info = e.conn.info();
    assert_eq!((info.delack_timeouts, info.delack_time), (1, Duration::from_ms(200)));
}

#[test]
fn data_with_the_released_ack_is_flagged_and_later_data_is_not() {
    let mut e = Ends::open();
    e.data();
    e.wait(Duration::from_ms(200));
    // Two segments of 536 B at most (RFC 9293 §3.7.1).
    e.conn.send(1000);
    assert_eq!(e.sent(), [true, false]);
    assert_eq!(e.conn.info().delack_timeouts, 1);
}

#[test]
fn a_late_driver_counts_the_time_that_really_passed() {
    let mut e = Ends::open();
    e.data();
    e.wait(Duration::from_ms(250));
    assert_eq!(e.sent(), [true]);
    assert_eq!(e.conn.info().delack_time, Duration::from_ms(250));
}
