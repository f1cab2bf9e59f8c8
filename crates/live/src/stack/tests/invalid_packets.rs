//! Invalid and forged packets. The tests count work and memory, they do not time them.

use lowtide_tcp::Endpoint;
use lowtide_wire::Ecn;
use lowtide_wire::checksum::Checksum;
use lowtide_wire::ipv4::{self, Ipv4Header};

use super::*;

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A host with a listener at port 80 and the networks 10.77.0.0/24 and fd77::/64.
fn host() -> Stack {
    let locals = vec![address("10.77.0.2"), address("fd77::2")];
    let mut stack = Stack::new(Endpoint::new(7), locals);
    stack.add_network(address("10.77.0.2"), 24);
    stack.add_network(address("fd77::2"), 64);
    stack.listen(80, &linux(), (16, 16)).unwrap();
    stack
}

fn segment(port: u16, flags: Flags) -> Segment {
    Segment { src_port: port, dst_port: 80, flags, window: 1000, ..Segment::default() }
}

fn packet(from: IpAddr, to: IpAddr, segment: &Segment) -> Vec<u8> {
    let mut bytes = vec![0; 200];
    let addresses = Addresses::between(from, to).unwrap();
    let len = packet::emit(&addresses, segment, &[], &mut bytes).unwrap();
    bytes.truncate(len);
    bytes
}

/// Number of packets that `stack` sends in reply.
fn reply_count(stack: &mut Stack, bytes: &[u8]) -> usize {
    let mut batch = TxBatch::default();
    stack.inject(Instant::ZERO, HostStamp(0), bytes, &mut batch);
    batch.packets().count()
}

/// RFC 9293 MUST-63, RFC 1122 §3.2.1.3. In LAND the source port is the listener's port too.
#[test]
fn martian_sources_get_no_reply() {
    let mut stack = host();
    let mut dropped = 0;
    for (from, to) in [
        ("10.77.0.2", "10.77.0.2"),
        ("0.0.0.0", "10.77.0.2"),
        ("127.0.0.1", "10.77.0.2"),
        ("224.0.0.5", "10.77.0.2"),
        ("10.77.0.255", "10.77.0.2"),
        ("10.77.0.0", "10.77.0.2"),
        ("250.1.2.3", "10.77.0.2"),
        ("255.255.255.255", "10.77.0.2"),
        ("fd77::2", "fd77::2"),
        ("::", "fd77::2"),
        ("::1", "fd77::2"),
        ("ff02::1", "fd77::2"),
        ("::ffff:10.77.0.1", "fd77::2"),
    ] {
        // Packets that would open a connection, get a RST, or get a challenge ACK.
        for (port, flags) in [(80, Flags::SYN), (5, Flags::SYN), (5, Flags::ACK), (80, Flags::FIN)]
        {
            let bytes = packet(address(from), address(to), &segment(port, flags));
            assert_eq!(reply_count(&mut stack, &bytes), 0, "{from} {flags:?}");
            dropped += 1;
        }
    }
    let c = stack.counters();
    assert_eq!((c.martians, c.connections, c.stray, c.sent), (dropped, 0, 0, 0));
    // A valid source of either family gets its SYN-ACK.
    for (from, to) in [("10.77.0.1", "10.77.0.2"), ("fd77::1", "fd77::2")] {
        let bytes = packet(address(from), address(to), &segment(5, Flags::SYN));
        assert_eq!(reply_count(&mut stack, &bytes), 1, "{from}");
    }
}

/// RFC 9293 MUST-57 for SYN, RFC 1122 §4.2.3.10 for other segments. One of the addresses is
/// configured as ours.
#[test]
fn segments_to_multicast_and_broadcast_are_ignored() {
    let mut stack = host();
    let locals = ["10.77.0.2", "10.77.0.255", "fd77::2", "ff02::1"].map(address);
    stack.addresses = AddressFilter::new(locals.to_vec());
    stack.add_network(address("10.77.0.2"), 24);
    let mut dropped = 0;
    for (from, to) in [
        ("10.77.0.1", "10.77.0.255"),
        ("10.77.0.1", "10.77.0.0"),
        ("10.77.0.1", "255.255.255.255"),
        ("10.77.0.1", "224.0.0.1"),
        ("fd77::1", "ff02::1"),
        ("fd77::1", "ff05::2"),
    ] {
        for flags in [Flags::SYN, Flags::ACK] {
            let bytes = packet(address(from), address(to), &segment(5, flags));
            assert_eq!(reply_count(&mut stack, &bytes), 0, "{to} {flags:?}");
            dropped += 1;
        }
    }
    let c = stack.counters();
    assert_eq!((c.multicast, c.connections, c.sent), (dropped, 0, 0));
}

/// RFC 9293 MUST-46.
#[test]
fn connect_rejects_addresses_that_are_not_hosts() {
    let mut stack = host();
    for to in
        ["10.77.0.255", "224.0.0.1", "0.0.0.0", "127.0.0.1", "255.255.255.255", "::", "ff02::1"]
    {
        let error = stack.connect(Instant::ZERO, SocketAddr::new(address(to), 80), &linux());
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::InvalidInput, "{to}");
    }
    assert_eq!(stack.counters().connections, 0);
}

/// Inserts an IPv6 extension header behind the fixed header.
fn with_extension_header(bytes: &[u8], number: u8, body: [u8; 6]) -> Vec<u8> {
    let (fixed, rest) = bytes.split_at(40);
    let mut out = fixed.to_vec();
    out.extend([bytes[6], 0]);
    out.extend(body);
    out.extend(rest);
    out[6] = number;
    let len = (out.len() - 40) as u16;
    out[4..6].copy_from_slice(&len.to_be_bytes());
    out
}

#[test]
fn a_syn_behind_extension_headers_is_answered_and_a_fragment_is_counted() {
    let (from, to) = (address("fd77::1"), address("fd77::2"));
    let syn = |port| packet(from, to, &segment(port, Flags::SYN));
    let padding = [1, 4, 0, 0, 0, 0];
    let mut stack = host();
    for (port, number) in [(1, 0), (2, 60), (3, 43), (4, 44)] {
        let body = if number == 43 || number == 44 { [0; 6] } else { padding };
        assert_eq!(
            reply_count(&mut stack, &with_extension_header(&syn(port), number, body)),
            1,
            "{number}"
        );
    }
    // The first of several fragments, then AH and ESP.
    assert_eq!(reply_count(&mut stack, &with_extension_header(&syn(5), 44, [0, 1, 0, 0, 0, 9])), 0);
    assert_eq!(reply_count(&mut stack, &with_extension_header(&syn(6), 51, padding)), 0);
    assert_eq!(reply_count(&mut stack, &with_extension_header(&syn(7), 50, padding)), 0);
    let c = stack.counters();
    assert_eq!((c.fragments, c.not_ours, c.malformed, c.connections), (1, 2, 0, 4));
}

/// State that a stack keeps, in entries and bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Footprint {
    connections: u64,
    entries: usize,
    timers: usize,
    bytes: usize,
}

fn footprint(stack: &mut Stack) -> Footprint {
    let ids: Vec<_> = stack.sockets.iter().filter_map(|c| c.id).collect();
    let transport =
        ids.iter().filter_map(|id| stack.sockets.endpoint().conn(*id).map(|c| c.memory()));
    let transport: usize = transport.sum();
    let c = stack.counters();
    let entries = stack.sockets.keys().count();
    Footprint {
        connections: c.connections,
        entries,
        timers: stack.timers.len(),
        bytes: transport + c.buffer_memory as usize + entries * size_of::<Option<Conn>>(),
    }
}

/// Injects one packet. Returns the number of packets and of bytes in reply.
fn inject_and_count(
    stack: &mut Stack,
    now: Instant,
    bytes: &[u8],
    batch: &mut TxBatch,
) -> (usize, usize) {
    stack.inject(now, HostStamp(now.since_start().as_ns()), bytes, batch);
    let out = batch.packets().fold((0, 0), |(n, len), p| (n + 1, len + p.bytes.len()));
    batch.clear();
    out
}

/// 200,000 SYNs from addresses that never answer, 100,000 of them first. Memory is bounded, and
/// each SYN gets one reply of at most 60 bytes. Meanwhile a client connects and transfers.
#[test]
fn a_syn_flood_is_bounded_and_clients_still_connect() {
    const SYNS: u32 = 200_000;
    const HALF_OPEN: usize = 128;
    let mut pair = StackPair::new(Box::new(|bytes: &[u8]| vec![(Duration::ZERO, bytes.to_vec())]));
    pair.stacks[1].listen(80, &linux(), (HALF_OPEN, 4)).unwrap();
    let mut batch = TxBatch::default();
    let mut flood = |pair: &mut StackPair<'_>, syns: std::ops::Range<u32>| {
        for n in syns {
            let from = IpAddr::V4(Ipv4Addr::from_bits(0x0b00_0000 + n));
            let syn =
                Segment { seq: SeqNum::new(n), ..segment((n % 60_000 + 1) as u16, Flags::SYN) };
            let bytes = packet(from, ADDRESSES[1], &syn);
            let (packets, len) =
                inject_and_count(&mut pair.stacks[1], pair.now, &bytes, &mut batch);
            assert!(packets <= 1 && len <= 60, "{packets} packets of {len} bytes for one SYN");
        }
    };
    flood(&mut pair, 0..SYNS / 2);
    let full = footprint(&mut pair.stacks[1]);
    // At most 4 KiB per half-open connection.
    assert_eq!((full.connections, full.entries), (HALF_OPEN as u64, HALF_OPEN));
    assert!(full.timers <= HALF_OPEN && full.bytes <= HALF_OPEN * 4096, "{full:?}");

    let to = SocketAddr::new(ADDRESSES[1], 80);
    let began = pair.now;
    let client = pair.stacks[0].connect(pair.now, to, &linux()).unwrap();
    let mut remaining = SYNS / 2..SYNS;
    let server = loop {
        let until = (remaining.start + 10_000).min(SYNS);
        flood(&mut pair, remaining.start..until);
        remaining.start = until;
        assert!(pair.step());
        if let Ok(server) = pair.stacks[1].accept(80) {
            break server;
        }
    };
    // One and a half RTTs of 2 ms: nothing waited for a timer.
    assert_eq!(pair.now.saturating_since(began), DELAY * 3);
    let bytes: Vec<u8> = (0..300_000_u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
    assert!(pair.transfer(client, server, &bytes) == bytes);
    flood(&mut pair, remaining);

    let c = pair.stacks[1].counters();
    assert_eq!((c.backlog_full, c.cookies_accepted), (0, 1));
    assert_eq!(c.cookies_sent, u64::from(SYNS) - HALF_OPEN as u64 + 1);
    let after = footprint(&mut pair.stacks[1]);
    assert!(after.entries <= HALF_OPEN + 1 && after.timers <= HALF_OPEN + 1, "{after:?}");
    // Half-open connections time out, and there is room again.
    pair.stacks[1].drop_stream(server);
    pair.stacks[0].drop_stream(client);
    while pair.step() {}
    assert_eq!(pair.stacks[1].counters().connections, 0);
    assert_eq!(pair.stacks[1].timers.len(), 0);
}

/// Makes the n-th packet of a flood.
type Make = dyn Fn(u32) -> Vec<u8>;

/// Other floods leave no state and get at most one RST per packet.
#[test]
fn other_floods_leave_no_state() {
    let (ours, ours6) = (address("10.77.0.2"), address("fd77::2"));
    let far = |n: u32| IpAddr::V4(Ipv4Addr::from_bits(0x0b00_0000 + n));
    let kinds: [(&str, usize, Box<Make>); 6] = [
        ("LAND", 0, Box::new(move |_| packet(ours, ours, &segment(80, Flags::SYN)))),
        (
            "martians",
            0,
            Box::new(move |n| {
                let from = IpAddr::V4(Ipv4Addr::from_bits(0xe000_0000 | n));
                packet(from, ours, &segment(n as u16, Flags::SYN))
            }),
        ),
        (
            "broadcast",
            0,
            Box::new(move |n| {
                packet(far(n), address("10.77.0.255"), &segment(n as u16, Flags::SYN))
            }),
        ),
        (
            "fragments",
            0,
            Box::new(move |n| {
                let syn = segment(n as u16, Flags::SYN);
                with_extension_header(
                    &packet(address("fd77::1"), ours6, &syn),
                    44,
                    [0, 1, 0, 0, 0, n as u8],
                )
            }),
        ),
        (
            "ACKs",
            1,
            Box::new(move |n| {
                let ack = Segment {
                    ack: SeqNum::new(n.wrapping_mul(0x9e37_79b9)),
                    ..segment(n as u16, Flags::ACK)
                };
                packet(far(n), ours, &ack)
            }),
        ),
        ("RSTs", 0, Box::new(move |n| packet(far(n), ours, &segment(n as u16, Flags::RST)))),
    ];
    for (name, most, make) in kinds {
        let mut stack = host();
        let mut batch = TxBatch::default();
        let before = footprint(&mut stack);
        for n in 0..200_000 {
            let (packets, len) = inject_and_count(&mut stack, Instant::ZERO, &make(n), &mut batch);
            assert!(packets <= most && len <= 40 * most, "{name}: {packets} of {len} bytes");
        }
        assert_eq!(footprint(&mut stack), before, "{name}");
        assert_eq!(stack.counters().received, 200_000);
    }
}

/// ICMP "port unreachable" from `from` about the packet `quoted`.
fn unreachable(from: &str, quoted: &[u8]) -> Vec<u8> {
    let mut message = vec![3, 3, 0, 0, 0, 0, 0, 0];
    message.extend(&quoted[..28]);
    let sum = Checksum::new().with(&message).finish();
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let (IpAddr::V4(src), IpAddr::V4(dst)) = (address(from), address("10.77.0.2")) else {
        panic!("IPv4")
    };
    let header = Ipv4Header { protocol: 1, ..Ipv4Header::tcp(src, dst, Ecn::NotEct) };
    let mut bytes = ipv4::emit(&header, message.len()).unwrap().to_vec();
    bytes.extend(message);
    bytes
}

#[test]
fn icmp_errors_from_invalid_sources_are_ignored() {
    let mut stack = host();
    let mut batch = TxBatch::default();
    let to = SocketAddr::new(address("10.77.0.1"), 80);
    let key = stack.connect(Instant::ZERO, to, &linux()).unwrap();
    stack.flush(Instant::ZERO, &mut batch);
    let syn = batch.packets().next().unwrap().bytes.to_vec();
    for from in ["224.0.0.1", "10.77.0.255", "127.0.0.1", "0.0.0.0"] {
        assert_eq!(reply_count(&mut stack, &unreachable(from, &syn)), 0);
    }
    let c = stack.counters();
    assert_eq!((c.martians, c.icmp, c.connections), (4, 0, 1));
    assert_eq!(reply_count(&mut stack, &unreachable("10.77.0.9", &syn)), 0);
    let error = stack.established(key).unwrap_err();
    assert_eq!((stack.counters().icmp, error.kind()), (1, io::ErrorKind::ConnectionRefused));
}
