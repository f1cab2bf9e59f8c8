//! Opening.

use std::sync::Arc;

use lowtide_tcp::{Accepted, Config, Connection, EcnMode, EcnNegotiation, Event};
use lowtide_units::{Duration, Instant};
use lowtide_wire::{Flags, Options, Segment, SeqNum};

use crate::single::plain;

fn at_ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_ms(ms)
}

#[test]
fn the_window_and_ece_of_a_crossing_syn_ack_are_those_of_a_syn() {
    let config = Config { window_scaling: true, ecn: EcnNegotiation::Rfc3168, ..plain() };
    let mut c = Connection::connect(Arc::new(config), 1, 2, SeqNum::new(99), 0);
    assert!(c.poll_transmit(at_ms(0)).is_some());
    let syn = Segment {
        seq: SeqNum::new(499),
        flags: Flags::SYN | Flags::ECE | Flags::CWR,
        window: 60_000,
        options: Options { mss: Some(1000), window_scale: Some(7), ..Options::default() },
        ..Segment::default()
    };
    assert_eq!(c.handle_segment(at_ms(1), &syn), Ok(Accepted::default()));
    let answer = c.poll_transmit(at_ms(1)).expect("a SYN-ACK").header;
    assert_eq!(answer.flags, Flags::SYN | Flags::ACK | Flags::ECE);
    let flags = Flags::SYN | Flags::ACK | Flags::ECE;
    let syn_ack = Segment { ack: SeqNum::new(100), flags, ..syn };
    assert_eq!(c.handle_segment(at_ms(2), &syn_ack), Ok(Accepted::default()));
    assert_eq!(c.poll_event(), Some(Event::Established));
    let info = c.info();
    assert_eq!((info.snd_wnd, info.ecn), (60_000, EcnMode::Classic));
    assert_eq!((info.snd_cwnd, info.counters.ecn_reductions), (10_000, 0));
}

#[test]
fn a_repeated_syn_ack_gives_no_round_trip() {
    let syn = Segment { seq: SeqNum::new(499), flags: Flags::SYN, ..Segment::default() };
    for (times, srtt) in [(1, Some(Duration::from_ms(50))), (2, None)] {
        let config = Arc::new(plain());
        let mut c = Connection::accept(config, at_ms(0), &syn, SeqNum::new(99), 0);
        assert!(c.poll_transmit(at_ms(0)).is_some());
        if times == 2 {
            // The peer's SYN again, and then the ACK of the SYN-ACK that was in flight.
            assert!(c.handle_segment(at_ms(50), &syn).is_err());
            assert!(c.poll_transmit(at_ms(50)).is_some(), "the SYN-ACK again");
        }
        let flags = Flags::ACK;
        let ack = Segment { seq: SeqNum::new(500), ack: SeqNum::new(100), flags, ..syn };
        c.handle_segment(at_ms(50), &ack).unwrap();
        assert_eq!(c.poll_event(), Some(Event::Established));
        assert_eq!(c.info().srtt, srtt, "SYN-ACK sent {times} times");
    }
}

#[test]
fn a_small_mtu_is_kept_and_a_hostile_mss_is_bounded() {
    // Our MTU, the peer's MSS, the resulting payload.
    for (mtu, mss, payload) in [(68, 1460, 28), (1500, 28, 48), (1500, 0, 48), (1500, 500, 500)] {
        let config = Arc::new(Config { mtu, ..plain() });
        let options = Options { mss: Some(mss), ..Options::default() };
        let syn = Segment { flags: Flags::SYN, window: 9000, options, ..Segment::default() };
        let mut c = Connection::accept(config, at_ms(0), &syn, SeqNum::new(99), 0);
        assert!(c.poll_transmit(at_ms(0)).is_some());
        let (seq, ack) = (SeqNum::new(1), SeqNum::new(100));
        let ack = Segment { seq, ack, flags: Flags::ACK, window: 9000, ..Segment::default() };
        c.handle_segment(at_ms(1), &ack).unwrap();
        c.send(5000);
        let sent = c.poll_transmit(at_ms(1)).expect("data").header;
        assert_eq!(sent.payload_len, payload, "MTU {mtu}, MSS {mss}");
    }
}

#[test]
fn the_delay_option_is_not_offered_if_the_mtu_has_no_room() {
    for (mtu, offered) in [(68, false), (69, true), (1500, true)] {
        let config = Config { mtu, timestamps: true, delay_option: true, ..plain() };
        let mut c = Connection::connect(Arc::new(config), 1, 2, SeqNum::new(99), 0);
        let syn = c.poll_transmit(at_ms(0)).expect("a SYN").header;
        assert_eq!(syn.options.offers_delay(), offered, "{mtu}");
    }
}
