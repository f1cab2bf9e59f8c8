//! Packets that nobody honest sends. Work and memory are counted, not timed.

use super::*;

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A host with a listener at port 80 and the networks 10.77.0.0/24 and fd77::/64.
fn host() -> Stack {
    let locals = vec![address("10.77.0.2"), address("fd77::2")];
    let mut stack = Stack::new(Boundary::new(7, None), locals);
    stack.add_network(address("10.77.0.2"), 24);
    stack.add_network(address("fd77::2"), 64);
    stack.listen(Instant::ZERO, 80, &linux(), (16, 16)).unwrap();
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

/// How many packets `stack` answers.
fn answers(stack: &mut Stack, bytes: &[u8]) -> usize {
    let mut batch = Batch::default();
    stack.inject(Instant::ZERO, HostStamp(0), bytes, &mut batch);
    batch.packets().count()
}

/// RFC 9293 MUST-63, RFC 1122 §3.2.1.3. LAND: the port is the listener's own too.
#[test]
fn sources_that_no_other_host_has_get_no_answer_of_any_kind() {
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
        // What would open a connection, get a RST, and be challenged.
        for (port, flags) in [(80, Flags::SYN), (5, Flags::SYN), (5, Flags::ACK), (80, Flags::FIN)]
        {
            let bytes = packet(address(from), address(to), &segment(port, flags));
            assert_eq!(answers(&mut stack, &bytes), 0, "{from} {flags:?}");
            dropped += 1;
        }
    }
    let c = stack.counters();
    assert_eq!((c.martians, c.connections, c.stray, c.sent), (dropped, 0, 0, 0));
    // An honest source of either family gets its SYN-ACK.
    for (from, to) in [("10.77.0.1", "10.77.0.2"), ("fd77::1", "fd77::2")] {
        let bytes = packet(address(from), address(to), &segment(5, Flags::SYN));
        assert_eq!(answers(&mut stack, &bytes), 1, "{from}");
    }
}

/// RFC 9293 MUST-57, and RFC 1122 §4.2.3.10 for everything else. One of them is an address that was given to us.
#[test]
fn segments_for_groups_of_hosts_are_ignored() {
    let mut stack = host();
    let locals = ["10.77.0.2", "10.77.0.255", "fd77::2", "ff02::1"].map(address);
    stack.addresses = Filter::new(locals.to_vec());
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
            assert_eq!(answers(&mut stack, &bytes), 0, "{to} {flags:?}");
            dropped += 1;
        }
    }
    let c = stack.counters();
    assert_eq!((c.groups, c.connections, c.sent), (dropped, 0, 0));
}

/// RFC 9293 MUST-46.
#[test]
fn nobody_connects_to_an_address_that_is_no_host() {
    let mut stack = host();
    for to in
        ["10.77.0.255", "224.0.0.1", "0.0.0.0", "127.0.0.1", "255.255.255.255", "::", "ff02::1"]
    {
        let error = stack.connect(Instant::ZERO, SocketAddr::new(address(to), 80), &linux());
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::InvalidInput, "{to}");
    }
    assert_eq!(stack.counters().connections, 0);
}

/// The packet with an extension header of IPv6 behind its fixed header.
fn extended(bytes: &[u8], number: u8, body: [u8; 6]) -> Vec<u8> {
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
        assert_eq!(answers(&mut stack, &extended(&syn(port), number, body)), 1, "{number}");
    }
    // The first of several fragments, then AH and ESP.
    assert_eq!(answers(&mut stack, &extended(&syn(5), 44, [0, 1, 0, 0, 0, 9])), 0);
    assert_eq!(answers(&mut stack, &extended(&syn(6), 51, padding)), 0);
    assert_eq!(answers(&mut stack, &extended(&syn(7), 50, padding)), 0);
    let c = stack.counters();
    assert_eq!((c.fragments, c.not_ours, c.malformed, c.connections), (1, 2, 0, 4));
}
