//! The peer's window and ours.

use std::sync::Arc;

use lowtide_tcp::{Config, Connection, EcnWish};
use lowtide_units::{Bytes, Instant};
use lowtide_wire::{Ecn, Flags, Segment, SeqNum};

use crate::lone::{Lone, plain};

#[test]
fn a_retransmission_that_acknowledges_brings_its_window_along() {
    let mut c = Lone::opened(plain(), 3000);
    c.conn.send(9000);
    assert_eq!(c.sends_all().len(), 3);
    c.window = 3000;
    // The peer's second segment overtakes the first, which then comes with a newer ACK.
    c.arrives(500, 500, 0, Flags::NONE).unwrap();
    c.sends_all();
    c.window = 1000;
    c.arrives(0, 500, 2000, Flags::NONE).unwrap();
    let data: Vec<_> = c.sends_all().iter().map(|t| t.stream.clone()).collect();
    assert_eq!(data.last(), Some(&(3000..3000)), "the window still ends at 3000: {data:?}");
}

#[test]
fn the_older_of_two_split_acks_offers_the_same_edge() {
    let receive_buffer = Bytes::new(10_000);
    let config = Config {
        ecn: EcnWish::Rfc3168,
        ack: "dctcp",
        delack_segments: 2,
        receive_buffer,
        ..plain()
    };
    let syn = Segment {
        seq: SeqNum::new(99),
        flags: Flags::SYN | Flags::ECE | Flags::CWR,
        window: 1000,
        ..Segment::default()
    };
    let now = Instant::ZERO;
    let mut c = Connection::accept(Arc::new(config), now, &syn, SeqNum::new(499), 0);
    assert!(c.poll_transmit(now).is_some(), "the SYN-ACK");
    for (seq, ecn) in [(100, Ecn::Ect0), (200, Ecn::Ce)] {
        let (seq, ack) = (SeqNum::new(seq), SeqNum::new(500));
        let data = Segment { seq, ack, ecn, flags: Flags::ACK, payload_len: 100, ..syn };
        c.handle_segment(now, &data).unwrap();
    }
    let acks: Vec<_> = std::iter::from_fn(|| c.poll_transmit(now)).map(|t| t.header).collect();
    let seen: Vec<_> = acks.iter().map(|a| (a.ack.raw(), a.flags.contains(Flags::ECE))).collect();
    assert_eq!(seen, [(200, false), (300, true)]);
    let edges: Vec<_> = acks.iter().map(|a| a.ack.raw() + u32::from(a.window)).collect();
    assert_eq!(edges, [10_100; 2], "as the SYN-ACK promised");
}
