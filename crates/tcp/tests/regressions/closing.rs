//! The end of connections, and TIME-WAIT.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use lowtide_tcp::{Arrival, Endpoint};
use lowtide_units::{Duration, Instant};
use lowtide_wire::{Flags, Segment};

use crate::lone::plain;

/// Both ends in TIME-WAIT, the state that a simultaneous close leaves.
#[test]
fn two_ends_in_time_wait_have_nothing_to_say_to_each_other() {
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
        // What both send crosses on the way.
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
