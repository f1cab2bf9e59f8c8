//! A host in virtual time: sockets over [`lowtide_tcp::Endpoint`], with real bytes.
//!
//! Contract: this is a driver of the transport and knows nothing of scripts. IP packets enter by
//! [`Stack::inject`] and leave by [`Stack::take_packet`], each with its send time. Only
//! [`Stack::advance_to`] and [`Stack::run_to_packet`] advance time, from timer to timer. No call
//! blocks: it returns [`CallError::WouldBlock`] on a blocking socket and `EAGAIN` on others. Socket
//! behaviour that differs between systems follows Linux.

mod buffers;
mod calls;
mod digest;
mod errno;
mod options;
mod view;

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use lowtide_payload::{ChunkPool, ReceiveBuffer};
use lowtide_tcp::{
    Accepted, Arrival, CloseReason, Config, ConnId, Endpoint, Event, FourTuple, Info, State,
};
use lowtide_units::{HostStamp, Instant};
use lowtide_wire::{Addresses, Segment, SeqNum, WireError, packet};

use buffers::SendBuffer;
pub use calls::{CallError, Readiness, Shutdown};
use digest::{Direction, PacketDigest, RelativeDigest};
pub use errno::Errno;
pub use options::{SocketOption, SocketValue};
pub use view::ConnView;

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
    /// The `linux` profile with packetdrill's default addresses.
    fn default() -> Self {
        let linux = lowtide_tcp::profile::REGISTRY.find("linux").and_then(|p| p.config().ok());
        Self {
            config: linux.unwrap_or_default(),
            seed: 1,
            isn: None,
            local_v4: Ipv4Addr::new(192, 168, 0, 1),
            local_v6: Ipv6Addr::new(0xfd3d, 0x0a0b, 0x17d6, 0, 0, 0, 0, 1),
        }
    }
}

/// A packet that the host sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SentPacket {
    /// When it was sent.
    pub at: Instant,
    /// The whole IP packet.
    pub bytes: Vec<u8>,
}

/// A connection and its bytes. It outlives the connection in `tcp` until its socket is closed.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
#[derive(Debug)]
struct Conn {
    tuple: FourTuple,
    /// Its ID in the endpoint; `None` once released there.
    id: Option<ConnId>,
    /// Listener to notify when it is established.
    listener: Option<i32>,
    /// An application holds it, or may still accept it.
    owned_by_app: bool,
    send: SendBuffer,
    receive: ReceiveBuffer,
    established: bool,
    peer_closed: bool,
    /// The application has closed the send direction.
    write_shut: bool,
    closed: bool,
    error: Option<Errno>,
    last: Option<Info>,
}

impl Conn {
    fn new(tuple: FourTuple, id: ConnId, listener: Option<i32>) -> Self {
        Self {
            tuple,
            id: Some(id),
            listener,
            owned_by_app: true,
            send: SendBuffer::default(),
            receive: ReceiveBuffer::default(),
            established: false,
            peer_closed: false,
            write_shut: false,
            closed: false,
            error: None,
            last: None,
        }
    }

    /// As on Linux, a reset after the peer's FIN is EPIPE.
    fn on_closed(&mut self, reason: CloseReason) {
        self.closed = true;
        self.error = match reason {
            CloseReason::Normal | CloseReason::Aborted => None,
            CloseReason::Refused => Some(Errno::ECONNREFUSED),
            CloseReason::TimedOut | CloseReason::UserTimeout | CloseReason::KeepAlive => {
                Some(Errno::ETIMEDOUT)
            }
            CloseReason::Reset if self.peer_closed && !self.write_shut => Some(Errno::EPIPE),
            CloseReason::Reset => Some(Errno::ECONNRESET),
        };
    }
}

/// Object behind a file descriptor.
#[derive(Debug)]
enum SocketKind {
    Idle,
    Listening {
        port: u16,
        /// Accept queue, oldest first.
        ready: VecDeque<usize>,
    },
    Stream {
        conn: usize,
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
    endpoint: Endpoint,
    settings: StackSettings,
    sockets: BTreeMap<i32, Socket>,
    conns: Vec<Conn>,
    pool: ChunkPool,
    out: VecDeque<SentPacket>,
    digest: PacketDigest,
    relative_digest: RelativeDigest,
    fault: Option<String>,
}

impl Stack {
    /// Creates a host at instant zero. Segmentation offload is always off, because packets are
    /// compared one by one.
    pub fn new(mut settings: StackSettings) -> Self {
        settings.config.tso_segments = 1;
        Self {
            now: Instant::ZERO,
            endpoint: Endpoint::new(settings.seed),
            settings,
            sockets: BTreeMap::new(),
            conns: Vec::new(),
            pool: ChunkPool::default(),
            out: VecDeque::new(),
            digest: PacketDigest::default(),
            relative_digest: RelativeDigest::default(),
            fault: None,
        }
    }

    /// Virtual time.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Settings of the next socket.
    pub const fn config_mut(&mut self) -> &mut Config {
        &mut self.settings.config
    }

    /// Next timer expiration; `None` if no timer is armed.
    pub fn next_timer(&mut self) -> Option<Instant> {
        let Self { conns, endpoint, .. } = self;
        let ids = conns.iter().filter_map(|c| c.id);
        ids.filter_map(|id| endpoint.conn(id).and_then(|c| c.poll_timeout())).min()
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

    /// Advances the clock until [`Self::take_packet`] has a packet, at most to `limit`. Returns
    /// false if there is none; the clock is then at `limit`, or unchanged if no timer is armed.
    pub fn run_to_packet(&mut self, limit: Instant) -> bool {
        while self.out.is_empty() && self.fault.is_none() {
            match self.next_timer() {
                Some(next) if next <= limit => self.advance_to(next),
                Some(_) => {
                    self.now = self.now.max(limit);
                    return false;
                }
                None => return false,
            }
        }
        !self.out.is_empty()
    }

    fn fire(&mut self) {
        for key in 0..self.conns.len() {
            let now = self.now;
            if let Some(conn) = self.conns[key].id.and_then(|id| self.endpoint.conn(id))
                && conn.poll_timeout().is_some_and(|t| t <= now)
            {
                conn.handle_timeout(now);
                self.pump(key);
            }
        }
    }

    /// Delivers one IP packet to the host.
    ///
    /// # Errors
    /// The reason that it is not a TCP packet; the host drops it.
    pub fn inject(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        self.hash(Direction::In, bytes);
        let (addresses, mut segment, payload) = packet::parse(bytes)?;
        let (remote, local) = addresses.src_dst();
        segment.rx.stamp = Some(HostStamp(self.now.since_start().as_ns()));
        self.prepare_isn();
        let arrival = self.endpoint.handle_segment(self.now, local, remote, &segment, None);
        match arrival {
            Arrival::Taken(id, accepted) => {
                self.deliver(id, &accepted, bytes.get(payload).unwrap_or(&[]));
            }
            Arrival::Completed(id, accepted) => {
                self.add_conn(id, segment.dst_port);
                self.deliver(id, &accepted, bytes.get(payload).unwrap_or(&[]));
            }
            Arrival::Refused(id, _) => {
                if let Some(key) = self.key(id) {
                    self.pump(key);
                }
            }
            Arrival::Opened(id) => {
                self.add_conn(id, segment.dst_port);
                if let Some(key) = self.key(id) {
                    self.pump(key);
                }
            }
            Arrival::Stray | Arrival::TimeWait | Arrival::BacklogFull | Arrival::Cookie => {}
        }
        while let Some((tuple, reply)) = self.endpoint.poll_reply() {
            self.emit(&tuple, &reply, &[]);
        }
        Ok(())
    }

    /// Registers a new connection of the listener on `port`.
    fn add_conn(&mut self, id: ConnId, port: u16) {
        let listener = self.sockets.iter().find_map(|(fd, s)| match s.kind {
            SocketKind::Listening { port: own, .. } if own == port => Some(*fd),
            _ => None,
        });
        if let Some(tuple) = self.endpoint.tuple(id) {
            self.conns.push(Conn::new(tuple, id, listener));
        }
    }

    /// Delivers a segment's payload to its connection.
    fn deliver(&mut self, id: ConnId, accepted: &Accepted, payload: &[u8]) {
        let Some(key) = self.key(id) else { return };
        let fresh = payload.get(accepted.skip as usize..).unwrap_or(&[]);
        self.conns[key].receive.insert(&accepted.stream, fresh, &mut self.pool);
        // RFC 1122 §4.2.2.13: data that no application will read is answered with RST.
        if !accepted.stream.is_empty()
            && !self.conns[key].owned_by_app
            && let Some(conn) = self.endpoint.conn(id)
        {
            conn.abort();
        }
        self.pump(key);
    }

    /// Takes the oldest packet from the output queue.
    pub fn take_packet(&mut self) -> Option<SentPacket> {
        self.out.pop_front()
    }

    /// Oldest packet of the output queue, left in place.
    pub fn peek_packet(&self) -> Option<&SentPacket> {
        self.out.front()
    }

    /// Number of packets in the output queue.
    pub fn queued_packets(&self) -> usize {
        self.out.len()
    }

    /// Hash of all packets in and out, with their times.
    pub const fn digest(&self) -> u64 {
        self.digest.value()
    }

    /// Like [`Self::digest`], without values that depend on a connection's addresses and ports:
    /// these themselves, checksums, the host's ISN and its timestamp offset.
    pub const fn relative_digest(&self) -> u64 {
        self.relative_digest.value()
    }

    fn hash(&mut self, direction: Direction, bytes: &[u8]) {
        self.digest.update(self.now, direction, bytes);
        self.relative_digest.update(self.now, direction, bytes);
    }

    /// A fault of the stack itself, which no script can cause.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    fn prepare_isn(&mut self) {
        if let Some(isn) = self.settings.isn {
            self.endpoint.set_next_isn(SeqNum::new(isn));
        }
    }

    fn key(&self, id: ConnId) -> Option<usize> {
        self.conns.iter().position(|c| c.id == Some(id))
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
                self.hash(Direction::Out, &bytes);
                self.out.push_back(SentPacket { at: self.now, bytes });
            }
            Err(error) => self.fault = Some(format!("a segment is not a valid packet: {error}")),
        }
    }

    /// Sends all segments and handles all notifications of a connection.
    fn pump(&mut self, key: usize) {
        let now = self.now;
        let Some(id) = self.conns[key].id else { return };
        while let Some(transmit) = self.endpoint.conn(id).and_then(|c| c.poll_transmit(now)) {
            let tuple = self.conns[key].tuple;
            for i in 0..transmit.segments {
                let range = transmit.stream_of(i);
                let payload = self.conns[key].send.bytes.copy(&range);
                self.conns[key].send.on_sent(&range);
                let mut segment = transmit.segment(i);
                segment.stamp_departure(HostStamp(now.since_start().as_ns()));
                self.emit(&tuple, &segment, &payload);
            }
            if let Some(conn) = self.endpoint.conn(id) {
                conn.on_transmitted(transmit.id, HostStamp(now.since_start().as_ns()));
            }
        }
        let Some(conn) = self.endpoint.conn(id) else { return };
        let mut newly_established = false;
        let state = &mut self.conns[key];
        while let Some(event) = conn.poll_event() {
            match event {
                Event::Established => newly_established = true,
                Event::Readable { upto } => state.receive.set_readable(upto),
                Event::PeerClosed => state.peer_closed = true,
                Event::Closed(reason) => state.on_closed(reason),
                Event::Writable => {}
            }
        }
        state.send.discard_acked(conn.acked_upto());
        let info = conn.info();
        state.last = Some(info);
        let done = match info.state {
            State::Closed => true,
            // The endpoint's TIME-WAIT table takes over unless an application still holds the
            // socket.
            State::TimeWait => !state.owned_by_app,
            _ => false,
        };
        if newly_established {
            state.established = true;
            if let Some(listener) = state.listener.take() {
                self.enqueue_accept(listener, key);
            }
        }
        if done {
            self.endpoint.release(now, id);
            self.conns[key].id = None;
        }
    }

    /// Puts a connection into the accept queue; aborts it if the listener is gone.
    fn enqueue_accept(&mut self, listener: i32, key: usize) {
        match self.sockets.get_mut(&listener).map(|s| &mut s.kind) {
            Some(SocketKind::Listening { ready, .. }) => ready.push_back(key),
            _ => self.abort(key),
        }
    }

    fn abort(&mut self, key: usize) {
        self.conns[key].owned_by_app = false;
        if let Some(conn) = self.conns[key].id.and_then(|id| self.endpoint.conn(id)) {
            conn.abort();
            self.pump(key);
        }
    }

    fn config_of(socket: &Socket) -> Arc<Config> {
        Arc::new(socket.config.clone())
    }
}
