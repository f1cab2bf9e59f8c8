//! A host in virtual time: sockets over [`lowtide_tcp::Endpoint`], with real bytes.
//!
//! Contract: this is a driver of the transport and knows nothing of scripts. IP packets enter by
//! [`Stack::inject`] and leave by [`Stack::take_packet`], each with its send time. Only
//! [`Stack::advance_to`] advances time, from timer to timer. No call blocks: it returns
//! [`CallError::WouldBlock`] on a blocking socket and `EAGAIN` on others. Socket behaviour that
//! differs between systems follows Linux.

mod buffers;
mod calls;
mod digest;
mod host;
mod options;
mod view;

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use lowtide_sockets::{ConnKey, Sockets};
use lowtide_tcp::{Config, Endpoint, FourTuple, State};
use lowtide_units::{HostStamp, Instant};
use lowtide_wire::{Addresses, Segment, SeqNum, WireError, packet};

use crate::host::SentPacket;
use buffers::SentSegments;
use digest::{Direction, PacketDigest};

/// Maximum timer expirations at one instant before the stack is declared stuck.
const MAX_TIMERS_PER_INSTANT: u32 = 10_000;

/// Settings of a stack.
#[derive(Clone, Debug)]
pub struct StackSettings {
    /// Settings of every new socket.
    pub config: Config,
    /// Seed of sequence numbers, timestamps and ports.
    pub seed: u64,
    /// Initial sequence number of every connection, instead of a random one.
    pub isn: Option<u32>,
    /// The host's IPv4 address, for unbound sockets that connect.
    pub local_v4: Ipv4Addr,
    /// The host's IPv6 address, for unbound sockets that connect.
    pub local_v6: Ipv6Addr,
}

impl Default for StackSettings {
    /// The `linux` profile, on an interface that takes single segments, with packetdrill's default
    /// addresses.
    fn default() -> Self {
        let linux = lowtide_tcp::profile::REGISTRY.find("linux").and_then(|p| p.config().ok());
        Self {
            config: Config { tso_defer: 0, ..linux.unwrap_or_default() },
            seed: 1,
            isn: None,
            local_v4: Ipv4Addr::new(192, 168, 0, 1),
            local_v6: Ipv6Addr::new(0xfd3d, 0x0a0b, 0x17d6, 0, 0, 0, 0, 1),
        }
    }
}

/// A connection and its bytes.
type Conn = lowtide_sockets::Conn<DriverState>;

/// State that the stack keeps with a connection.
#[derive(Debug, Default)]
struct DriverState {
    sent: SentSegments,
    /// A call has returned the error with which it ended.
    error_taken: bool,
}

/// Object behind a file descriptor.
#[derive(Debug)]
enum SocketKind {
    Idle,
    Listening {
        port: u16,
        /// Accept queue, oldest first.
        ready: VecDeque<ConnKey>,
    },
    Stream {
        conn: ConnKey,
        /// The result of `connect` has not been returned yet.
        connecting: bool,
    },
}

#[derive(Debug)]
struct Socket {
    v6: bool,
    nonblocking: bool,
    bound: Option<(IpAddr, u16)>,
    kind: SocketKind,
    config: Config,
    /// SO_LINGER, seconds.
    linger: Option<u32>,
    read_shut: bool,
}

/// A host.
#[derive(Debug)]
pub struct Stack {
    now: Instant,
    settings: StackSettings,
    sockets: BTreeMap<i32, Socket>,
    /// All connections since the start: scripts examine those that have ended.
    conns: Sockets<DriverState>,
    out: VecDeque<SentPacket>,
    digest: PacketDigest,
    /// Bytes that a blocked write has written.
    blocked_write: usize,
    fault: Option<String>,
}

impl Stack {
    /// Creates a host at instant zero. Segmentation offload is always off, because packets are
    /// compared one by one.
    pub fn new(mut settings: StackSettings) -> Self {
        settings.config.tso_segments = 1;
        Self {
            now: Instant::ZERO,
            conns: Sockets::new(Endpoint::new(settings.seed)),
            settings,
            sockets: BTreeMap::new(),
            out: VecDeque::new(),
            digest: PacketDigest::default(),
            blocked_write: 0,
            fault: None,
        }
    }

    /// Virtual time.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Next timer expiration; `None` if no timer is armed.
    pub fn next_timer(&mut self) -> Option<Instant> {
        self.conns.keys().filter_map(|key| self.conns.poll_timeout(key)).min()
    }

    /// Advances the clock to `to`, firing timers in order, including those at `to`. A time in the
    /// past has no effect.
    pub fn advance_to(&mut self, to: Instant) {
        let mut at_once = 0;
        while let Some(next) = self.next_timer().filter(|t| *t <= to) {
            at_once = if next > self.now { 0 } else { at_once + 1 };
            if at_once > MAX_TIMERS_PER_INSTANT {
                let at = self.now;
                self.fault = Some(format!("timers fire without end at {at}"));
                break;
            }
            self.now = self.now.max(next);
            self.fire();
        }
        self.now = self.now.max(to);
    }

    fn fire(&mut self) {
        for key in self.conns.keys() {
            if self.conns.handle_timeout(self.now, key) {
                self.pump(key);
            }
        }
    }

    /// Delivers one IP packet to the host.
    ///
    /// # Errors
    /// The reason that it is not a TCP packet; the host drops it.
    pub fn inject(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        self.digest.update(self.now, Direction::In, bytes);
        let (addresses, mut segment, payload) = packet::parse(bytes)?;
        let (remote, local) = addresses.src_dst();
        segment.rx.stamp = Some(HostStamp(self.now.since_start().as_ns()));
        self.prepare_isn();
        let payload = bytes.get(payload).unwrap_or(&[]);
        let (_, key) = self.conns.handle_segment(self.now, local, remote, &segment, payload);
        if let Some(key) = key {
            self.pump(key);
        }
        while let Some((tuple, reply)) = self.conns.endpoint().poll_reply() {
            self.emit(&tuple, &reply, &[]);
        }
        Ok(())
    }

    /// Takes the oldest packet from the output queue.
    pub fn take_packet(&mut self) -> Option<SentPacket> {
        self.out.pop_front()
    }

    /// Hash of all packets in and out, with their times.
    pub const fn digest(&self) -> u64 {
        self.digest.value()
    }

    fn prepare_isn(&mut self) {
        if let Some(isn) = self.settings.isn {
            self.conns.endpoint().set_next_isn(SeqNum::new(isn));
        }
    }

    fn emit(&mut self, tuple: &FourTuple, segment: &Segment, payload: &[u8]) {
        let mut bytes = vec![0; packet::MAX_HEADERS_LEN + payload.len()];
        let Some(addresses) = Addresses::between(tuple.local, tuple.remote) else {
            self.fault = Some("a connection between two address families".to_string());
            return;
        };
        match packet::emit(&addresses, segment, payload, &mut bytes) {
            Ok(len) => {
                bytes.truncate(len);
                self.digest.update(self.now, Direction::Out, &bytes);
                self.out.push_back(SentPacket { at: self.now, bytes });
            }
            Err(error) => self.fault = Some(format!("a segment is not a valid packet: {error}")),
        }
    }

    /// Sends all segments and handles all notifications of a connection.
    fn pump(&mut self, key: ConnKey) {
        let (now, stamp) = (self.now, HostStamp(self.now.since_start().as_ns()));
        while let Some(transmit) = self.conns.transport(key).and_then(|c| c.poll_transmit(now)) {
            for i in 0..transmit.segments {
                let Some(conn) = self.conns.get_mut(key) else { return };
                let range = transmit.stream_of(i);
                let (tuple, payload) = (conn.tuple, conn.send.copy(&range));
                conn.driver.sent.on_sent(&range);
                let mut segment = transmit.segment(i);
                segment.stamp_departure(stamp);
                self.emit(&tuple, &segment, &payload);
            }
            if let Some(conn) = self.conns.transport(key) {
                conn.on_transmitted(transmit.id, stamp);
            }
        }
        let Some(polled) = self.conns.poll_events(key) else { return };
        let Some(conn) = self.conns.get_mut(key) else { return };
        conn.driver.sent.discard_acked(polled.acked);
        let held = conn.held;
        if polled.newly_established
            && let Some(port) = conn.listener.take()
        {
            self.enqueue_accept(port, key);
        }
        // The endpoint's TIME-WAIT table takes over unless an application still holds the socket.
        if polled.state == State::Closed || (polled.state == State::TimeWait && !held) {
            self.conns.release(now, key);
        }
    }

    /// Puts a connection into the accept queue; resets it if the listener is gone.
    fn enqueue_accept(&mut self, port: u16, key: ConnKey) {
        let listener = self.sockets.values_mut().find_map(|socket| match &mut socket.kind {
            SocketKind::Listening { port: own, ready } if *own == port => Some(ready),
            _ => None,
        });
        match listener {
            Some(ready) => ready.push_back(key),
            None => self.release(key, true),
        }
    }

    /// Releases a connection for its application, see [`Sockets::close`].
    fn release(&mut self, key: ConnKey, reset: bool) {
        self.conns.close(key, reset);
        self.pump(key);
    }

    fn config_of(socket: &Socket) -> Arc<Config> {
        Arc::new(socket.config.clone())
    }
}
