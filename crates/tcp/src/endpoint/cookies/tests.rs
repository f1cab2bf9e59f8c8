//! SYN cookie handshakes, and attacks on them.

use core::net::{IpAddr, Ipv4Addr};
use std::vec::Vec;

use lowtide_units::Bytes;

use super::*;
use crate::ecn::EcnMode;
use crate::endpoint::ConnId;
use crate::settings::config::{EcnNegotiation, SynCookies};

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const PORT: u16 = 80;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_ms(ms)
}

fn config() -> Config {
    Config { syn_cookies: SynCookies::WhenFull, ..Config::default() }
}

fn syn(port: u16, seq: u32) -> Segment {
    Segment {
        src_port: port,
        dst_port: PORT,
        seq: SeqNum::new(seq),
        flags: Flags::SYN,
        window: 1000,
        ..Segment::default()
    }
}

/// A server with a backlog of one, which is full.
fn server_with_full_backlog(config: &Config) -> Endpoint {
    let mut server = Endpoint::new(3);
    server.listen(PORT, Arc::new(config.clone()), 1).unwrap();
    assert!(matches!(arrive(&mut server, at(0), &syn(1, 1)), Arrival::Opened(_)));
    server
}

fn arrive(server: &mut Endpoint, now: Instant, seg: &Segment) -> Arrival {
    server.handle_segment(now, SERVER, CLIENT, seg, None)
}

fn reply(server: &mut Endpoint) -> Segment {
    server.poll_reply().expect("a reply").1
}

fn sent(endpoint: &mut Endpoint, now: Instant, id: ConnId) -> Vec<Segment> {
    let conn = endpoint.conn(id).unwrap();
    core::iter::from_fn(|| conn.poll_transmit(now)).map(|t| t.header).collect()
}

/// A client's connection through a cookie: client, server, and the connection's ID at both.
fn opened(client: &Config, server: &Config) -> (Endpoint, Endpoint, ConnId, ConnId) {
    let (mut client_end, mut server_end) = (Endpoint::new(5), server_with_full_backlog(server));
    let id = client_end.connect(at(10), CLIENT, 0, SERVER, PORT, Arc::new(client.clone())).unwrap();
    let [first] = sent(&mut client_end, at(10), id)[..] else { panic!("one SYN") };
    assert_eq!(arrive(&mut server_end, at(20), &first), Arrival::Cookie);
    let answer = reply(&mut server_end);
    assert!(answer.flags.contains(Flags::SYN | Flags::ACK));
    client_end.handle_segment(at(30), CLIENT, SERVER, &answer, None);
    let [last] = sent(&mut client_end, at(30), id)[..] else { panic!("one ACK") };
    let Arrival::Completed(own, _) = arrive(&mut server_end, at(40), &last) else {
        panic!("{:?}", reply(&mut server_end))
    };
    assert_eq!(server_end.conn(own).unwrap().state(), State::Established);
    assert_eq!(client_end.conn(id).unwrap().state(), State::Established);
    (client_end, server_end, id, own)
}

/// Both ends agree on the options for any configuration: with timestamps all options survive.
#[test]
fn with_timestamps_the_options_survive_and_without_them_they_do_not() {
    let mut seen = alloc::collections::BTreeSet::new();
    for bits in 0..64_u32 {
        let has = |bit: u32| bits >> bit & 1 == 1;
        let side = |first: u32| Config {
            timestamps: has(0) || first == 0,
            sack: has(first + 1),
            window_scaling: has(first + 2),
            ecn: if has(5) { EcnNegotiation::Rfc3168 } else { EcnNegotiation::Off },
            receive_buffer: Bytes::new(4_000_000),
            ..config()
        };
        let (mut client_end, mut server_end, id, own) = opened(&side(0), &side(2));
        let (client, server) = (client_end.conn(id).unwrap(), server_end.conn(own).unwrap());
        let facts = |c: &Connection| (c.ts.is_some(), c.sack_ok, c.ecn.mode(), c.snd.mss());
        assert_eq!(facts(client), facts(server), "{bits:b}");
        assert_eq!(client.snd.window_shift() > 0, server.snd.window_shift() > 0, "{bits:b}");
        if !has(0) {
            assert_eq!(facts(server), (false, false, EcnMode::Off, 1460));
        }
        seen.insert((has(0), server.sack_ok, server.snd.window_shift() > 0, server.ecn.is_on()));
        // There is no RTT sample, so the first timeout is the initial RTO.
        assert_eq!(server.info().srtt, None);
    }
    assert_eq!(seen.iter().filter(|s| s.0).count(), 8, "every combination: {seen:?}");
}

/// RFC 9768 §3.1.2: a client that requested AccECN accepts classic ECN.
#[test]
fn accurate_ecn_falls_back_to_classic() {
    let wish = Config { ecn: EcnNegotiation::AccEcn, ..config() };
    let (mut client_end, mut server_end, id, own) = opened(&wish, &wish);
    assert_eq!(client_end.conn(id).unwrap().ecn.mode(), EcnMode::Classic);
    assert_eq!(server_end.conn(own).unwrap().ecn.mode(), EcnMode::Classic);
}

#[test]
fn random_timestamp_offsets_are_reproduced() {
    let drawn = Config { timestamp_offset: TimestampOffset::Random, ..config() };
    let (mut client_end, mut server_end, id, own) = opened(&config(), &drawn);
    // The server's next segment must pass the client's PAWS check.
    server_end.conn(own).unwrap().send(100);
    let [data] = sent(&mut server_end, at(50), own)[..] else { panic!("one segment") };
    assert!(matches!(
        client_end.handle_segment(at(60), CLIENT, SERVER, &data, None),
        Arrival::Taken(to, _) if to == id
    ));
}

#[test]
fn an_mss_is_rounded_down_to_one_of_the_table() {
    for (stated, kept) in [
        (None, 536),
        (Some(0), MSS[0]),
        (Some(100), MSS[0]),
        (Some(536), 536),
        (Some(1459), 1440),
        (Some(1460), 1460),
        (Some(8999), 8940),
        (Some(u16::MAX), 8940),
    ] {
        let mut first = syn(9, 77);
        first.options.mss = stated;
        let SynOptions { mss, options } = SynOptions::of(&first, &Config::default(), 536);
        assert_eq!((MSS[mss as usize], options), (kept, None), "{stated:?}");
    }
    assert!(MSS.is_sorted());
}

/// Sends a SYN and builds the ACK that returns its cookie.
fn handshake(server: &mut Endpoint, now: Instant, first: &Segment) -> Segment {
    assert_eq!(arrive(server, now, first), Arrival::Cookie);
    let answer = reply(server);
    Segment {
        flags: Flags::ACK,
        seq: answer.ack,
        ack: answer.seq.add(1),
        options: Options {
            timestamps: answer
                .options
                .timestamps
                .map(|t| Timestamps { value: t.echo, echo: t.value }),
            ..Options::default()
        },
        ..*first
    }
}

#[test]
fn a_cookie_is_valid_in_its_period_and_the_next() {
    for (sent_ms, back_ms, good) in
        [(0, 100, true), (63_000, 65_000, true), (63_000, 127_999, true), (63_000, 128_000, false)]
    {
        let mut server = server_with_full_backlog(&config());
        let ack = handshake(&mut server, at(sent_ms), &syn(9, 77));
        // Another SYN keeps the listener sending cookies.
        handshake(&mut server, at(back_ms), &syn(10, 77));
        let arrival = arrive(&mut server, at(back_ms), &ack);
        assert_eq!(matches!(arrival, Arrival::Completed(..)), good, "{sent_ms} {back_ms}");
        if !good {
            assert_eq!((arrival, reply(&mut server).flags), (Arrival::Stray, Flags::RST));
        }
    }
}

/// A cookie depends on the four-tuple, both sequence numbers and the options.
#[test]
fn a_forged_ack_opens_nothing_and_is_reset() {
    let mut server = server_with_full_backlog(&Config { timestamps: true, ..config() });
    let mut first = syn(9, 77);
    first.options.timestamps = Some(Timestamps { value: 5, echo: 0 });
    let ack = handshake(&mut server, at(1), &first);
    let stamps = ack.options.timestamps.unwrap();
    let with =
        |echo: u32| Options { timestamps: Some(Timestamps { echo, ..stamps }), ..ack.options };
    let forged = [
        Segment { src_port: 10, ..ack },
        Segment { ack: ack.ack.add(8), ..ack },
        Segment { seq: ack.seq.add(1), ..ack },
        Segment { options: Options::default(), ..ack },
        Segment { options: with(stamps.echo ^ SACK), ..ack },
        Segment { flags: Flags::ACK | Flags::SYN, ..ack },
    ];
    for forged in forged {
        assert_eq!(arrive(&mut server, at(2), &forged), Arrival::Stray, "{forged:?}");
        assert_eq!(reply(&mut server).flags, Flags::RST);
    }
    let elsewhere = server.handle_segment(at(2), SERVER, SERVER, &ack, None);
    assert_eq!((elsewhere, reply(&mut server).flags), (Arrival::Stray, Flags::RST));
    assert!(matches!(arrive(&mut server, at(2), &ack), Arrival::Completed(..)));
}

#[test]
fn guessed_cookies_do_not_open_connections() {
    let mut server = server_with_full_backlog(&config());
    let ack = handshake(&mut server, at(1), &syn(9, 77));
    let mut state = 1_u64;
    for _ in 0..200_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let guess = Segment { ack: SeqNum::new((state >> 32) as u32), ..ack };
        assert_eq!(arrive(&mut server, at(2), &guess), Arrival::Stray);
        assert_eq!(reply(&mut server).flags, Flags::RST);
    }
    assert_eq!(server.len(), 1);
}

/// An attacker with an old cookie cannot open a connection while the backlog is not full.
#[test]
fn without_a_flood_no_ack_opens_a_connection() {
    let mut server = server_with_full_backlog(&config());
    let ack = handshake(&mut server, at(1), &syn(9, 77));
    server.unlisten(PORT);
    server.listen(PORT, Arc::new(config()), 1).unwrap();
    assert_eq!(arrive(&mut server, at(2), &ack), Arrival::Stray);
    assert_eq!(reply(&mut server).flags, Flags::RST);
    let mut off = server_with_full_backlog(&Config::default());
    assert_eq!(arrive(&mut off, at(1), &syn(9, 77)), Arrival::BacklogFull);
    assert_eq!(off.poll_reply(), None);
}

/// The ACK is lost and data arrives first: it has the same numbers and is accepted.
#[test]
fn data_may_return_the_cookie() {
    let mut server = server_with_full_backlog(&config());
    let mut ack = handshake(&mut server, at(1), &syn(9, 77));
    ack.payload_len = 100;
    let Arrival::Completed(id, accepted) = arrive(&mut server, at(2), &ack) else { panic!() };
    assert_eq!((accepted.stream, accepted.skip), (0..100, 0));
    let answers = sent(&mut server, at(2), id);
    assert!(answers.iter().all(|a| a.ack == SeqNum::new(178)), "{answers:?}");
    // It is an ordinary connection now and does not occupy the backlog.
    assert_eq!(server.len(), 2);
    assert_eq!(arrive(&mut server, at(3), &syn(11, 1)), Arrival::Cookie);
}

/// 200,000 SYNs leave no memory in use beyond the connections that the backlog allows.
#[test]
fn a_flood_leaves_no_state() {
    let mut server = Endpoint::new(3);
    server.listen(PORT, Arc::new(config()), 16).unwrap();
    let (mut cookies, mut numbers) = (0, alloc::collections::BTreeSet::new());
    for n in 0..200_000_u32 {
        let from = IpAddr::V4(Ipv4Addr::from_bits(0x0b00_0000 + n / 50_000));
        let arrival =
            server.handle_segment(at(1), SERVER, from, &syn((n % 50_000) as u16 + 1, n), None);
        if arrival == Arrival::Cookie {
            cookies += 1;
            numbers.insert(reply(&mut server).seq.raw());
        }
        assert_eq!(server.poll_reply(), None, "at most one reply per SYN");
    }
    assert_eq!((server.len(), server.slots.len(), server.table.len()), (16, 16, 16));
    assert_eq!(cookies, 200_000 - 16);
    // 24 bits of hash over 2^32 values of F: few collide.
    assert!(numbers.len() > 199_900, "{}", numbers.len());
}
