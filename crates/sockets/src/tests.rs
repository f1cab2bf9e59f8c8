//! Two hosts that exchange segments and payload without packets, in virtual time.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use lowtide_tcp::{CloseReason, Config, Endpoint, State};
use lowtide_units::{Duration, HostStamp, Instant};
use lowtide_wire::Segment;

use super::*;

const NAMES: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2))];

/// Two hosts; the driver's state is the number of segments sent.
struct HostPair {
    now: Instant,
    hosts: [Sockets<u64>; 2],
    in_flight: VecDeque<(usize, Segment, Vec<u8>)>,
}

impl HostPair {
    /// Also returns the keys of an established connection.
    fn connected() -> (Self, ConnKey, ConnKey) {
        let hosts = [1, 2].map(|seed| Sockets::new(Endpoint::new(seed)));
        let mut pair = Self { now: Instant::ZERO, hosts, in_flight: VecDeque::new() };
        let config = Arc::new(Config::default());
        pair.hosts[1].endpoint().listen(80, Arc::clone(&config), 1).unwrap();
        let [from, to] = NAMES;
        let client = pair.hosts[0].connect(pair.now, from, 0, to, 80, config).unwrap();
        pair.pump(0, client);
        let server = pair.hosts[1].keys().next().unwrap();
        assert_eq!(pair.hosts[1].get(server).unwrap().listener, Some(80));
        for (host, key) in [(0, client), (1, server)] {
            assert!(pair.hosts[host].get(key).unwrap().established);
        }
        (pair, client, server)
    }

    fn poll(&mut self, host: usize, key: ConnKey) {
        let Some((conn, endpoint)) = self.hosts[host].with_endpoint(key) else { return };
        let Some(transport) = conn.id.and_then(|id| endpoint.conn(id)) else { return };
        while let Some(transmit) = transport.poll_transmit(self.now) {
            for i in 0..transmit.segments {
                let bytes = conn.send.copy(&transmit.stream_of(i));
                conn.driver += 1;
                self.in_flight.push_back((1 - host, transmit.segment(i), bytes));
            }
            transport.on_transmitted(transmit.id, HostStamp(0));
        }
        let polled = self.hosts[host].poll_events(key).unwrap();
        if matches!(polled.state, State::Closed | State::TimeWait) {
            self.hosts[host].release(self.now, key);
        }
    }

    /// Sends, then delivers all segments and fires all timers that are due within a second.
    fn pump(&mut self, host: usize, key: ConnKey) {
        self.poll(host, key);
        let end = self.now + Duration::from_secs(1);
        loop {
            while let Some((to, segment, payload)) = self.in_flight.pop_front() {
                let (local, remote) = (NAMES[to], NAMES[1 - to]);
                let host = &mut self.hosts[to];
                let (_, key) = host.handle_segment(self.now, local, remote, &segment, &payload);
                if let Some(key) = key {
                    self.poll(to, key);
                }
            }
            let timers = self.hosts.iter_mut();
            let next = timers.filter_map(|h| h.keys().filter_map(|k| h.poll_timeout(k)).min());
            let Some(next) = next.min().filter(|at| *at <= end) else { return };
            self.now = self.now.max(next);
            for host in 0..2 {
                for key in self.hosts[host].keys() {
                    if self.hosts[host].handle_timeout(self.now, key) {
                        self.poll(host, key);
                    }
                }
            }
        }
    }
}

#[test]
fn bytes_arrive_and_both_ends_close() {
    let (mut pair, client, server) = HostPair::connected();
    let bytes: Vec<u8> = (0..200_000_u32).map(|n| (n % 251) as u8).collect();
    let (mut written, mut received, mut buffer) = (0, Vec::new(), vec![0; 30_000]);
    while received.len() < bytes.len() {
        let n = pair.hosts[0].write(client, &bytes[written..]);
        written += n.unwrap_or(0);
        pair.pump(0, client);
        let n = pair.hosts[1].read(server, &mut buffer);
        received.extend_from_slice(&buffer[..n]);
        pair.pump(1, server);
    }
    assert!(received == bytes);
    assert!(pair.hosts[0].get(client).unwrap().send.is_empty(), "acknowledged bytes are freed");
    pair.hosts[0].close(client, false);
    pair.pump(0, client);
    assert!(pair.hosts[1].get(server).unwrap().peer_closed);
    assert!(pair.hosts[1].remove_ended(server).is_none(), "an application holds it");
    pair.hosts[1].close(server, false);
    pair.pump(1, server);
    for (host, key) in [(0, client), (1, server)] {
        assert!(pair.hosts[host].info(key).is_some(), "its last snapshot");
        let ended = pair.hosts[host].remove_ended(key).unwrap();
        assert_eq!(ended.close_reason, Some(CloseReason::Normal));
        assert!(ended.driver > 0 && pair.hosts[host].iter().next().is_none());
    }
}

#[test]
fn unread_data_and_data_for_nobody_are_answered_with_a_reset() {
    for reads in [false, true] {
        let (mut pair, client, server) = HostPair::connected();
        assert_eq!(pair.hosts[0].write(client, b"first"), Some(5));
        pair.pump(0, client);
        if reads {
            assert_eq!(pair.hosts[1].read(server, &mut [0; 9]), 5);
        }
        pair.hosts[1].close(server, false);
        pair.pump(1, server);
        if reads {
            // The server has sent FIN and reads no more.
            assert!(pair.hosts[0].get(client).unwrap().close_reason.is_none());
            assert_eq!(pair.hosts[0].write(client, b"second"), Some(6));
            pair.pump(0, client);
        }
        let reason = pair.hosts[0].get(client).unwrap().close_reason;
        assert_eq!(reason, Some(CloseReason::Reset), "reads: {reads}");
    }
}
