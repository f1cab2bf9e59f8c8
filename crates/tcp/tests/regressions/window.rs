//! The peer's window and ours.

use std::sync::Arc;

use lowtide_tcp::{Config, Connection, EcnNegotiation, InitialWindow};
use lowtide_units::{Bytes, Duration, Instant};
use lowtide_wire::{Ecn, Flags, Segment, SeqNum};

use crate::single::{SingleConnection, plain};

#[test]
fn a_retransmission_that_acknowledges_brings_its_window_along() {
    let mut c = SingleConnection::opened(plain(), 3000);
    c.conn.send(9000);
    assert_eq!(c.sends_all().len(), 3);
    c.window = 3000;
    // The peer's second segment overtakes the first, which then arrives with a newer ACK.
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
        ecn: EcnNegotiation::Rfc3168,
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
    assert_eq!(edges, [10_100; 2], "as the SYN-ACK advertised");
}

#[test]
fn an_ack_from_the_right_edge_counts() {
    let mut c =
        SingleConnection::established(Config { receive_buffer: Bytes::new(3000), ..plain() });
    c.conn.send(500);
    assert_eq!(c.sends_all().len(), 1);
    // The peer has sent 0..3000, the whole window, and it was lost.
    c.arrives(3000, 0, 500, Flags::NONE).unwrap();
    assert_eq!(c.conn.acked_upto(), 500);
    assert_eq!(c.sends_all().len(), 0, "an ACK is not acknowledged");
    assert!(c.arrives(3001, 0, 500, Flags::NONE).is_err(), "beyond the edge");
    assert!(c.arrives(3000, 1, 500, Flags::NONE).is_err(), "a byte there does not fit");
}

#[test]
fn sack_blocks_fit_the_mtu() {
    for (mtu, blocks) in [(1500, 4), (68, 3), (59, 1)] {
        let mut c = SingleConnection::established(Config { mtu, sack: true, ..plain() });
        for hole in 1..=4 {
            c.arrives(20 * hole, 10, 0, Flags::NONE).unwrap();
            let ack = c.sends().expect("an ACK at once").header;
            assert_eq!(ack.options.sack.len(), blocks.min(hole as usize), "MTU {mtu}");
            assert!(ack.ipv4_len() <= mtu);
        }
    }
}

#[test]
fn the_first_burst_after_idle_keeps_to_the_restart_window() {
    let initial_window = InitialWindow::Segments(2);
    let mut c =
        SingleConnection::established(Config { tso_segments: 8, initial_window, ..plain() });
    c.conn.send(12_000);
    while let Some(last) = c.sends_all().last() {
        c.later(Duration::from_ms(1));
        c.arrives(0, 0, last.stream.end, Flags::NONE).unwrap();
    }
    assert_eq!(c.conn.acked_upto(), 12_000);
    assert!(c.conn.info().snd_cwnd >= 6000);
    c.later(Duration::from_secs(5));
    c.conn.send(6000);
    let sent: u32 = c.sends_all().iter().map(|t| t.header.payload_len).sum();
    assert_eq!((sent, c.conn.info().snd_cwnd), (2000, 2000));
}

#[test]
fn a_burst_has_at_most_64_kib_without_big_tcp() {
    // `sk_gso_max_size` less `MAX_TCP_HEADER`: seven segments of 8960 B, and not the eight to
    // twenty that windows and `tso-segments` permit.
    for (gso_max, segments) in [(65_536, 7), (524_280, 20), (100_000, 11)] {
        let jumbo = Config { tso_segments: 45, mtu: 9000, window_scaling: true, ..plain() };
        let config = Config { initial_window: InitialWindow::Segments(20), gso_max, ..jumbo };
        let mut c = SingleConnection::established(config);
        c.conn.send(1_000_000);
        let first = c.sends_all().last().expect("a burst").stream.end;
        c.arrives(0, 0, first, Flags::NONE).unwrap();
        let bursts = c.sends_all();
        assert!(bursts.iter().map(|t| t.header.payload_len).sum::<u32>() > 100_000);
        assert_eq!(bursts.iter().map(|t| t.segments).max(), Some(segments), "{gso_max}");
    }
}

#[test]
fn crossing_window_probes_do_not_lock_both_ends() {
    let mut c = SingleConnection::opened(Config { receive_buffer: Bytes::new(1000), ..plain() }, 0);
    c.conn.send(3000);
    assert!(c.sends().is_none());
    c.now = c.conn.poll_timeout().expect("the persist timer");
    c.conn.handle_timeout(c.now);
    assert_eq!(c.sends().expect("a probe").stream, 0..1);
    // The peer's probe crosses ours; both find room for a byte.
    c.arrives(0, 1, 0, Flags::NONE).unwrap();
    assert_eq!(c.sends_all().len(), 1);
    // The peer does not know yet that its probe was accepted: its ACK of ours has an old number.
    assert!(c.arrives(0, 0, 1, Flags::NONE).is_err());
    assert_eq!(c.conn.acked_upto(), 1);
    let ack = c.sends().expect("an answer").header;
    let at = c.of_peer(0, 0, 1, Flags::NONE).ack;
    assert_eq!(ack.seq, at, "beyond the probe, so the peer takes it");
}
