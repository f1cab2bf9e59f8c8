//! The host without its device: packets in, packets out, sockets in between, time as an argument.
//!
//! Contract: a driver of the transport boundary. [`Stack::inject`] takes what arrives, whatever it is;
//! [`Stack::fire`] is due at [`Stack::next_timer`]; both, and [`Stack::flush`] after calls of applications, put
//! what is to be sent into a [`TxBatch`]. After every segment the connection is asked at once what it has to say:
//! two that arrive together are acknowledged as if they had come apart.

mod addresses;
mod batch;
mod budget;
mod calls;
mod conn;
mod counters;
mod input;
mod listener;
mod memory;
mod orphans;
mod output;
#[cfg(test)]
mod tests;
mod timers;
mod wait_queue;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use lowtide_payload::ChunkPool;
use lowtide_tcp::{AckThrottle, Config, Connection};
use lowtide_units::Instant;

use crate::record_replay::RecordedEndpoint;
use addresses::AddressFilter;
use budget::{Budget, Charge};
use conn::Conn;
use listener::ListenState;
use orphans::Orphans;
use timers::Timers;

pub(crate) use batch::TxBatch;
pub use conn::{ConnInfo, Readiness};
pub use counters::StackCounters;
pub(crate) use memory::StackLimits;
pub(crate) use wait_queue::{ReadySet, WaitQueue};

/// Names a connection of a stack for as long as an application or the network holds it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ConnKey(u32);

/// A host.
#[derive(Debug)]
pub(crate) struct Stack {
    boundary: RecordedEndpoint,
    addresses: AddressFilter,
    conns: Vec<Option<Conn>>,
    free: Vec<u32>,
    /// The key of each connection of the endpoint.
    by_id: Vec<Option<ConnKey>>,
    listeners: BTreeMap<u16, ListenState>,
    /// At most one deadline of each connection.
    timers: Timers,
    budget: Budget,
    orphans: Orphans,
    /// Memory of payload that was read, for what comes next.
    pool: ChunkPool,
    /// Room for those that are due at one time.
    due: Vec<ConnKey>,
    /// Connections that applications have changed since the last flush.
    changed: Vec<ConnKey>,
    counters: StackCounters,
    /// The device takes several segments in one packet.
    gso: bool,
    /// Why nothing works any more.
    fatal_error: Option<Arc<str>>,
}

impl Stack {
    pub(crate) fn new(boundary: RecordedEndpoint, locals: Vec<IpAddr>) -> Self {
        let limits = StackLimits::default();
        Self {
            boundary,
            addresses: AddressFilter::new(locals),
            budget: Budget::new(limits.memory),
            orphans: Orphans::new(limits.orphans),
            pool: ChunkPool::default(),
            conns: Vec::new(),
            free: Vec::new(),
            by_id: Vec::new(),
            listeners: BTreeMap::new(),
            timers: Timers::default(),
            due: Vec::new(),
            changed: Vec::new(),
            counters: StackCounters::default(),
            gso: false,
            fatal_error: None,
        }
    }

    /// What happened to packets so far.
    pub(crate) fn counters(&self) -> StackCounters {
        let held = self.conns.iter().flatten();
        StackCounters {
            connections: self.boundary.connections(),
            buffer_memory: held.map(|c| (c.send.memory() + c.receive.memory()) as u64).sum(),
            memory: self.budget.used() as u64,
            memory_pressures: self.budget.pressure_events(),
            orphans: self.orphans.len() as u64,
            ..self.counters
        }
    }

    /// One of our networks, of which `address` has `prefix` bits: its broadcast addresses are no hosts.
    pub(crate) fn add_network(&mut self, address: IpAddr, prefix: u8) {
        self.addresses.add_network(address, prefix);
    }

    /// Bounds what strangers may fill; to be said before there are connections.
    pub(crate) fn set_limits(&mut self, limits: StackLimits) {
        self.budget = Budget::new(limits.memory);
        self.orphans = Orphans::new(limits.orphans);
        self.boundary.set_time_wait_limit(Instant::ZERO, limits.max_time_waits());
    }

    /// Whether the device takes several segments in one packet.
    pub(crate) fn set_gso(&mut self, several: bool) {
        self.gso = several;
    }

    /// So many packets were not taken by the device.
    pub(crate) fn count_unsent(&mut self, n: u64) {
        self.counters.unsent += n;
    }

    /// So many packets came unfinished so far.
    pub(crate) fn set_checksum_partial(&mut self, n: u64) {
        self.counters.checksum_partial = n;
    }

    /// The tape could not be written, if so.
    pub(crate) fn recording_error(&mut self) -> Option<std::io::Error> {
        self.boundary.recording_error()
    }

    /// The device is gone: every connection and every call ends with this.
    pub(crate) fn fail(&mut self, why: &str) {
        // The first reason is the one that counts.
        self.fatal_error.get_or_insert_with(|| why.into());
        for conn in self.conns.iter().flatten() {
            conn.wait.wake();
        }
        for listener in self.listeners.values() {
            listener.wait.wake();
        }
    }

    /// No connection is in the middle of anything: what is left waits in TIME-WAIT or for its application.
    pub(crate) fn all_closed(&self) -> bool {
        self.conns.iter().flatten().all(|c| c.id.is_none() || c.close_reason.is_some())
    }

    fn get(&mut self, key: ConnKey) -> Option<&mut Conn> {
        self.conns.get_mut(key.0 as usize)?.as_mut()
    }

    fn insert(&mut self, conn: Conn) -> ConnKey {
        let id = conn.id;
        let key = if let Some(index) = self.free.pop() {
            self.conns[index as usize] = Some(conn);
            ConnKey(index)
        } else {
            self.conns.push(Some(conn));
            ConnKey(self.conns.len() as u32 - 1)
        };
        if let Some(id) = id {
            let index = id.0 as usize;
            if self.by_id.len() <= index {
                self.by_id.resize(index + 1, None);
            }
            self.by_id[index] = Some(key);
        }
        self.charge(key);
        key
    }

    /// Forgets a connection that neither the network nor an application holds.
    fn forget(&mut self, key: ConnKey) {
        let place = self.conns.get_mut(key.0 as usize);
        if let Some(place) = place
            && let Some(conn) = place.as_mut().filter(|c| c.id.is_none() && !c.held)
        {
            self.budget.replace(&mut conn.charge, Charge::default());
            self.timers.disarm(key, conn.timer_deadline);
            *place = None;
            self.free.push(key.0);
        }
    }

    /// An application changed it: to be looked at with the next flush.
    fn mark_changed(&mut self, key: ConnKey) {
        if let Some(conn) = self.get(key)
            && !std::mem::replace(&mut conn.changed, true)
        {
            self.changed.push(key);
        }
    }

    /// What applications have asked for waits to be sent.
    pub(crate) fn wants_flush(&self) -> bool {
        !self.changed.is_empty()
    }

    /// When [`Self::fire`] is due. A deadline that was put off since is still in here.
    pub(crate) fn next_timer(&self) -> Option<Instant> {
        self.timers.first()
    }

    /// The time is `now`: every timer that is due fires, each connection's once.
    pub(crate) fn handle_timeouts(&mut self, now: Instant, batch: &mut TxBatch) {
        let mut due = std::mem::take(&mut self.due);
        while let Some(key) = self.timers.pop_due(now) {
            if let Some(conn) = self.get(key) {
                conn.timer_deadline = Instant::FAR_FUTURE;
                due.push(key);
            }
        }
        for key in due.drain(..) {
            let Some(conn) = self.get(key) else { continue };
            let (Some(id), given_up) = (conn.id, conn.orphaned_until <= now) else { continue };
            if given_up {
                self.counters.orphans_reset += 1;
                self.boundary.abort(now, id);
            } else if self
                .boundary
                .inspect(id, Connection::poll_timeout)
                .flatten()
                .is_some_and(|t| t <= now)
            {
                self.boundary.handle_timeout(now, id);
            }
            self.pump(now, key, batch);
        }
        self.due = due;
    }

    /// Sends what applications have asked for.
    pub(crate) fn flush(&mut self, now: Instant, batch: &mut TxBatch) {
        let changed = std::mem::take(&mut self.changed);
        for key in changed {
            if let Some(conn) = self.get(key) {
                conn.changed = false;
                self.pump(now, key, batch);
            }
        }
    }

    /// The settings on real packets. ACKs in answer to unacceptable empty segments are always limited: else
    /// two forged segments make both ends answer each other's answers for ever (RFC 5961 §7).
    fn config_for(config: &Config) -> Arc<Config> {
        Arc::new(Config { ack_throttle: AckThrottle::Empty, ..config.clone() })
    }
}
