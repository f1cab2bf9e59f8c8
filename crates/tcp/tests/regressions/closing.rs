//! The close of connections, and TIME-WAIT.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use lowtide_tcp::{Arrival, CloseReason, Config, Endpoint, Event};
use lowtide_units::{Bytes, Duration, Instant};
use lowtide_wire::{Flags, Segment};

use crate::single::{SingleConnection, plain};

/// Both ends in TIME-WAIT, the state after a simultaneous close.
#[test]
fn two_ends_in_time_wait_send_nothing() {
    let addresses = [1, 2].map(|n| IpAddr::V4(Ipv4Addr::new(10, 0, 0, n)));
    let mut hosts = [Endpoint::new(1), Endpoint::new(2)];
    let config = Arc::new(plain());
    let now = Instant::ZERO + Duration::from_ms(1);
    hosts[1].listen(80, config.clone(), 1).unwrap();
    let mut ids = [hosts[0].connect(now, addresses[0], 5, addresses[1], 80, config).ok(), None];
    let deliver = |hosts: &mut [Endpoint; 2], ids: &mut [Option<_>; 2], to: usize, seg: &_| {
        let arrival = hosts[to].handle_segment(now, addresses[to], addresses[1 - to], seg, None);
        if let Arrival::Opened(id) = arrival {
            ids[to] = Some(id);
        }
        arrival
    };
    for round in 0..4 {
        if round == 3 {
            ids.iter().enumerate().for_each(|(i, id)| hosts[i].conn(id.unwrap()).unwrap().close());
        }
        // The segments of both cross on the link.
        for _ in 0..3 {
            let sent = [0, 1].map(|i| {
                let conn = ids[i].and_then(|id| hosts[i].conn(id));
                conn.map_or(vec![], |c| std::iter::from_fn(|| c.poll_transmit(now)).collect())
            });
            for (from, transmits) in sent.iter().enumerate() {
                for t in transmits {
                    deliver(&mut hosts, &mut ids, 1 - from, &t.header);
                }
            }
        }
    }
    for i in 0..2 {
        hosts[i].release(now, ids[i].unwrap());
        assert_eq!(hosts[i].time_waits(now), 1, "side {i}");
    }

    // An old segment is answered with an ACK; the answer needs none.
    let stray = Segment { src_port: 5, dst_port: 80, flags: Flags::ACK, ..Segment::default() };
    assert_eq!(deliver(&mut hosts, &mut ids, 1, &stray), Arrival::TimeWait);
    let (_, mut ack) = hosts[1].poll_reply().expect("an old segment is answered");
    for to in [0, 1, 0, 1] {
        assert_eq!(deliver(&mut hosts, &mut ids, to, &ack), Arrival::TimeWait);
        let Some((_, answer)) = hosts[to].poll_reply() else { return };
        ack = answer;
    }
    panic!("they do not stop: {ack:?}");
}

#[test]
fn a_reset_in_last_ack_is_only_harmless_when_all_data_got_through() {
    for (acked, reason) in [(99, CloseReason::Reset), (100, CloseReason::Normal)] {
        let mut c = SingleConnection::established(plain());
        c.conn.send(100);
        c.arrives(0, 0, 0, Flags::FIN).unwrap();
        c.conn.close();
        assert!(c.sends_all().iter().any(|t| t.header.flags.contains(Flags::FIN)));
        c.arrives(1, 0, acked, Flags::NONE).unwrap();
        c.arrives(1, 0, acked, Flags::RST).unwrap();
        assert_eq!(c.events().last(), Some(&Event::Closed(reason)), "{acked} of 100 acknowledged");
    }
}

#[test]
fn a_fin_leaves_as_soon_as_the_window_opens() {
    let mut c = SingleConnection::established(plain());
    c.conn.send(100);
    c.sends_all();
    c.window = 0;
    c.arrives(0, 0, 100, Flags::NONE).unwrap();
    c.conn.close();
    assert!(c.sends().is_none(), "the window is closed");
    c.now = c.conn.poll_timeout().expect("the persist timer");
    c.conn.handle_timeout(c.now);
    let probe = c.sends().expect("a probe").header;
    assert_eq!((probe.payload_len, probe.flags), (0, Flags::ACK), "no FIN");
    assert_eq!(probe.seq, c.of_peer(0, 0, 99, Flags::NONE).ack, "old, so that it is answered");
    c.later(Duration::from_ms(1));
    c.window = 1000;
    c.arrives(0, 0, 100, Flags::NONE).unwrap();
    let fin = c.sends().expect("at once").header;
    assert!(fin.flags.contains(Flags::FIN));
}

#[test]
fn no_window_update_after_the_peers_fin() {
    let mut c =
        SingleConnection::established(Config { receive_buffer: Bytes::new(1000), ..plain() });
    c.arrives(0, 1000, 0, Flags::NONE).unwrap();
    assert_eq!(c.sends_all().len(), 1);
    c.conn.read(500);
    assert_eq!(c.sends_all().len(), 1, "a window update");
    c.arrives(1000, 400, 0, Flags::FIN).unwrap();
    assert_eq!(c.sends_all().len(), 1, "the ACK of the FIN");
    c.conn.read(900);
    assert_eq!(c.sends_all().len(), 0);
}
