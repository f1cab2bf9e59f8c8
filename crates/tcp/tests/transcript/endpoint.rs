//! A host with many connections: listeners, unknown segments, the backlog, TIME-WAIT (RFC 9293
//! §3.10.7.1, §3.10.7.2, §3.6.1).

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use lowtide_tcp::{
    Arrival, CloseReason, Config, ConnId, Endpoint, Event, ListenError, OpenError, RstAccept,
    SegmentError, State, TimeWaitReset,
};
use lowtide_units::Instant;
use lowtide_wire::{Flags, Segment, SeqNum};

use crate::common::{Origin, Packet, SeqBase, at_every_origin, ms, plain};

const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

/// An endpoint that listens on port 80, and one scripted peer.
struct Host {
    endpoint: Endpoint,
    now: Instant,
    /// Base of the sequence numbers; the host's own is set once its SYN was seen.
    origin: Origin,
    peer_port: u16,
}

impl Host {
    fn new(origin: Origin, backlog: usize) -> Self {
        Self::with(origin, backlog, plain())
    }

    fn with(origin: Origin, backlog: usize, config: Config) -> Self {
        let mut endpoint = Endpoint::new(7);
        assert_eq!(endpoint.listen(80, Arc::new(config), backlog), Ok(()));
        Self { endpoint, now: Instant::ZERO, origin, peer_port: 2000 }
    }

    fn segment(&self, to: u16, text: &str) -> Segment {
        let mut packet = Packet::parse(text);
        let opts = packet.opts.get_or_insert_default();
        // The peer's clock; ignored without timestamps.
        opts.ts = opts.ts.or(Some((500, 0)));
        let seg = packet.to_segment(&SeqBase::incoming(&self.origin), 60_000);
        Segment { src_port: self.peer_port, dst_port: to, ..seg }
    }

    fn arrives(&mut self, to: u16, text: &str) -> Arrival {
        let seg = self.segment(to, text);
        self.endpoint.handle_segment(self.now, HOST, PEER, &seg, None)
    }

    /// The endpoint's own reply: flags, sequence number, acknowledgement.
    fn reply(&mut self) -> Option<(Flags, SeqNum, SeqNum)> {
        let (tuple, seg) = self.endpoint.poll_reply()?;
        assert_eq!((tuple.remote, tuple.remote_port), (PEER, self.peer_port));
        assert_eq!((seg.src_port, seg.dst_port), (tuple.local_port, tuple.remote_port));
        Some((seg.flags, seg.seq, seg.ack))
    }

    /// The next transmission of the connection; a SYN sets the host's initial sequence number.
    fn sends(&mut self, id: ConnId) -> String {
        let now = self.now;
        let conn = self.endpoint.conn(id).expect("a connection");
        let Some(t) = conn.poll_transmit(now) else { return "nothing".to_owned() };
        if t.header.flags.contains(Flags::SYN) {
            self.origin.isn = t.header.seq;
        }
        let mut packet = Packet::from_segment(&t.header, &SeqBase::outgoing(&self.origin));
        (packet.ecn, packet.win, packet.opts) = (None, None, None);
        packet.to_string()
    }

    fn opens(&mut self) -> ConnId {
        let Arrival::Opened(id) = self.arrives(80, "S 0:0(0) <mss 1460>") else {
            panic!("not opened");
        };
        assert_eq!(self.sends(id), "S. 0:0(0) ack 1");
        id
    }

    fn established(&mut self) -> ConnId {
        let id = self.opens();
        assert!(matches!(self.arrives(80, ". 1:1(0) ack 1"), Arrival::Taken(..)));
        assert_eq!(self.event(id), Some(Event::Established));
        id
    }

    fn event(&mut self, id: ConnId) -> Option<Event> {
        self.endpoint.conn(id).and_then(lowtide_tcp::Connection::poll_event)
    }

    /// A connection that closed first and is in TIME-WAIT, released by its driver.
    fn time_wait(&mut self) {
        let id = self.established();
        self.endpoint.conn(id).expect("open").close();
        assert_eq!(self.sends(id), "F. 1:1(0) ack 1");
        assert!(matches!(self.arrives(80, "F. 1:1(0) ack 2"), Arrival::Taken(..)));
        assert_eq!(self.sends(id), ". 2:2(0) ack 2");
        assert_eq!(self.endpoint.conn(id).map(|c| c.state()), Some(State::TimeWait));
        self.endpoint.release(self.now, id);
        assert_eq!((self.endpoint.len(), self.endpoint.time_waits(self.now)), (0, 1));
    }
}

#[test]
fn rfc9293_3_10_7_2_a_listener_opens_connections() {
    at_every_origin(|o| {
        let mut host = Host::new(o, 8);
        let first = host.established();
        assert!(matches!(host.arrives(80, "P. 1:101(100) ack 1"), Arrival::Taken(..)));
        assert_eq!(host.sends(first), ". 1:1(0) ack 101");
        assert_eq!(host.event(first), Some(Event::Readable { upto: 100 }));
        // Another port of the peer is another connection.
        host.peer_port += 1;
        let second = host.established();
        assert_ne!(first, second);
        assert_eq!(host.endpoint.len(), 2);
        let ports: Vec<_> = [first, second]
            .iter()
            .map(|id| host.endpoint.tuple(*id).map(|t| (t.local_port, t.remote_port)))
            .collect();
        assert_eq!(ports, [Some((80, 2000)), Some((80, 2001))]);
        let again = host.endpoint.listen(80, Arc::new(plain()), 1);
        assert_eq!(again, Err(ListenError::InUse(80)));
        // Without the listener existing connections continue, new ones are refused.
        host.endpoint.unlisten(80);
        assert!(matches!(host.arrives(80, "P. 1:101(100) ack 1"), Arrival::Taken(..)));
        host.peer_port += 1;
        assert_eq!(host.arrives(80, "S 0:0(0)"), Arrival::Stray);
        assert!(host.reply().is_some_and(|r| r.0.contains(Flags::RST)));
    });
}

#[test]
fn rfc9293_3_10_7_1_strangers_are_reset_as_their_ack_asks() {
    at_every_origin(|o| {
        let (irs, isn) = (o.irs, o.isn);
        let zero = SeqNum::new(0);
        let with_ack = Flags::RST | Flags::ACK;
        // The port, the segment, the answer.
        for (port, text, want) in [
            (81, "S 0:0(0)", Some((with_ack, zero, irs.add(1)))),
            (81, "S 0:10(10)", Some((with_ack, zero, irs.add(11)))),
            (81, "FP 5:15(10)", Some((with_ack, zero, irs.add(16)))),
            (81, "S. 0:0(0) ack 9", Some((Flags::RST, isn.add(9), zero))),
            (81, "P. 5:15(10) ack 70", Some((Flags::RST, isn.add(70), zero))),
            (81, "R 5:5(0)", None),
            (81, "R. 5:5(0) ack 7", None),
            // A listener resets ACKs and accepts only SYNs (§3.10.7.2).
            (80, ". 5:5(0) ack 70", Some((Flags::RST, isn.add(70), zero))),
            (80, "S. 0:0(0) ack 9", Some((Flags::RST, isn.add(9), zero))),
            (80, "R. 5:5(0) ack 7", None),
            (80, "F 5:5(0)", None),
            (80, "P 5:15(10)", None),
        ] {
            let mut host = Host::new(o, 8);
            assert_eq!(host.arrives(port, text), Arrival::Stray, "{text} to {port}");
            assert_eq!(host.reply(), want, "{text} to {port}");
            assert_eq!(host.reply(), None);
            assert!(host.endpoint.is_empty());
        }
    });
}

#[test]
fn the_backlog_counts_connections_that_are_not_established() {
    at_every_origin(|o| {
        let mut host = Host::new(o, 1);
        let first = host.opens();
        host.peer_port = 2001;
        assert_eq!(host.arrives(80, "S 0:0(0)"), Arrival::BacklogFull);
        assert_eq!(host.reply(), None, "the peer asks again later");
        host.peer_port = 2000;
        assert!(matches!(host.arrives(80, ". 1:1(0) ack 1"), Arrival::Taken(id, _) if id == first));
        host.peer_port = 2001;
        assert!(matches!(host.arrives(80, "S 0:0(0)"), Arrival::Opened(_)));
    });
}

#[test]
fn rfc9293_3_6_1_time_wait_outlives_its_connection() {
    at_every_origin(|o| {
        let mut host = Host::new(o, 8);
        host.time_wait();
        host.now += ms(30_000);
        // The repeated FIN is acknowledged again, with the numbers of the connection.
        let ack = Some((Flags::ACK, host.origin.isn.add(2), o.irs.add(2)));
        assert_eq!(host.arrives(80, "F. 1:1(0) ack 2"), Arrival::TimeWait);
        assert_eq!(host.reply(), ack);
        // So is an old SYN; RST does not end it (RFC 1337); a valid ACK needs no answer.
        assert_eq!(host.arrives(80, "S 0:0(0)"), Arrival::TimeWait);
        assert_eq!(host.reply(), ack);
        assert_eq!(host.arrives(80, "R. 2:2(0) ack 2"), Arrival::TimeWait);
        assert_eq!(host.arrives(80, ". 2:2(0) ack 2"), Arrival::TimeWait);
        assert_eq!(host.reply(), None);
        // The FIN restarted the 60 s.
        host.now += ms(59_999);
        assert_eq!(host.endpoint.time_waits(host.now), 1);
        host.now += ms(1);
        assert_eq!(host.endpoint.time_waits(host.now), 0);
        assert_eq!(host.arrives(80, "F. 1:1(0) ack 2"), Arrival::Stray);
    });
}

#[test]
fn rfc9293_3_6_1_a_newer_syn_ends_time_wait() {
    at_every_origin(|o| {
        let mut host = Host::new(o, 8);
        host.time_wait();
        assert!(matches!(host.arrives(80, "S 3:3(0) <mss 1460>"), Arrival::Opened(_)));
        assert_eq!(host.endpoint.time_waits(host.now), 0);
    });
}

#[test]
fn rfc6191_a_newer_timestamp_ends_time_wait_as_well() {
    at_every_origin(|o| {
        for (stamp, opened) in [(501, true), (500, false), (499, false)] {
            let mut host = Host::with(o, 8, Config { timestamps: true, ..plain() });
            host.time_wait();
            // Its sequence number is old.
            let syn = format!("S 0:0(0) <mss 1460,TS val {stamp} ecr 0>");
            let arrival = host.arrives(80, &syn);
            assert_eq!(matches!(arrival, Arrival::Opened(_)), opened, "{stamp}: {arrival:?}");
        }
    });
}

/// Two copies of one RST: the first ends TIME-WAIT (RFC 1337 §3), the second meets the next
/// connection on these ports. The new one begins below it, because the earlier one outran the clock
/// of its ISN. By RFC 793 any number in the window is accepted; RFC 5961 §3.2 requires exactly
/// RCV.NXT.
#[test]
fn rfc5961_3_an_old_reset_does_not_end_the_next_connection_of_the_same_ports() {
    at_every_origin(|o| {
        for rst_accept in [RstAccept::InWindow, RstAccept::Exact] {
            let config = Config { rst_accept, time_wait_reset: TimeWaitReset::End, ..plain() };
            let mut host = Host::with(o, 8, config);
            host.time_wait();
            assert_eq!(host.arrives(80, "R 2:2(0)"), Arrival::TimeWait);
            assert_eq!(host.endpoint.time_waits(host.now), 0);
            // From here on relative to the new connection: the old RST is 40 kB into its window.
            host.origin.irs = o.irs.add(2_u64.wrapping_sub(40_000));
            let id = host.opens();
            let arrival = host.arrives(80, "R 40000:40000(0)");
            if rst_accept == RstAccept::InWindow {
                assert!(matches!(arrival, Arrival::Taken(..)), "{arrival:?}");
                assert_eq!(host.event(id), Some(Event::Closed(CloseReason::Refused)));
                continue;
            }
            assert_eq!(arrival, Arrival::Refused(id, SegmentError::BadReset));
            assert_eq!(host.sends(id), ". 1:1(0) ack 1");
            assert_eq!(host.event(id), None);
            // The peer has sent its last ACK meanwhile, and it counts.
            assert!(matches!(host.arrives(80, ". 1:1(0) ack 1"), Arrival::Taken(..)));
            assert_eq!(host.event(id), Some(Event::Established));
        }
        // If TIME-WAIT ignores the RST, no connection starts that it could hit.
        let mut host = Host::with(o, 8, plain());
        host.time_wait();
        assert_eq!(host.arrives(80, "R 2:2(0)"), Arrival::TimeWait);
        host.origin.irs = o.irs.add(2_u64.wrapping_sub(40_000));
        assert_eq!(host.arrives(80, "S 0:0(0) <mss 1460>"), Arrival::TimeWait);
    });
}

#[test]
fn rfc9293_3_10_1_active_opens_and_ports_in_use() {
    at_every_origin(|o| {
        let mut host = Host::new(o, 8);
        let config = Arc::new(plain());
        let open = |host: &mut Host, port| {
            host.endpoint.connect(host.now, HOST, port, PEER, 2000, Arc::clone(&config))
        };
        let id = open(&mut host, 3000).expect("the port is free");
        assert!(matches!(open(&mut host, 3000), Err(OpenError::InUse(t)) if t.local_port == 3000));
        let ports: Vec<u16> = (0..3)
            .map(|_| {
                let id = open(&mut host, 0).expect("a port");
                host.endpoint.tuple(id).expect("just opened").local_port
            })
            .collect();
        assert!(ports.iter().all(|p| *p >= 49_152), "{ports:?}");
        assert!(ports[0] != ports[1] && ports[1] != ports[2] && ports[0] != ports[2]);
        // Refused by the peer.
        assert_eq!(host.sends(id), "S 0:0(0)");
        assert!(matches!(host.arrives(3000, "R. 0:0(0) ack 1"), Arrival::Taken(..)));
        assert_eq!(host.event(id), Some(Event::Closed(CloseReason::Refused)));
    });
}

#[test]
fn a_released_connection_is_a_stranger_and_its_slot_is_used_again() {
    at_every_origin(|o| {
        let mut host = Host::new(o, 8);
        let id = host.established();
        host.endpoint.release(host.now, id);
        assert!(host.endpoint.is_empty() && host.endpoint.conn(id).is_none());
        assert_eq!(host.arrives(80, ". 1:1(0) ack 1"), Arrival::Stray);
        assert_eq!(host.reply().map(|r| r.0), Some(Flags::RST));
        assert_eq!(host.opens(), id);
    });
}

#[test]
fn a_wrong_hint_does_not_mislead() {
    at_every_origin(|o| {
        let mut host = Host::new(o, 8);
        let first = host.established();
        host.peer_port += 1;
        let second = host.established();
        let seg = host.segment(80, "P. 1:101(100) ack 1");
        for hint in [first, second, ConnId(99)] {
            let to = host.endpoint.handle_segment(host.now, HOST, PEER, &seg, Some(hint));
            let right =
                matches!(to, Arrival::Taken(id, _) | Arrival::Refused(id, _) if id == second);
            assert!(right, "{to:?}");
        }
        assert_eq!(host.endpoint.conn(first).map(|c| c.info().bytes_received), Some(0));
    });
}
