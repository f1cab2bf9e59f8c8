//! Tests of the stack in virtual time, with real bytes: two stacks over a lossy link, and
//! unsolicited packets.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use lowtide_tcp::{Config, Endpoint, SynCookies};
use lowtide_units::{Duration, HostStamp, Instant};
use lowtide_wire::{Addresses, Flags, Segment, SeqNum, packet};
use proptest::prelude::*;

use super::*;

mod ack_storms;
mod hostile;
mod invalid_packets;
mod limits;
mod orphans;

const ADDRESSES: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2))];
const DELAY: Duration = Duration::from_ms(1);

fn stack(index: usize) -> Stack {
    Stack::new(Endpoint::new(7 + index as u64), vec![ADDRESSES[index]])
}

fn linux() -> Config {
    crate::socket::config("linux", None, &[]).unwrap()
}

/// Maps a packet to its delivered copies, each with an additional delay.
type Link<'a> = dyn FnMut(&[u8]) -> Vec<(Duration, Vec<u8>)> + 'a;

/// Two stacks and the link between them.
struct StackPair<'a> {
    now: Instant,
    stacks: [Stack; 2],
    batch: TxBatch,
    /// Key: arrival time, send order. Value: receiving stack, packet.
    in_flight: BTreeMap<(Instant, u64), (usize, Vec<u8>)>,
    sent: u64,
    link: Box<Link<'a>>,
}

impl<'a> StackPair<'a> {
    fn new(link: Box<Link<'a>>) -> Self {
        let stacks = [stack(0), stack(1)];
        let batch = TxBatch::default();
        Self { now: Instant::ZERO, stacks, batch, in_flight: BTreeMap::new(), sent: 0, link }
    }

    fn send_batch(&mut self, from: usize) {
        let Self { batch, in_flight, link, sent, now, .. } = self;
        batch.packets().for_each(|packet| {
            for (late, copy) in link(packet.bytes) {
                *sent += 1;
                in_flight.insert((*now + DELAY + late, *sent), (1 - from, copy));
            }
        });
        batch.clear();
    }

    fn flush(&mut self) {
        for i in 0..2 {
            while self.stacks[i].wants_flush() {
                self.stacks[i].flush(self.now, &mut self.batch);
                self.send_batch(i);
            }
        }
    }

    /// Time of the next event.
    fn next(&self) -> Option<Instant> {
        let packet = self.in_flight.keys().next().map(|(at, _)| *at);
        let timers = self.stacks.iter().filter_map(Stack::next_timer).min();
        packet.into_iter().chain(timers).min()
    }

    /// Handles the next event. Returns false if there is none.
    fn step(&mut self) -> bool {
        self.flush();
        let packet = self.in_flight.keys().next().map(|(at, _)| *at);
        let Some(next) = self.next() else { return false };
        self.now = self.now.max(next);
        if packet == Some(next)
            && let Some((_, (to, bytes))) = self.in_flight.pop_first()
        {
            let stamp = HostStamp(self.now.since_start().as_ns());
            self.stacks[to].inject(self.now, stamp, &bytes, &mut self.batch);
            self.send_batch(to);
        } else {
            for i in 0..2 {
                self.stacks[i].handle_timeouts(self.now, &mut self.batch);
                self.send_batch(i);
            }
        }
        true
    }

    fn connect(&mut self, config: &Config) -> (ConnKey, ConnKey) {
        self.stacks[1].listen(80, config, (300, 300)).unwrap();
        let to = SocketAddr::new(ADDRESSES[1], 80);
        let client = self.stacks[0].connect(self.now, to, config).unwrap();
        loop {
            assert!(self.step());
            if let Ok(server) = self.stacks[1].accept(80) {
                return (client, server);
            }
        }
    }

    /// Sends `bytes` and returns the bytes received at the other end.
    fn transfer(&mut self, client: ConnKey, server: ConnKey, bytes: &[u8]) -> Vec<u8> {
        let (mut written, mut got, mut shut) = (0, Vec::new(), false);
        let mut buffer = [0; 10_000];
        let limit = self.now + Duration::from_secs(4000);
        loop {
            let before = (written, got.len(), shut);
            if self.stacks[0].established(client).is_ok() && written < bytes.len() {
                match self.stacks[0].write(client, &bytes[written..]) {
                    Ok(n) => written += n,
                    Err(e) => assert_eq!(e.kind(), io::ErrorKind::WouldBlock),
                }
            } else if written == bytes.len() && !shut {
                self.stacks[0].shut_write(client).unwrap();
                shut = true;
            }
            match self.stacks[1].read(server, &mut buffer) {
                Ok(0) => return got,
                Ok(n) => {
                    got.extend_from_slice(&buffer[..n]);
                    continue;
                }
                Err(e) => assert_eq!(e.kind(), io::ErrorKind::WouldBlock, "{e}"),
            }
            let progress = before != (written, got.len(), shut);
            // Nothing may be in flight while the application has not read the last data.
            assert!(
                (self.step() || progress) && self.now < limit,
                "no progress with {} of {}",
                got.len(),
                bytes.len()
            );
        }
    }
}

/// Xorshift pseudo-random numbers.
fn draw(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Loss, duplication, reordering and corruption cause no wrong byte and no hang.
    #[test]
    fn bytes_survive_a_bad_link(seed in 1_u64.., bad in 0_u64..12, scheme in 0..3_usize) {
        let mut state = seed;
        let link = move |bytes: &[u8]| {
            let mut copies = vec![(Duration::ZERO, bytes.to_vec())];
            match draw(&mut state) % 100 {
                n if n < bad => copies.clear(),
                n if n < 2 * bad => copies.push((Duration::from_us(draw(&mut state) % 3000), bytes.to_vec())),
                n if n < 3 * bad => copies[0].0 = Duration::from_us(draw(&mut state) % 5000),
                n if n < 4 * bad => {
                    let at = draw(&mut state) as usize % bytes.len();
                    copies[0].1[at] ^= 1 << (draw(&mut state) % 8);
                }
                _ => {}
            }
            copies
        };
        let schemes = [None, Some("dctcp"), Some("accecn")];
        let mut config = crate::socket::config("linux", schemes[scheme], &[]).unwrap();
        // A bad link must not make a connection give up.
        config.retries = 30;
        config.syn_retries = 30;
        let mut pair = StackPair::new(Box::new(link));
        let (client, server) = pair.connect(&config);
        let bytes: Vec<u8> = (0..150_000_u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        let got = pair.transfer(client, server, &bytes);
        prop_assert!(got == bytes, "{} of {}", got.len(), bytes.len());
        // Both applications drop their streams: nothing is left but TIME-WAIT.
        pair.stacks[1].drop_stream(server);
        pair.stacks[0].drop_stream(client);
        while pair.step() {}
        for stack in &pair.stacks {
            prop_assert_eq!((stack.counters().connections, stack.counters().buffer_memory), (0, 0));
            prop_assert!(stack.sockets.iter().next().is_none());
        }
    }

    /// Random packets, and packets of the connection with one byte changed, cause no panic and no
    /// wrong byte.
    #[test]
    fn garbage_from_the_wire_changes_nothing(
        garbage in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..20),
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 1..200),
    ) {
        let mut next = 0;
        let link = |bytes: &[u8]| {
            let mut forged = garbage[next % garbage.len()].clone();
            let (at, byte) = changes[next % changes.len()];
            next += 1;
            if next % 3 > 0 {
                // A whole packet with one byte changed. The checksum is right by chance once in
                // 2^16, and the byte may be the old one.
                forged = bytes.to_vec();
                forged[at % bytes.len()] = byte;
            } else if let Some(first) = forged.first_mut() {
                *first = if byte & 1 == 0 { 0x45 } else { 0x60 };
            }
            vec![(Duration::ZERO, forged), (Duration::from_us(1), bytes.to_vec())]
        };
        let mut pair = StackPair::new(Box::new(link));
        let (client, server) = pair.connect(&linux());
        let bytes: Vec<u8> = (0..40_000_u32).map(|i| (i % 249) as u8).collect();
        let got = pair.transfer(client, server, &bytes);
        prop_assert!(got == bytes);
        let c = pair.stacks.each_ref().map(Stack::counters);
        prop_assert!(c[0].malformed + c[0].bad_checksum + c[0].not_ours > 0, "{c:?}");
    }
}

/// An unsolicited packet to port 80 of the second stack.
fn unsolicited_packet(port: u16, flags: Flags, seq: u32, payload: &[u8]) -> Vec<u8> {
    let segment = Segment {
        src_port: port,
        dst_port: 80,
        seq: SeqNum::new(seq),
        ack: SeqNum::new(1),
        flags,
        window: 1000,
        payload_len: payload.len() as u32,
        ..Segment::default()
    };
    let addresses = Addresses::between(ADDRESSES[0], ADDRESSES[1]).unwrap();
    let mut bytes = vec![0; 200];
    let len = packet::emit(&addresses, &segment, payload, &mut bytes).unwrap();
    bytes.truncate(len);
    bytes
}

#[test]
fn a_syn_flood_is_bounded_and_leaves_nothing() {
    let mut stack = stack(1);
    let mut batch = TxBatch::default();
    let config = Config { syn_cookies: SynCookies::Off, ..linux() };
    stack.listen(80, &config, (16, 4)).unwrap();
    for port in 1..=10_000 {
        stack.inject(
            Instant::ZERO,
            HostStamp(0),
            &unsolicited_packet(port, Flags::SYN, 9, &[]),
            &mut batch,
        );
    }
    let c = stack.counters();
    assert_eq!((c.connections, c.backlog_full, c.sent), (16, 10_000 - 16, 16));
    // No handshake completes: they time out, and there is room again.
    let mut now = Instant::ZERO;
    while let Some(next) = stack.next_timer() {
        now = next;
        stack.handle_timeouts(now, &mut batch);
        batch.clear();
    }
    assert_eq!(stack.counters().connections, 0);
    assert!(stack.sockets.iter().next().is_none(), "no application was notified of them");
    stack.inject(now, HostStamp(0), &unsolicited_packet(7, Flags::SYN, 9, &[]), &mut batch);
    assert_eq!(stack.counters().connections, 1);
}

#[test]
fn connections_beyond_the_backlog_are_reset() {
    let mut pair = StackPair::new(Box::new(|bytes: &[u8]| vec![(Duration::ZERO, bytes.to_vec())]));
    pair.stacks[1].listen(80, &linux(), (100, 3)).unwrap();
    let to = SocketAddr::new(ADDRESSES[1], 80);
    let clients: Vec<ConnKey> =
        (0..10).map(|_| pair.stacks[0].connect(pair.now, to, &linux()).unwrap()).collect();
    while pair.step() {}
    assert_eq!(pair.stacks[1].counters().listen_overflows, 7);
    let reset = clients.iter().filter(|k| {
        let mut byte = [0];
        matches!(pair.stacks[0].read(**k, &mut byte),
            Err(e) if e.kind() == io::ErrorKind::ConnectionReset)
    });
    assert_eq!(reset.count(), 7);
    // Removing the listener resets the connections in its accept queue.
    pair.stacks[1].unlisten(80);
    while pair.step() {}
    assert_eq!(pair.stacks[1].counters().connections, 0);
}

#[test]
fn an_orphan_in_fin_wait_2_ends_when_the_peer_never_closes() {
    let mut pair = StackPair::new(Box::new(|bytes: &[u8]| vec![(Duration::ZERO, bytes.to_vec())]));
    let (client, server) = pair.connect(&linux());
    pair.stacks[0].drop_stream(client);
    let closed = pair.now;
    while pair.stacks[0].counters().connections > 0 {
        assert!(pair.step(), "it stays");
    }
    let took = pair.now.saturating_since(closed);
    assert!((Duration::from_secs(60)..Duration::from_secs(61)).contains(&took), "{took}");
    while pair.step() {}
    // The other end gets the FIN.
    let mut byte = [0];
    assert_eq!(pair.stacks[1].read(server, &mut byte).unwrap(), 0);
    assert!(pair.stacks[1].readiness(server).closed);
}

#[test]
fn packets_for_other_addresses_get_no_answer() {
    let mut stack = stack(0);
    stack.addresses = AddressFilter::new(vec![IpAddr::V4(Ipv4Addr::new(10, 0, 0, 3))]);
    let mut batch = TxBatch::default();
    let mut sent = |stack: &mut Stack, bytes: &[u8]| {
        stack.inject(Instant::ZERO, HostStamp(0), bytes, &mut batch);
        let mut n = 0;
        batch.packets().for_each(|_| n += 1);
        batch.clear();
        n
    };
    // First for another address of the network; then for us, without a listener.
    assert_eq!(sent(&mut stack, &unsolicited_packet(5, Flags::SYN, 1, &[])), 0);
    stack.addresses = AddressFilter::new(vec![ADDRESSES[1]]);
    assert_eq!(sent(&mut stack, &unsolicited_packet(5, Flags::SYN, 1, &[])), 1, "a RST");
    assert_eq!(sent(&mut stack, &unsolicited_packet(5, Flags::RST, 1, &[])), 0);
    let c = stack.counters();
    assert_eq!((c.not_ours, c.stray, c.received), (1, 2, 3));
}

/// Keep-alive arms a timer two hours ahead, and each segment brings an earlier one: RTO, then
/// keep-alive again. A stale deadline must not stay in the queue.
#[test]
fn two_hours_of_traffic_leave_one_timer_per_connection() {
    let mut pair = StackPair::new(Box::new(|bytes: &[u8]| vec![(Duration::ZERO, bytes.to_vec())]));
    let config = crate::socket::config("linux", None, &[("keep-alive", "true")]).unwrap();
    let (client, server) = pair.connect(&config);
    let end = pair.now + Duration::from_secs(7200);
    let (mut most, mut bytes, mut buffer) = (0, 0, [0; 100]);
    let mut next = pair.now;
    while pair.now < end {
        if pair.now >= next {
            bytes += pair.stacks[0].write(client, b"x").unwrap();
            next = pair.now + Duration::from_ms(500);
        }
        if let Ok(n) = pair.stacks[1].read(server, &mut buffer) {
            bytes -= n;
        }
        if !pair.step() || pair.next().is_none_or(|at| at > next) {
            pair.now = next;
        }
        most = pair.stacks.iter().map(|s| s.timers.len()).max().unwrap_or(0).max(most);
    }
    assert_eq!((most, bytes), (1, 0));
    pair.stacks[0].abort_all();
    while pair.stacks[0].counters().connections > 0 {
        assert!(pair.step());
    }
    pair.stacks[0].drop_stream(client);
    assert_eq!(pair.stacks[0].timers.len(), 0);
}
