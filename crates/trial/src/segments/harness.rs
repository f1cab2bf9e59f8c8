//! One endpoint and its adversarial peers.

use lowtide_output::streams;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use lowtide_tcp::{Arrival, Config, ConnId, Connection, EcnMode, Endpoint, FourTuple, State};
use lowtide_units::{Duration, HostStamp, Instant};
use lowtide_wire::{Flags, Segment, SeqNum, Timestamps};

use super::config;
use super::craft::{self, PEER_MSS};
use super::invariants::Invariants;
use super::peer_state::PeerState;
use crate::fuzz_input::FuzzInput;

const LOCAL_ADDR: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const REMOTE_ADDR: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const LISTEN_PORT: u16 = 80;
/// Maximum number of bytes that an application writes, as operations matter, not volume.
const MAX_WRITTEN: u64 = 30_000;
/// Maximum number of times that an application may fill its buffer.
const MAX_BUFFER_FILLS: u64 = 1_000;

/// A pair of ports with its current connection.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) ports: (u16, u16),
    pub(super) id: Option<ConnId>,
    pub(super) state: PeerState,
    pub(super) invariants: Invariants,
    /// SYN-ACKs with a cookie; a connection that completes one never sends it itself.
    cookies: Vec<Segment>,
}

#[derive(Debug)]
pub(super) struct Harness {
    pub(super) now: Instant,
    pub(super) host: Endpoint,
    pub(super) config: Arc<Config>,
    pub(super) peers: Vec<Peer>,
    trace: bool,
}

impl Harness {
    pub(super) fn new(draw: &mut FuzzInput<'_>) -> Self {
        let config = Arc::new(config::config(draw));
        let mut host = Endpoint::new(draw.u64());
        let backlog = draw.range(0, 3) as usize;
        host.listen(LISTEN_PORT, config.clone(), backlog).expect("the first listener");
        // The first peer has a connection that opens actively, the others a listener.
        let peers = [(1000, 5000), (LISTEN_PORT, 5001), (LISTEN_PORT, 5002)].map(|ports| Peer {
            ports,
            id: None,
            state: PeerState::new(SeqNum::new(draw.u32())),
            invariants: Invariants::default(),
            cookies: Vec::new(),
        });
        let trace = std::env::var_os("LOWTIDE_TRACE").is_some();
        if trace {
            streams::note(format_args!("{config:#?}"));
        }
        let mut stage = Self { now: Instant::ZERO, host, config, peers: peers.into(), trace };
        if draw.flip() {
            stage.connect(0);
        } else {
            stage.handshake(1, draw);
        }
        stage
    }

    pub(super) fn choose_peer(&self, draw: &mut FuzzInput<'_>) -> usize {
        let wanted = draw.byte();
        // Usually one that has a connection.
        let alive = self.peers.iter().position(|p| p.id.is_some());
        match (wanted & 3, alive) {
            (0 | 1, Some(first)) => first,
            (n, _) => usize::from(n) % self.peers.len(),
        }
    }

    /// Prints an operation if tracing is on.
    pub(super) fn trace_operation(&self, peer: usize, operation: u8) {
        if self.trace {
            streams::note(format_args!("{:?} {peer} operation {operation}", self.now));
        }
    }

    fn conn(&mut self, peer: usize) -> Option<&mut Connection> {
        self.host.conn(self.peers[peer].id?)
    }

    pub(super) fn segment(&mut self, peer: usize, draw: &mut FuzzInput<'_>) {
        let p = &self.peers[peer];
        let segment = craft::segment(draw, &p.state, p.ports);
        self.deliver(peer, &segment);
    }

    /// A segment of an honest peer: in order, acknowledging everything.
    pub(super) fn honest_segment(&self, peer: usize, flags: Flags) -> Segment {
        let p = &self.peers[peer];
        let mut segment = Segment {
            src_port: p.ports.1,
            dst_port: p.ports.0,
            seq: p.state.rcv_nxt,
            ack: p.state.snd_max,
            flags: flags | Flags::ACK,
            window: u16::MAX,
            ..Segment::default()
        };
        if p.state.accecn && !flags.contains(Flags::SYN) {
            // It has received no mark.
            segment.flags = segment.flags.with_ace(5);
        }
        if p.state.timestamps {
            let value = p.state.ts_echo.wrapping_add(1);
            segment.options.timestamps = Some(Timestamps { value, echo: p.state.ts_value });
        }
        segment
    }

    pub(super) fn honest_ack(&mut self, peer: usize) {
        let segment = self.honest_segment(peer, Flags::NONE);
        self.deliver(peer, &segment);
    }

    pub(super) fn honest_data(&mut self, peer: usize, draw: &mut FuzzInput<'_>) {
        let mut segment = self.honest_segment(peer, Flags::PSH);
        segment.payload_len = PEER_MSS as u32;
        segment.ecn = lowtide_wire::Ecn::from_bits(draw.byte());
        for _ in 0..draw.range(1, 4) {
            self.deliver(peer, &segment);
            segment.seq = segment.seq.add(PEER_MSS);
        }
    }

    pub(super) fn honest_fin(&mut self, peer: usize) {
        let segment = self.honest_segment(peer, Flags::FIN);
        self.deliver(peer, &segment);
    }

    /// Segment that opens a connection: a SYN or SYN-ACK.
    pub(super) fn handshake(&mut self, peer: usize, draw: &mut FuzzInput<'_>) {
        let have = draw.byte();
        let waiting = self.conn(peer).is_some_and(|c| c.state() == State::SynSent);
        let mut syn = self.honest_segment(peer, Flags::SYN);
        syn.seq = self.peers[peer].state.irs;
        if !waiting {
            syn.flags = Flags::SYN;
            syn.ack = SeqNum::new(0);
        }
        if have & 1 == 0 {
            syn.options.window_scale = Some(have >> 5);
        }
        if have & 2 == 0 {
            syn.options.mss = Some(if have & 64 == 0 { 1460 } else { PEER_MSS as u16 });
        }
        syn.options.sack_permitted = have & 4 == 0;
        let stamps = Timestamps { value: 1, echo: self.peers[peer].state.ts_value };
        syn.options.timestamps = (have & 8 == 0).then_some(stamps);
        if have & 16 == 0 {
            // AccECN if the host supports it, for some inputs: the SYN arrived without ECT.
            let accurate = have & 32 == 0 && self.config.ecn.accepts_accecn();
            syn.flags = syn.flags.with_ace(match (waiting, accurate) {
                (true, false) => 0b001,
                (true, true) => 0b010,
                (false, false) => 0b011,
                (false, true) => 0b111,
            });
        }
        self.deliver(peer, &syn);
        self.poll_all();
        self.honest_ack(peer);
    }

    pub(super) fn deliver(&mut self, peer: usize, segment: &Segment) {
        // The hint names any connection, possibly a wrong one.
        let hint = Some(ConnId(u32::from(segment.window) % 3));
        let arrival = self.host.handle_segment(self.now, LOCAL_ADDR, REMOTE_ADDR, segment, hint);
        if self.trace {
            streams::note(format_args!("{:?} {peer} < {}: {arrival:?}", self.now, brief(segment)));
        }
        match arrival {
            Arrival::Taken(id, accepted) => {
                assert_eq!(self.peers[peer].id, Some(id), "the segment went to another connection");
                self.on_arrival(peer, segment, Some(&accepted));
            }
            Arrival::Refused(id, _) => {
                assert_eq!(self.peers[peer].id, Some(id), "the segment went to another connection");
                self.on_arrival(peer, segment, None);
            }
            Arrival::Opened(id) => {
                if let Some(old) = self.peers[peer].id.replace(id) {
                    self.superseded(peer, old);
                }
                self.peers[peer].invariants = Invariants::default();
                self.on_arrival(peer, segment, Some(&lowtide_tcp::Accepted::default()));
            }
            Arrival::Completed(id, accepted) => {
                let old = self.peers[peer].id.replace(id);
                assert!(old.is_none(), "the peer has a connection");
                let Peer { invariants, cookies, .. } = &mut self.peers[peer];
                *invariants = Invariants::default();
                let own = cookies.iter().find(|c| c.seq.add(1) == segment.ack);
                invariants.on_cookie(own.expect("the ACK of a cookie"), segment.seq);
                self.on_arrival(peer, segment, Some(&accepted));
            }
            // A SYN may match a connection in TIME-WAIT that it would supersede while the backlog
            // is full.
            Arrival::BacklogFull => {}
            // Stray, TIME-WAIT, cookie.
            _ => {
                assert!(self.peers[peer].id.is_none(), "{arrival:?}: the peer has a connection");
            }
        }
        let reset = segment.flags.contains(Flags::RST);
        for answers in 0.. {
            let Some((tuple, reply)) = self.host.poll_reply() else { break };
            assert!(answers < 1 && !reset, "{reply:?} in answer to {segment:?}");
            self.on_reply(peer, &tuple, &reply);
        }
        self.poll(peer);
    }

    /// A new connection superseded one in TIME-WAIT, which has ended.
    fn superseded(&mut self, peer: usize, old: ConnId) {
        assert!(self.peers[peer].invariants.reason.is_some(), "superseded before its end");
        let conn = self.host.conn(old).expect("it was not released");
        assert_eq!(conn.state(), State::Closed);
        assert!(conn.poll_transmit(self.now).is_none() && conn.poll_event().is_none());
        assert_eq!(conn.poll_timeout(), None);
        self.host.release(self.now, old);
    }

    fn on_reply(&mut self, peer: usize, tuple: &FourTuple, reply: &Segment) {
        let p = &mut self.peers[peer];
        assert_eq!((tuple.local_port, tuple.remote_port), p.ports);
        assert_eq!((reply.src_port, reply.dst_port), p.ports);
        assert_eq!(reply.payload_len, 0);
        if reply.flags.contains(Flags::SYN) {
            p.cookies.push(*reply);
        }
        p.state.on_segment(reply);
    }

    fn on_arrival(
        &mut self,
        peer: usize,
        segment: &Segment,
        accepted: Option<&lowtide_tcp::Accepted>,
    ) {
        let p = &mut self.peers[peer];
        let Some(conn) = p.id.and_then(|id| self.host.conn(id)) else { return };
        p.invariants.on_segment(segment, accepted, conn);
    }

    /// Polls the connection, as the driver must after each call.
    pub(super) fn poll(&mut self, peer: usize) {
        let p = &mut self.peers[peer];
        let Some(conn) = p.id.and_then(|id| self.host.conn(id)) else { return };
        for round in 0.. {
            assert!(round < 1000, "it does not become idle");
            let mut busy = false;
            for sent in 0_u64.. {
                let Some(t) = conn.poll_transmit(self.now) else { break };
                assert!(sent <= 1000 + 2 * p.invariants.written, "it never stops sending");
                conn.on_transmitted(t.id, HostStamp(self.now.as_ps() / 1000));
                if self.trace {
                    streams::note(format_args!(
                        "{:?} {peer} > {} x{}",
                        self.now,
                        brief(&t.header),
                        t.segments
                    ));
                }
                p.invariants.on_transmit(&t, conn);
                for i in 0..t.segments {
                    p.state.on_segment(&t.segment(i));
                }
                busy = true;
            }
            while let Some(event) = conn.poll_event() {
                if self.trace {
                    streams::note(format_args!("{:?} {peer} {event:?}", self.now));
                }
                p.invariants.on_event(event);
                busy = true;
            }
            if conn.poll_timeout().is_some_and(|at| at <= self.now) {
                conn.handle_timeout(self.now);
                busy = true;
            }
            if !busy {
                break;
            }
        }
        p.state.accecn = conn.info().ecn == EcnMode::AccEcn;
        p.invariants.check_idle(self.now, conn);
    }

    pub(super) fn poll_all(&mut self) {
        for peer in 0..self.peers.len() {
            self.poll(peer);
        }
        let live = self.peers.iter().filter(|p| p.id.is_some()).count();
        assert_eq!(self.host.len(), live, "unknown connections");
    }

    pub(super) fn timer(&mut self) -> Option<Instant> {
        let ids: Vec<ConnId> = self.peers.iter().filter_map(|p| p.id).collect();
        ids.into_iter().filter_map(|id| self.host.conn(id)?.poll_timeout()).min()
    }

    /// Advances to the next timer, if there is one.
    pub(super) fn next_timer(&mut self) {
        if let Some(at) = self.timer().filter(|at| *at < super::LATEST) {
            self.now = self.now.max(at);
            self.poll_all();
        }
    }

    /// Advances time without polling the timers in between, as a late driver does.
    pub(super) fn wait(&mut self, pause: Duration) {
        self.now += pause;
        self.poll_all();
    }

    pub(super) fn write(&mut self, peer: usize, bytes: u64) {
        let buffer = self.config.send_buffer.as_u64();
        let most = MAX_WRITTEN.min(buffer.saturating_mul(MAX_BUFFER_FILLS));
        let left = most.saturating_sub(self.peers[peer].invariants.written);
        let bytes = bytes.min(left);
        let closing = self.peers[peer].invariants.closed;
        if let Some(conn) = self.conn(peer) {
            conn.send(bytes);
            let space = conn.send_space();
            assert!(space <= conn.config().send_buffer.as_u64());
            if !closing {
                self.peers[peer].invariants.written += bytes;
            }
        }
    }

    pub(super) fn read(&mut self, peer: usize, most: u64) {
        let watch = &mut self.peers[peer].invariants;
        let bytes = most.min(watch.readable - watch.read);
        if let Some(conn) = self.peers[peer].id.and_then(|id| self.host.conn(id)) {
            conn.read(bytes);
            self.peers[peer].invariants.read += bytes;
        }
    }

    pub(super) fn close(&mut self, peer: usize) {
        if let Some(conn) = self.conn(peer) {
            conn.close();
            self.peers[peer].invariants.closed = true;
        }
    }

    pub(super) fn abort(&mut self, peer: usize) {
        if let Some(conn) = self.conn(peer) {
            conn.abort();
        }
    }

    pub(super) fn release(&mut self, peer: usize) {
        if let Some(id) = self.peers[peer].id.take() {
            self.host.release(self.now, id);
            assert!(self.host.conn(id).is_none());
        }
    }

    /// Opens the first pair of ports actively, if it has no connection.
    pub(super) fn connect(&mut self, peer: usize) {
        let p = &self.peers[peer];
        let (local, remote) = p.ports;
        if p.id.is_some() || local == LISTEN_PORT {
            return;
        }
        let config = self.config.clone();
        let opened = self.host.connect(self.now, LOCAL_ADDR, local, REMOTE_ADDR, remote, config);
        if let Ok(id) = opened {
            self.peers[peer].id = Some(id);
            self.peers[peer].invariants = Invariants::default();
            self.poll(peer);
        }
    }
}

/// Formats a segment in one line.
fn brief(seg: &Segment) -> String {
    let o = &seg.options;
    let stamps = o.timestamps.map_or(String::new(), |t| format!(" ts {} {}", t.value, t.echo));
    let sack = o.sack.as_slice();
    format!(
        "{:?} {:?}+{} ack {:?} win {}{stamps} {sack:?} {:?}",
        seg.flags, seg.seq, seg.payload_len, seg.ack, seg.window, seg.ecn
    )
}
