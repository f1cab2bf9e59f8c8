//! All connections of one host: demultiplexing, listeners, initial sequence numbers, the TIME-WAIT
//! table, and RST for what belongs to nobody (RFC 9293 §3.10.7.1, §3.10.7.2).

mod time_wait;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

use lowtide_units::Instant;
use lowtide_wire::{Flags, Segment, SeqNum};

use crate::config::Config;
use crate::connection::Connection;
use crate::event::SegmentError;
use crate::receiver::Accepted;
use crate::state::State;
use time_wait::TimeWaits;

/// Names a connection of one endpoint. A slot is used again after [`Endpoint::release`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnId(pub u32);

/// Both ends of a connection, as this host sees them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FourTuple {
    /// This host's address.
    pub local: IpAddr,
    /// This host's port.
    pub local_port: u16,
    /// The peer's address.
    pub remote: IpAddr,
    /// The peer's port.
    pub remote_port: u16,
}

/// Where an arriving segment went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// To a connection, which took it.
    Taken(ConnId, Accepted),
    /// To a connection, which did not use it but may have something to send.
    Refused(ConnId, SegmentError),
    /// It opened this connection on a listener.
    Opened(ConnId),
    /// To nobody; a RST may wait in [`Endpoint::poll_reply`].
    Stray,
    /// To an old connection in TIME-WAIT; an ACK may wait in [`Endpoint::poll_reply`].
    TimeWait,
    /// A SYN beyond the listener's backlog: dropped without an answer.
    BacklogFull,
}

/// Why a port cannot be listened on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListenError {
    /// Somebody listens there already.
    InUse(u16),
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::InUse(port) = self;
        write!(f, "port {port} is in use: close its listener or choose another port")
    }
}

impl core::error::Error for ListenError {}

/// Why a connection cannot be opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenError {
    /// A connection with the same ends exists, or is in TIME-WAIT.
    InUse(FourTuple),
    /// No ephemeral port is free towards that peer.
    NoPort,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse(t) => {
                write!(f, "port {} to {}:{} is in use", t.local_port, t.remote, t.remote_port)
            }
            Self::NoPort => f.write_str("no ephemeral port is free towards that peer"),
        }
    }
}

impl core::error::Error for OpenError {}

#[derive(Debug)]
struct Listener {
    port: u16,
    config: Arc<Config>,
    backlog: usize,
}

#[derive(Debug)]
struct Slot {
    tuple: FourTuple,
    conn: Connection,
}

/// First port of the dynamic range (RFC 6335 §6).
const EPHEMERAL: u16 = 49_152;

/// All connections of one host.
#[derive(Debug)]
pub struct Endpoint {
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    table: BTreeMap<FourTuple, ConnId>,
    listeners: Vec<Listener>,
    time_waits: TimeWaits,
    replies: VecDeque<(FourTuple, Segment)>,
    random: u64,
    /// What the next connection gets instead of a drawn initial sequence number.
    next_isn: Option<SeqNum>,
    next_port: u16,
}

impl Endpoint {
    /// An endpoint whose sequence numbers, timestamps and ports follow from `seed`.
    ///
    /// The numbers are unpredictable to a peer only as far as the seed is: RFC 6528 is refused by
    /// name until its issue.
    pub fn new(seed: u64) -> Self {
        let mut endpoint = Self {
            slots: Vec::new(),
            free: Vec::new(),
            table: BTreeMap::new(),
            listeners: Vec::new(),
            time_waits: TimeWaits::default(),
            replies: VecDeque::new(),
            random: seed,
            next_isn: None,
            next_port: 0,
        };
        endpoint.next_port = (endpoint.draw() % u64::from(u16::MAX - EPHEMERAL)) as u16;
        endpoint
    }

    /// splitmix64: numbers that differ, not secrets.
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Accepts connections to `port`, at most `backlog` at a time that are not established.
    pub fn listen(
        &mut self,
        port: u16,
        config: Arc<Config>,
        backlog: usize,
    ) -> Result<(), ListenError> {
        if self.listeners.iter().any(|l| l.port == port) {
            return Err(ListenError::InUse(port));
        }
        self.listeners.push(Listener { port, config, backlog });
        Ok(())
    }

    /// Stops accepting connections to `port`; those that exist go on.
    pub fn unlisten(&mut self, port: u16) {
        self.listeners.retain(|l| l.port != port);
    }

    /// Connections that come to `port` from now on get `config`; nothing happens without a listener.
    pub fn reconfigure(&mut self, port: u16, config: Arc<Config>) {
        if let Some(listener) = self.listeners.iter_mut().find(|l| l.port == port) {
            listener.config = config;
        }
    }

    /// Opens a connection. `local_port` zero picks an ephemeral one.
    pub fn connect(
        &mut self,
        now: Instant,
        local: IpAddr,
        local_port: u16,
        remote: IpAddr,
        remote_port: u16,
        config: Arc<Config>,
    ) -> Result<ConnId, OpenError> {
        let mut tuple = FourTuple { local, local_port, remote, remote_port };
        if local_port == 0 {
            tuple.local_port = self.pick_port(now, tuple).ok_or(OpenError::NoPort)?;
        } else if self.is_used(now, &tuple) {
            return Err(OpenError::InUse(tuple));
        }
        let (isn, ts_base) = self.draw_numbers();
        let conn = Connection::connect(config, tuple.local_port, remote_port, isn, ts_base);
        Ok(self.insert(tuple, conn))
    }

    /// The next connection, opened or accepted, starts at `isn`. For tests of what happens near the
    /// wrap of the sequence space; a host never does this.
    pub const fn set_next_isn(&mut self, isn: SeqNum) {
        self.next_isn = Some(isn);
    }

    fn is_used(&self, now: Instant, tuple: &FourTuple) -> bool {
        self.table.contains_key(tuple) || self.time_waits.holds(now, tuple)
    }

    fn pick_port(&mut self, now: Instant, tuple: FourTuple) -> Option<u16> {
        let range = u16::MAX - EPHEMERAL;
        for _ in 0..range {
            self.next_port = (self.next_port + 1) % range;
            let port = EPHEMERAL + self.next_port;
            if !self.is_used(now, &FourTuple { local_port: port, ..tuple }) {
                return Some(port);
            }
        }
        None
    }

    fn draw_numbers(&mut self) -> (SeqNum, u32) {
        let bits = self.draw();
        let drawn = SeqNum::new(bits as u32);
        (self.next_isn.take().unwrap_or(drawn), (bits >> 32) as u32)
    }

    fn insert(&mut self, tuple: FourTuple, conn: Connection) -> ConnId {
        let slot = Some(Slot { tuple, conn });
        let index = self.free.pop().unwrap_or(self.slots.len() as u32);
        match self.slots.get_mut(index as usize) {
            Some(place) => *place = slot,
            None => self.slots.push(slot),
        }
        let id = ConnId(index);
        self.table.insert(tuple, id);
        id
    }

    /// A segment arrived from `remote` for `local`. `hint` is the connection that the driver believes
    /// it belongs to (receive flow steering); a wrong hint costs time and nothing else.
    pub fn handle_segment(
        &mut self,
        now: Instant,
        local: IpAddr,
        remote: IpAddr,
        seg: &Segment,
        hint: Option<ConnId>,
    ) -> Arrival {
        let hinted = hint.filter(|id| {
            self.slot(*id).is_some_and(|s| {
                s.tuple.remote_port == seg.src_port
                    && s.tuple.local_port == seg.dst_port
                    && s.tuple.remote == remote
                    && s.tuple.local == local
            })
        });
        let tuple =
            FourTuple { local, local_port: seg.dst_port, remote, remote_port: seg.src_port };
        let found = hinted.or_else(|| self.table.get(&tuple).copied());
        if let Some(id) = found
            && let Some(conn) = self.conn(id)
        {
            return match conn.handle_segment(now, seg) {
                Ok(accepted) => Arrival::Taken(id, accepted),
                Err(error) => Arrival::Refused(id, error),
            };
        }
        self.unknown(now, tuple, seg)
    }

    fn unknown(&mut self, now: Instant, tuple: FourTuple, seg: &Segment) -> Arrival {
        let opens =
            seg.flags.contains(Flags::SYN) && !seg.flags.intersects(Flags::ACK | Flags::RST);
        if self.time_waits.holds(now, &tuple) {
            if !(opens && self.time_waits.may_reopen(&tuple, seg)) {
                if let Some(reply) = self.time_waits.answer(now, &tuple, seg) {
                    self.replies.push_back((tuple, reply));
                }
                return Arrival::TimeWait;
            }
            self.time_waits.remove(&tuple);
        }
        if seg.flags.contains(Flags::RST) {
            return Arrival::Stray;
        }
        let Some(listener) = self.listeners.iter().find(|l| l.port == tuple.local_port) else {
            self.reset(tuple, seg);
            return Arrival::Stray;
        };
        if !opens {
            if seg.flags.contains(Flags::ACK) {
                self.reset(tuple, seg);
            }
            return Arrival::Stray;
        }
        let (config, backlog) = (Arc::clone(&listener.config), listener.backlog);
        let embryonic = self
            .slots
            .iter()
            .flatten()
            .filter(|s| {
                s.tuple.local_port == tuple.local_port && s.conn.state() == State::SynReceived
            })
            .count();
        if embryonic >= backlog {
            return Arrival::BacklogFull;
        }
        let (isn, ts_base) = self.draw_numbers();
        let conn = Connection::accept(config, now, seg, isn, ts_base);
        Arrival::Opened(self.insert(tuple, conn))
    }

    /// RST for a segment that belongs to nobody (RFC 9293 §3.10.7.1).
    fn reset(&mut self, tuple: FourTuple, seg: &Segment) {
        let mut reply = Segment {
            src_port: tuple.local_port,
            dst_port: tuple.remote_port,
            flags: Flags::RST,
            ..Segment::default()
        };
        if seg.flags.contains(Flags::ACK) {
            reply.seq = seg.ack;
        } else {
            reply.flags |= Flags::ACK;
            reply.ack = seg.seq_end();
        }
        self.replies.push_back((tuple, reply));
    }

    /// The next segment that no connection sends: RST for strangers, ACK out of TIME-WAIT.
    pub fn poll_reply(&mut self) -> Option<(FourTuple, Segment)> {
        self.replies.pop_front()
    }

    fn slot(&self, id: ConnId) -> Option<&Slot> {
        self.slots.get(id.0 as usize)?.as_ref()
    }

    /// A connection.
    pub fn conn(&mut self, id: ConnId) -> Option<&mut Connection> {
        self.slots.get_mut(id.0 as usize)?.as_mut().map(|s| &mut s.conn)
    }

    /// Both ends of a connection.
    pub fn tuple(&self, id: ConnId) -> Option<FourTuple> {
        self.slot(id).map(|s| s.tuple)
    }

    /// The driver is done with a connection. One in TIME-WAIT goes on in a small table; one that is
    /// not over is forgotten, and what still arrives for it is answered with RST.
    pub fn release(&mut self, now: Instant, id: ConnId) {
        let Some(slot) = self.slots.get_mut(id.0 as usize).and_then(Option::take) else { return };
        self.free.push(id.0);
        self.table.remove(&slot.tuple);
        if slot.conn.state() == State::TimeWait {
            self.time_waits.enter(now, slot.tuple, &slot.conn);
        }
    }

    /// Connections that exist, TIME-WAIT table not counted.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// No connection exists.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Entries in the TIME-WAIT table at `now`.
    pub fn time_waits(&mut self, now: Instant) -> usize {
        self.time_waits.len(now)
    }
}
