//! All connections of one host: demultiplexing, listeners, initial sequence numbers, ports, the
//! TIME-WAIT table, and RST for segments without a connection (RFC 9293 §3.10.7.1, §3.10.7.2).

mod cookies;
mod listeners;
mod secrets;
#[cfg(test)]
mod tests;
mod time_wait;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::hint::cold_path;
use core::net::IpAddr;

use lowtide_units::Instant;
use lowtide_wire::{Flags, IpVersion, Segment, SeqNum};

use crate::connection::Connection;
use crate::event::{CloseReason, SegmentError};
use crate::receive::receiver::Accepted;
use crate::settings::config::Config;
use crate::state::State;
use listeners::{Admission, ListenerId, Listeners};
use secrets::Secrets;
use time_wait::{TimeWaitEntry, TimeWaits};

/// Identifies a connection of one endpoint. [`Endpoint::release`] frees the slot for reuse.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnId(pub u32);

/// Addresses and ports of a connection, as this host sees them.
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

impl FourTuple {
    const fn ip_version(&self) -> IpVersion {
        if self.local.is_ipv6() { IpVersion::V6 } else { IpVersion::V4 }
    }
}

/// Outcome of an arriving segment.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Arrival {
    /// A connection accepted it.
    Taken(ConnId, Accepted),
    /// A connection rejected it, but may have something to send.
    Refused(ConnId, SegmentError),
    /// It opened this connection on a listener.
    Opened(ConnId),
    /// No connection or listener matched; a RST may wait in [`Endpoint::poll_reply`].
    Stray,
    /// It matched a connection in TIME-WAIT; an ACK may wait in [`Endpoint::poll_reply`].
    TimeWait,
    /// A SYN beyond the listener's backlog: dropped without a reply.
    BacklogFull,
    /// A SYN beyond the listener's backlog, with `syn-cookies`: no state is kept, and its SYN-ACK
    /// waits in [`Endpoint::poll_reply`].
    Cookie,
    /// It returned a SYN cookie: this connection is open and accepted the rest of the segment.
    Completed(ConnId, Accepted),
}

/// Reason why a port cannot be listened on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ListenError {
    /// The port has a listener already.
    InUse(u16),
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::InUse(port) = self;
        write!(f, "port {port} is in use: close its listener or choose another port")
    }
}

impl core::error::Error for ListenError {}

/// Reason why a connection cannot be opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// A connection with the same four-tuple exists, or is in TIME-WAIT.
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
#[repr(C, align(64))]
struct Slot {
    // Fields in the order of use: first those that every segment touches.
    tuple: FourTuple,
    /// A newer connection with the same four-tuple has replaced it.
    superseded: bool,
    /// The listener whose backlog it occupies.
    embryonic: Option<ListenerId>,
    conn: Connection,
}

/// First port of the dynamic range (RFC 6335 §6).
const EPHEMERAL_MIN: u16 = 49_152;
/// Number of ports in that range.
const EPHEMERAL_PORTS: u64 = (u16::MAX - EPHEMERAL_MIN) as u64 + 1;
/// Minimum distance from the last sequence number of an old incarnation to the ISN of a new one, if
/// the clock has not advanced that far.
const ISN_INCREMENT: u64 = 1 << 16;

/// All connections of one host.
#[derive(Debug)]
#[repr(C)]
pub struct Endpoint {
    // Most segments need only the slots.
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    table: BTreeMap<FourTuple, ConnId>,
    listeners: Listeners,
    time_waits: TimeWaits,
    replies: VecDeque<(FourTuple, Segment)>,
    secrets: Secrets,
    /// The ISN of the next connection, in place of a generated one.
    next_isn: Option<SeqNum>,
    /// Ports assigned so far.
    next_port: u64,
    /// Ports tried to find a free one.
    #[cfg(test)]
    ports_tried: usize,
}

impl Endpoint {
    /// Creates an endpoint whose sequence numbers, timestamps and ports depend on `seed`.
    ///
    /// A peer can predict the numbers only if it can guess the 64-bit seed. A driver on a real
    /// network must draw it from the system's random source.
    pub fn new(seed: u64) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            table: BTreeMap::new(),
            listeners: Listeners::default(),
            time_waits: TimeWaits::new(time_wait::LIMIT),
            replies: VecDeque::new(),
            secrets: Secrets::new(seed),
            next_isn: None,
            next_port: 0,
            #[cfg(test)]
            ports_tried: 0,
        }
    }

    /// Accepts connections to `port`; at most `backlog` of them may be embryonic (not established).
    pub fn listen(
        &mut self,
        port: u16,
        config: Arc<Config>,
        backlog: usize,
    ) -> Result<(), ListenError> {
        self.listeners.open(port, config, backlog)
    }

    /// Stops accepting connections to `port`; existing ones continue.
    pub fn unlisten(&mut self, port: u16) {
        self.listeners.close(port);
    }

    /// Sets the configuration of future connections to `port`; no effect without a listener.
    pub fn reconfigure(&mut self, port: u16, config: Arc<Config>) {
        self.listeners.reconfigure(port, config);
    }

    /// Opens a connection. `local_port` 0 selects an ephemeral port.
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
        let (isn, ts_base) = self.initial_numbers(now, &tuple, &config);
        let conn = Connection::connect(config, tuple.local_port, remote_port, isn, ts_base)
            .with_ip_version(tuple.ip_version());
        Ok(self.insert(tuple, conn, None))
    }

    /// Sets the ISN of the next connection, opened or accepted. For tests near the wrap of the
    /// sequence space; a host never calls it.
    #[doc(hidden)]
    pub const fn set_next_isn(&mut self, isn: SeqNum) {
        self.next_isn = Some(isn);
    }

    /// Sets the numbers of the next connection with `isn = random` or `timestamp-offset = random`.
    /// For tests near the wrap of both; a host never calls it.
    #[doc(hidden)]
    pub fn set_next_draw(&mut self, isn: SeqNum, timestamp_offset: u32) {
        let draw = u64::from(timestamp_offset) << 32 | u64::from(isn.raw());
        self.secrets.next_draw = Some(draw);
    }

    fn is_used(&self, now: Instant, tuple: &FourTuple) -> bool {
        self.table.contains_key(tuple) || self.time_waits.contains(now, tuple)
    }

    /// Algorithm 3 of RFC 6056 (§3.3.3, simple hash-based): one counter, and a secret start offset
    /// for each destination. A port is reused only after all others.
    fn pick_port(&mut self, now: Instant, tuple: FourTuple) -> Option<u16> {
        let offset = self.secrets.port_offset(&tuple) % EPHEMERAL_PORTS;
        for _ in 0..EPHEMERAL_PORTS {
            #[cfg(test)]
            {
                self.ports_tried += 1;
            }
            let port = EPHEMERAL_MIN + ((offset + self.next_port) % EPHEMERAL_PORTS) as u16;
            self.next_port = (self.next_port + 1) % EPHEMERAL_PORTS;
            if !self.is_used(now, &FourTuple { local_port: port, ..tuple }) {
                return Some(port);
            }
        }
        None
    }

    fn initial_numbers(
        &mut self,
        now: Instant,
        tuple: &FourTuple,
        config: &Config,
    ) -> (SeqNum, u32) {
        let (drawn, ts_base) = self.secrets.initial_numbers(now, tuple, config);
        (self.next_isn.take().unwrap_or(drawn), ts_base)
    }

    fn insert(
        &mut self,
        tuple: FourTuple,
        conn: Connection,
        embryonic: Option<ListenerId>,
    ) -> ConnId {
        let slot = Some(Slot { tuple, conn, embryonic, superseded: false });
        let index = self.free.pop().unwrap_or(self.slots.len() as u32);
        match self.slots.get_mut(index as usize) {
            Some(place) => *place = slot,
            None => self.slots.push(slot),
        }
        let id = ConnId(index);
        self.table.insert(tuple, id);
        id
    }

    /// Processes a segment from `remote` to `local`. `hint` is the connection that the driver
    /// expects (receive flow steering); a wrong hint only costs time.
    pub fn handle_segment(
        &mut self,
        now: Instant,
        local: IpAddr,
        remote: IpAddr,
        seg: &Segment,
        hint: Option<ConnId>,
    ) -> Arrival {
        if let Some(id) = hint
            && self.slot(id).is_some_and(|slot| slot.tuple.local == local)
            && let Some(conn) = self.steered(id, remote, seg)
        {
            return match conn.handle_segment(now, seg) {
                Ok(accepted) => Arrival::Taken(id, accepted),
                Err(error) => {
                    cold_path();
                    Arrival::Refused(id, error)
                }
            };
        }
        cold_path();
        let tuple =
            FourTuple { local, local_port: seg.dst_port, remote, remote_port: seg.src_port };
        self.find_and_handle(now, tuple, seg)
    }

    /// The connection `id`, if [`Self::handle_segment`] with this hint would pass `seg` to it and
    /// nothing else would change. A driver that calls the connection itself looks it up only once.
    /// The host has one address.
    #[doc(hidden)]
    #[inline]
    pub fn steered(
        &mut self,
        id: ConnId,
        remote: IpAddr,
        seg: &Segment,
    ) -> Option<&mut Connection> {
        let slot = self.slot_mut(id)?;
        let tuple = &slot.tuple;
        let takes = !seg.flags.contains(Flags::SYN)
            && !slot.superseded
            && slot.embryonic.is_none()
            && tuple.remote_port == seg.src_port
            && tuple.local_port == seg.dst_port
            && tuple.remote == remote;
        takes.then_some(&mut slot.conn)
    }

    /// [`Self::handle_segment`] by table lookup: for SYNs and for segments without a valid hint.
    #[inline(never)]
    fn find_and_handle(&mut self, now: Instant, tuple: FourTuple, seg: &Segment) -> Arrival {
        let id = self.table.get(&tuple).copied();
        let opens =
            seg.flags.contains(Flags::SYN) && !seg.flags.intersects(Flags::ACK | Flags::RST);
        let Some((id, slot)) = id.and_then(|id| self.slot(id).map(|slot| (id, slot))) else {
            return self.handle_unmatched(now, tuple, seg, opens);
        };
        if opens && slot.conn.state() == State::TimeWait {
            let old = TimeWaitEntry::of(&slot.conn);
            if let Some(beyond) = self.reopens(&old, seg) {
                let arrival = self.open(now, tuple, seg, Some(beyond));
                if matches!(arrival, Arrival::Opened(_))
                    && let Some(slot) = self.slot_mut(id)
                {
                    slot.conn.end(CloseReason::Normal);
                    slot.superseded = true;
                }
                return arrival;
            }
        }
        self.handle_on_connection(now, id, seg)
    }

    fn handle_on_connection(&mut self, now: Instant, id: ConnId, seg: &Segment) -> Arrival {
        let Some(slot) = self.slot_mut(id) else { return Arrival::Stray };
        let result = slot.conn.handle_segment(now, seg);
        if slot.conn.state() != State::SynReceived
            && let Some(listener) = slot.embryonic.take()
        {
            let port = slot.tuple.local_port;
            self.listeners.leave_backlog(port, listener);
        }
        match result {
            Ok(accepted) => Arrival::Taken(id, accepted),
            Err(error) => Arrival::Refused(id, error),
        }
    }

    #[cold]
    #[inline(never)]
    fn handle_unmatched(
        &mut self,
        now: Instant,
        tuple: FourTuple,
        seg: &Segment,
        opens: bool,
    ) -> Arrival {
        let old = self.time_waits.get(now, &tuple);
        let waits = old.is_some();
        let beyond = old.filter(|_| opens).and_then(|old| self.reopens(old, seg));
        if waits && beyond.is_none() {
            if let Some(reply) = self.time_waits.reply_to(now, &tuple, seg) {
                self.replies.push_back((tuple, reply));
            }
            return Arrival::TimeWait;
        }
        if seg.flags.contains(Flags::RST) {
            return Arrival::Stray;
        }
        if !opens {
            if let Some(arrival) = self.complete_cookie(now, tuple, seg) {
                return arrival;
            }
            // A segment to a listener gets a RST only if ACK is set (RFC 9293 §3.10.7.2).
            if seg.flags.contains(Flags::ACK) || self.listeners.config(tuple.local_port).is_none() {
                self.reply_with_rst(tuple, seg);
            }
            return Arrival::Stray;
        }
        let arrival = self.open(now, tuple, seg, beyond);
        if matches!(arrival, Arrival::Opened(_)) {
            self.time_waits.remove(&tuple);
        }
        arrival
    }

    /// Checks whether the SYN `seg` ends the TIME-WAIT of `old`. If so, returns the sequence number
    /// that the new ISN must exceed.
    fn reopens(&self, old: &TimeWaitEntry, seg: &Segment) -> Option<SeqNum> {
        let config = self.listeners.config(seg.dst_port)?;
        let stamp = seg.options.timestamps.filter(|_| config.timestamps).map(|t| t.value);
        old.reopens(seg.seq, stamp)
    }

    /// Processes a SYN without a connection.
    #[cold]
    #[inline(never)]
    fn open(
        &mut self,
        now: Instant,
        tuple: FourTuple,
        seg: &Segment,
        beyond: Option<SeqNum>,
    ) -> Arrival {
        let (listener, config) = match self.listeners.admit(tuple.local_port) {
            Admission::Admitted(listener, config) => (listener, config),
            // The number in a cookie cannot be forced beyond that of an old connection.
            Admission::Cookie(config) if beyond.is_none() => {
                return self.send_cookie(now, tuple, seg, config);
            }
            Admission::Full | Admission::Cookie(_) => return Arrival::BacklogFull,
            Admission::NoListener => {
                self.reply_with_rst(tuple, seg);
                return Arrival::Stray;
            }
        };
        let (isn, ts_base) = self.initial_numbers(now, &tuple, &config);
        let isn = match beyond {
            Some(last) if !last.before(isn) => last.add(ISN_INCREMENT),
            _ => isn,
        };
        let conn =
            Connection::accept(config, now, seg, isn, ts_base).with_ip_version(tuple.ip_version());
        Arrival::Opened(self.insert(tuple, conn, Some(listener)))
    }

    /// Queues a RST for a segment without a connection (RFC 9293 §3.10.7.1).
    #[cold]
    #[inline(never)]
    fn reply_with_rst(&mut self, tuple: FourTuple, seg: &Segment) {
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

    /// Returns the next segment that no connection sends: a RST, an ACK from TIME-WAIT, or a
    /// SYN-ACK with a cookie.
    pub fn poll_reply(&mut self) -> Option<(FourTuple, Segment)> {
        self.replies.pop_front()
    }

    fn slot(&self, id: ConnId) -> Option<&Slot> {
        self.slots.get(id.0 as usize)?.as_ref()
    }

    fn slot_mut(&mut self, id: ConnId) -> Option<&mut Slot> {
        self.slots.get_mut(id.0 as usize)?.as_mut()
    }

    /// The connection `id`.
    #[inline]
    pub fn conn(&mut self, id: ConnId) -> Option<&mut Connection> {
        self.slot_mut(id).map(|s| &mut s.conn)
    }

    /// Finds the connection of a four-tuple, unless it is in the TIME-WAIT table.
    pub fn find(&self, tuple: &FourTuple) -> Option<ConnId> {
        self.table.get(tuple).copied()
    }

    /// The four-tuple of a connection.
    pub fn tuple(&self, id: ConnId) -> Option<FourTuple> {
        self.slot(id).map(|s| s.tuple)
    }

    /// Releases a connection that the driver no longer needs. One in TIME-WAIT continues in a small
    /// table. One that is not closed is discarded; its later segments are answered with RST.
    pub fn release(&mut self, now: Instant, id: ConnId) {
        let Some(slot) = self.slots.get_mut(id.0 as usize).and_then(Option::take) else { return };
        self.free.push(id.0);
        if let Some(listener) = slot.embryonic {
            self.listeners.leave_backlog(slot.tuple.local_port, listener);
        }
        if slot.superseded {
            return;
        }
        self.table.remove(&slot.tuple);
        if slot.conn.state() == State::TimeWait {
            self.time_waits.enter(now, slot.tuple, TimeWaitEntry::of(&slot.conn));
        }
    }

    /// Number of connections, without the TIME-WAIT table.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns whether there is no connection.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }
}
