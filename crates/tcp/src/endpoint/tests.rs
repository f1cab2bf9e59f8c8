//! Two endpoints that exchange segments. Work is counted, not timed.

use core::net::Ipv4Addr;
use std::string::ToString;
use std::vec;
use std::vec::Vec;

use lowtide_units::Duration;
use lowtide_wire::Timestamps;

use super::*;
use crate::defence::TimeWaitReset;
use crate::event::Event;
use crate::settings::config::IsnRule;

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const PORT: u16 = 80;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_ms(ms)
}

/// A server with a listener.
fn server(seed: u64, config: &Config, backlog: usize) -> Endpoint {
    let mut server = Endpoint::new(seed);
    server.listen(PORT, Arc::new(config.clone()), backlog).unwrap();
    server
}

fn dial(client: &mut Endpoint, now: Instant, config: &Config) -> Result<ConnId, OpenError> {
    client.connect(now, CLIENT, 0, SERVER, PORT, Arc::new(config.clone()))
}

/// All segments that `id` and the endpoint itself send.
fn sent(endpoint: &mut Endpoint, now: Instant, id: Option<ConnId>) -> Vec<Segment> {
    let mut out = Vec::new();
    if let Some(conn) = id.and_then(|id| endpoint.conn(id)) {
        while let Some(t) = conn.poll_transmit(now) {
            out.push(t.header);
        }
    }
    out.extend(core::iter::from_fn(|| endpoint.poll_reply().map(|(_, seg)| seg)));
    out
}

fn arrive(server: &mut Endpoint, now: Instant, seg: &Segment) -> Arrival {
    server.handle_segment(now, SERVER, CLIENT, seg, None)
}

/// Exchanges segments until neither end sends any; returns the server's connection.
fn exchange(
    now: Instant,
    client: &mut Endpoint,
    server: &mut Endpoint,
    id: ConnId,
    mut peer: Option<ConnId>,
) -> Option<ConnId> {
    loop {
        let there = sent(client, now, Some(id));
        for seg in &there {
            if let Arrival::Opened(id) = arrive(server, now, seg) {
                peer = Some(id);
            }
        }
        let back = sent(server, now, peer);
        for seg in &back {
            client.handle_segment(now, CLIENT, SERVER, seg, Some(id));
        }
        if there.is_empty() && back.is_empty() {
            return peer;
        }
    }
}

/// Opens a connection at `now` and closes it, the client first; returns the client's port and ISN.
fn open_and_close(
    now: Instant,
    client: &mut Endpoint,
    server: &mut Endpoint,
    config: &Config,
) -> (u16, SeqNum) {
    let id = dial(client, now, config).unwrap();
    let peer = exchange(now, client, server, id, None).unwrap();
    let conn = client.conn(id).unwrap();
    let from = (conn.ports().0, conn.snd.isn());
    conn.close();
    exchange(now, client, server, id, Some(peer));
    server.conn(peer).unwrap().close();
    exchange(now, client, server, id, Some(peer));
    assert_eq!(client.conn(id).unwrap().state(), State::TimeWait);
    assert_eq!(server.conn(peer).unwrap().state(), State::Closed);
    client.release(now, id);
    server.release(now, peer);
    from
}

/// Opens and closes one connection every 4 ms, so that 15,000 of 16,384 ports are in TIME-WAIT.
/// Returns the ports tried and the entries visited.
fn connection_work(connections: u64) -> (usize, usize) {
    let config = Config::default();
    let (mut client, mut server) = (Endpoint::new(1), server(2, &config, 1));
    for n in 0..connections {
        open_and_close(at(4 * n), &mut client, &mut server, &config);
    }
    assert!(client.is_empty() && server.is_empty());
    assert!(client.slots.len() == 1 && server.slots.len() == 1, "slots are reused");
    assert_eq!(client.time_waits(at(4 * (connections - 1))), 15_000.min(connections as usize));
    (client.ports_tried, client.time_waits.entries_visited)
}

#[test]
fn a_hundred_thousand_connections_are_ten_times_the_work_of_ten_thousand() {
    let (ports, waits) = connection_work(10_000);
    assert_eq!(ports, 10_000);
    assert!(waits <= 2 * 10_000, "{waits}");
    let (ports, waits) = connection_work(100_000);
    assert_eq!(ports, 100_000, "each port is tried once");
    assert!(waits <= 2 * 100_000, "{waits}");
}

#[test]
fn ports_towards_one_peer_run_out_with_a_clear_error_and_come_back() {
    let config = Config { time_wait: Duration::from_secs(60), ..Config::default() };
    let (mut client, mut server) = (Endpoint::new(1), server(2, &config, 1));
    let mut seen = alloc::collections::BTreeSet::new();
    for _ in 0..16_384 {
        seen.insert(open_and_close(at(0), &mut client, &mut server, &config).0);
    }
    assert_eq!((seen.len(), seen.first(), seen.last()), (16_384, Some(&49_152), Some(&65_535)));
    let error = dial(&mut client, at(59_999), &config).unwrap_err();
    assert_eq!(error, OpenError::NoPort);
    assert_eq!(error.to_string(), "no ephemeral port is free towards that peer");
    // Towards another port of the peer all ports are free; towards this one after TIME-WAIT.
    let other = client.connect(at(0), CLIENT, 0, SERVER, PORT + 1, Arc::new(config.clone()));
    assert!(other.is_ok());
    assert!(dial(&mut client, at(60_000), &config).is_ok());
}

#[test]
fn a_chosen_port_is_refused_while_it_is_in_time_wait() {
    let config = Config::default();
    let (mut client, mut server) = (Endpoint::new(1), server(2, &config, 1));
    let (port, _) = open_and_close(at(0), &mut client, &mut server, &config);
    let mut ask = |ms| {
        client.connect(at(ms), CLIENT, port, SERVER, PORT, Arc::new(config.clone())).map(|_| ())
    };
    let tuple = FourTuple { local: CLIENT, local_port: port, remote: SERVER, remote_port: PORT };
    assert_eq!(ask(59_999), Err(OpenError::InUse(tuple)));
    assert_eq!(ask(60_000), Ok(()));
    assert_eq!(ask(60_000), Err(OpenError::InUse(tuple)));
}

/// RFC 6056 §3.3.3: the ports towards one destination do not reveal those towards another.
#[test]
fn rfc6056_3_3_3_another_destination_begins_at_another_port() {
    let config = Arc::new(Config::default());
    let mut client = Endpoint::new(1);
    let mut port = |remote_port| {
        let id = client.connect(at(0), CLIENT, 0, SERVER, remote_port, Arc::clone(&config));
        i32::from(client.tuple(id.unwrap()).unwrap().local_port)
    };
    let ports = [1, 1, 1, 2, 2].map(&mut port);
    let steps: Vec<i32> = ports.windows(2).map(|w| w[1] - w[0]).collect();
    assert_eq!((steps[0], steps[1], steps[3]), (1, 1, 1));
    assert!(steps[2].abs() > 1, "{steps:?}");
}

/// A SYN from `port` with sequence number `seq`.
fn syn(port: u16, seq: u32) -> Segment {
    Segment {
        src_port: port,
        dst_port: PORT,
        seq: SeqNum::new(seq),
        flags: Flags::SYN,
        window: 65_535,
        ..Segment::default()
    }
}

#[test]
fn the_backlog_counts_embryonic_connections_only() {
    let config = Config { timestamps: false, ..Config::default() };
    let mut server = server(1, &config, 3);
    let opened: Vec<ConnId> = (0..5)
        .filter_map(|n| match arrive(&mut server, at(0), &syn(1000 + n, 0)) {
            Arrival::Opened(id) => Some(id),
            other => {
                assert_eq!(other, Arrival::BacklogFull);
                None
            }
        })
        .collect();
    assert_eq!(opened.len(), 3);
    let full =
        |server: &mut Endpoint, port| arrive(server, at(1), &syn(port, 0)) == Arrival::BacklogFull;
    assert!(full(&mut server, 2000));

    // The last ACK of the handshake makes room.
    let syn_ack = sent(&mut server, at(0), Some(opened[0])).remove(0);
    let mut ack = syn(1000, 1);
    (ack.flags, ack.ack) = (Flags::ACK, syn_ack.seq.add(1));
    assert_eq!(
        arrive(&mut server, at(1), &ack),
        Arrival::Taken(opened[0], Accepted { stream: 0..0, skip: 0 })
    );
    assert!(!full(&mut server, 2000) && full(&mut server, 2001));

    // A RST makes room too, and so does releasing a connection that timed out.
    let mut rst = syn(1001, 1);
    rst.flags = Flags::RST;
    arrive(&mut server, at(1), &rst);
    assert!(!full(&mut server, 2002) && full(&mut server, 2003));
    server.conn(opened[2]).unwrap().abort();
    server.release(at(1), opened[2]);
    assert!(!full(&mut server, 2004) && full(&mut server, 2005));

    // The server's own active opens do not count; releasing an established connection makes no
    // room.
    let id = server.connect(at(1), SERVER, PORT, CLIENT, 9, Arc::new(config)).unwrap();
    server.release(at(1), opened[0]);
    assert!(full(&mut server, 2006));
    server.release(at(1), id);
    assert!(full(&mut server, 2006));
}

/// The server closes first and enters TIME-WAIT. Returns its connection and the client's FIN.
fn server_waits(
    server: &mut Endpoint,
    client: &mut Endpoint,
    config: &Config,
) -> (ConnId, Segment) {
    let id = dial(client, at(0), config).unwrap();
    let peer = exchange(at(0), client, server, id, None).unwrap();
    server.conn(peer).unwrap().close();
    exchange(at(0), client, server, id, Some(peer));
    let conn = client.conn(id).unwrap();
    conn.close();
    let fin = conn.poll_transmit(at(0)).unwrap().header;
    arrive(server, at(0), &fin);
    assert_eq!(sent(server, at(0), Some(peer)).len(), 1);
    assert_eq!(server.conn(peer).unwrap().state(), State::TimeWait);
    (peer, fin)
}

/// RFC 9293 §3.10.7.4, RFC 6191: independent of whether the driver still holds the old connection.
#[test]
fn a_newer_syn_ends_time_wait_and_an_older_one_is_answered() {
    for timestamps in [false, true] {
        for released in [false, true] {
            let config = Config { timestamps, ..Config::default() };
            let (mut server, mut client) = (server(2, &config, 1), Endpoint::new(1));
            let (old, fin) = server_waits(&mut server, &mut client, &config);
            let last = server.conn(old).unwrap().snd.isn().add(2);
            if released {
                server.release(at(1), old);
            }
            let stamp = |value| timestamps.then_some(Timestamps { value, echo: 0 });
            let recent = fin.options.timestamps.map_or(0, |t| t.value);

            // Not newer: timestamps decide, or without them the sequence number.
            let mut old_syn = syn(fin.src_port, fin.seq.raw().wrapping_sub(1000));
            old_syn.options.timestamps = stamp(recent);
            let arrival = arrive(&mut server, at(2), &old_syn);
            if released {
                assert_eq!(arrival, Arrival::TimeWait);
            } else {
                assert_eq!(arrival, Arrival::Refused(old, SegmentError::UnexpectedSyn));
            }
            let answer = sent(&mut server, at(2), Some(old));
            assert_eq!(answer.len(), 1);
            assert_eq!((answer[0].flags, answer[0].ack), (Flags::ACK, fin.seq.add(1)));

            let newer = if timestamps { old_syn.seq } else { fin.seq.add(50_000) };
            let mut new_syn = syn(fin.src_port, newer.raw());
            new_syn.options.timestamps = stamp(recent.wrapping_add(1));
            let Arrival::Opened(id) = arrive(&mut server, at(3), &new_syn) else {
                panic!("timestamps {timestamps}, released {released}");
            };
            let syn_ack = sent(&mut server, at(3), Some(id)).remove(0);
            assert_eq!(syn_ack.ack, newer.add(1));
            assert!(last.before(syn_ack.seq), "MAY-2: beyond the last number of the old one");
            assert_eq!(server.time_waits(at(3)), 0);

            // Later segments belong to the new connection even with a stale hint.
            let mut ack = syn(fin.src_port, newer.add(1).raw());
            (ack.flags, ack.ack) = (Flags::ACK, syn_ack.seq.add(1));
            ack.options.timestamps = stamp(recent.wrapping_add(2));
            let arrival = server.handle_segment(at(4), SERVER, CLIENT, &ack, Some(old));
            assert_eq!(arrival, Arrival::Taken(id, Accepted { stream: 0..0, skip: 0 }));
            if !released {
                assert_eq!(server.conn(old).unwrap().state(), State::Closed);
                server.release(at(4), old);
            }
            assert_eq!((server.len(), server.time_waits(at(4))), (1, 0));
            assert_eq!(arrive(&mut server, at(5), &ack), arrival);
        }
    }
}

/// MAY-2 holds for any generated ISN; a listener without timestamps compares sequence numbers.
#[test]
fn a_new_incarnation_starts_beyond_the_old_one_and_unused_timestamps_are_ignored() {
    for seed in 0..8 {
        let config = Config { timestamps: false, isn: IsnRule::Random, ..Config::default() };
        let (mut server, mut client) = (server(seed, &config, 1), Endpoint::new(1));
        let (old, fin) = server_waits(&mut server, &mut client, &config);
        let last = server.conn(old).unwrap().snd.isn().add(2);
        let mut old_syn = syn(fin.src_port, fin.seq.raw().wrapping_sub(1));
        old_syn.options.timestamps = Some(Timestamps { value: 1, echo: 0 });
        let arrival = arrive(&mut server, at(1), &old_syn);
        assert_eq!(arrival, Arrival::Refused(old, SegmentError::UnexpectedSyn));
        let newer = syn(fin.src_port, fin.seq.add(2).raw());
        let Arrival::Opened(id) = arrive(&mut server, at(1), &newer) else { panic!("{seed}") };
        let isn = server.conn(id).unwrap().snd.isn();
        assert!(last.before(isn), "seed {seed}: {isn:?} is not beyond {last:?}");
    }
}

/// A full backlog does not affect TIME-WAIT.
#[test]
fn a_newer_syn_does_not_end_time_wait_while_the_backlog_is_full() {
    for released in [false, true] {
        let config = Config { timestamps: false, ..Config::default() };
        let (mut server, mut client) = (server(2, &config, 1), Endpoint::new(1));
        let (old, fin) = server_waits(&mut server, &mut client, &config);
        if released {
            server.release(at(1), old);
        }
        assert!(matches!(arrive(&mut server, at(1), &syn(7, 0)), Arrival::Opened(_)));
        let newer = syn(fin.src_port, fin.seq.add(9).raw());
        assert_eq!(arrive(&mut server, at(1), &newer), Arrival::BacklogFull);
        assert_eq!(server.time_waits(at(1)), usize::from(released));
        if !released {
            assert_eq!(server.conn(old).unwrap().state(), State::TimeWait);
        }
        server.unlisten(PORT);
        // Without a listener the old connection answers.
        assert_ne!(arrive(&mut server, at(1), &newer), Arrival::BacklogFull);
        let held = (!released).then_some(old);
        assert_eq!(sent(&mut server, at(1), held)[0].flags, Flags::ACK);
    }
}

/// The ISN follows the clock, so a client may reuse a port.
#[test]
fn rfc6528_3_a_reused_four_tuple_is_newer_by_clock_alone() {
    let config =
        Config { timestamps: false, time_wait: Duration::from_secs(1), ..Config::default() };
    let mut client = Endpoint::new(1);
    let mut isn = |ms| {
        let id = client.connect(at(ms), CLIENT, 5000, SERVER, PORT, Arc::new(config.clone()));
        let id = id.unwrap();
        let isn = client.conn(id).unwrap().poll_transmit(at(ms)).unwrap().header.seq;
        client.release(at(ms), id);
        isn
    };
    let first = isn(0);
    assert_eq!([1, 1000, 8_000_000].map(|ms| isn(ms).diff(first)), [250, 250_000, 2_000_000_000]);
}

/// RFC 1337 in the table as in a connection: `time-wait-reset` decides.
#[test]
fn rfc1337_3_a_rst_in_time_wait_has_the_same_effect_held_and_released() {
    for (rule, ends) in [(TimeWaitReset::Ignore, false), (TimeWaitReset::End, true)] {
        for released in [false, true] {
            let config = Config { time_wait_reset: rule, ..Config::default() };
            let (mut server, mut client) = (server(2, &config, 1), Endpoint::new(1));
            let (old, fin) = server_waits(&mut server, &mut client, &config);
            if released {
                server.release(at(1), old);
            }
            let mut rst = syn(fin.src_port, fin.seq.add(1).raw());
            rst.flags = Flags::RST;
            arrive(&mut server, at(2), &rst);
            assert_eq!(sent(&mut server, at(2), Some(old)), vec![]);
            let waits = match server.conn(old) {
                Some(conn) => conn.state() == State::TimeWait,
                None => server.time_waits(at(2)) == 1,
            };
            assert_eq!(waits, !ends, "{rule:?}, released {released}");
        }
    }
}

/// CVE-2016-5696: with a shared count, the replies on one connection would reveal activity on
/// another.
#[test]
fn the_challenge_ack_limit_is_per_connection() {
    let config = Config { timestamps: false, ..Config::default() };
    let (mut server, mut client) = (server(2, &config, 2), Endpoint::new(1));
    let peers: Vec<(u16, ConnId)> = (0..2)
        .map(|_| {
            let id = dial(&mut client, at(0), &config).unwrap();
            let peer = exchange(at(0), &mut client, &mut server, id, None).unwrap();
            (client.tuple(id).unwrap().local_port, peer)
        })
        .collect();
    let mut challenges = |(port, peer): (u16, ConnId), syns: u32| {
        for n in 0..syns {
            arrive(&mut server, at(1), &syn(port, n));
        }
        // One ACK may answer several segments; the counters show it.
        let info = server.conn(peer).unwrap().info();
        (info.counters.challenge_acks, info.counters.throttled_acks)
    };
    assert_eq!(challenges(peers[0], 500), (10, 490));
    assert_eq!(challenges(peers[1], 10), (10, 0));
}

/// Events reach the driver through the endpoint when the peer is silent.
#[test]
fn a_connection_closed_by_keep_alive_is_released_without_time_wait() {
    let config = Config {
        keep_alive: true,
        keep_alive_idle: Duration::from_secs(1),
        keep_alive_interval: Duration::from_secs(1),
        keep_alive_count: 1,
        ..Config::default()
    };
    let (mut server, mut client) = (server(2, &config, 1), Endpoint::new(1));
    let id = dial(&mut client, at(0), &config).unwrap();
    exchange(at(0), &mut client, &mut server, id, None).unwrap();
    for ms in [1000, 2000] {
        let conn = client.conn(id).unwrap();
        assert_eq!(conn.poll_timeout(), Some(at(ms)));
        conn.handle_timeout(at(ms));
        assert_eq!(sent(&mut client, at(ms), Some(id)).len(), 1, "the probe, then RST");
    }
    let conn = client.conn(id).unwrap();
    let events: Vec<Event> = core::iter::from_fn(|| conn.poll_event()).collect();
    assert_eq!(events.last(), Some(&Event::Closed(CloseReason::KeepAlive)));
    client.release(at(2000), id);
    assert_eq!((client.len(), client.time_waits(at(2000))), (0, 0));
}
