//! The host stack without its device: packets in, packets out, sockets, time as an argument.
//!
//! Contract: a driver of the transport boundary. [`Stack::handle_packet`] takes any arriving
//! packet; [`Stack::handle_timeouts`] is due at [`Stack::next_timer`]. Both, and [`Stack::flush`]
//! after application calls, put packets to send into a [`TxBatch`]. After every segment the
//! connection is polled at once, so two segments that arrive together are acknowledged as if they
//! had arrived apart.

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

/// Id of a connection of a stack, valid as long as an application or the network holds it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ConnKey(u32);

/// The host stack.
#[derive(Debug)]
pub(crate) struct Stack {
    boundary: RecordedEndpoint,
    addresses: AddressFilter,
    conns: Vec<Option<Conn>>,
    free: Vec<u32>,
    /// The key of each connection of the endpoint.
    by_id: Vec<Option<ConnKey>>,
    listeners: BTreeMap<u16, ListenState>,
    /// Deadlines; at most one per connection.
    timers: Timers,
    budget: Budget,
    orphans: Orphans,
    /// Free chunks for payload.
    pool: ChunkPool,
    /// Scratch space for the connections whose timers are due.
    due: Vec<ConnKey>,
    /// Connections that applications changed since the last flush.
    changed: Vec<ConnKey>,
    counters: StackCounters,
    /// Whether the device takes several segments in one packet (GSO).
    gso: bool,
    /// Why the device failed; every call returns it.
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

    /// Counters of packets and memory so far.
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

    /// Adds a network of ours: the first `prefix` bits of `address`. Its broadcast addresses are
    /// not hosts.
    pub(crate) fn add_network(&mut self, address: IpAddr, prefix: u8) {
        self.addresses.add_network(address, prefix);
    }

    /// Sets the limits of what remote hosts can fill; to be called before there are connections.
    pub(crate) fn set_limits(&mut self, limits: StackLimits) {
        self.budget = Budget::new(limits.memory);
        self.orphans = Orphans::new(limits.orphans);
        self.boundary.set_time_wait_limit(Instant::ZERO, limits.max_time_waits());
    }

    /// Sets whether the device takes several segments in one packet (GSO).
    pub(crate) fn set_gso(&mut self, gso: bool) {
        self.gso = gso;
    }

    /// Counts `n` packets that the device did not take.
    pub(crate) fn count_unsent(&mut self, n: u64) {
        self.counters.unsent += n;
    }

    /// Sets the number of packets that arrived with a partial checksum so far.
    pub(crate) fn set_checksum_partial(&mut self, n: u64) {
        self.counters.checksum_partial = n;
    }

    /// The error of writing the recording, if any.
    pub(crate) fn recording_error(&mut self) -> Option<std::io::Error> {
        self.boundary.recording_error()
    }

    /// Marks the device as failed: every connection and every call ends with the error `why`.
    pub(crate) fn fail(&mut self, why: &str) {
        // Keep the first error: it is the cause.
        self.fatal_error.get_or_insert_with(|| why.into());
        for conn in self.conns.iter().flatten() {
            conn.wait.wake();
        }
        for listener in self.listeners.values() {
            listener.wait.wake();
        }
    }

    /// Whether every connection is closed; those left are in TIME-WAIT or wait for their
    /// application.
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

    /// Removes a connection that neither the network nor an application holds.
    fn forget(&mut self, key: ConnKey) {
        let slot = self.conns.get_mut(key.0 as usize);
        if let Some(slot) = slot
            && let Some(conn) = slot.as_mut().filter(|c| c.id.is_none() && !c.held)
        {
            self.budget.replace(&mut conn.charge, Charge::default());
            self.timers.disarm(key, conn.timer_deadline);
            *slot = None;
            self.free.push(key.0);
        }
    }

    /// Marks a connection that an application changed for the next flush.
    fn mark_changed(&mut self, key: ConnKey) {
        if let Some(conn) = self.get(key)
            && !std::mem::replace(&mut conn.changed, true)
        {
            self.changed.push(key);
        }
    }

    /// Whether application calls have changed connections since the last flush.
    pub(crate) fn wants_flush(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Time at which [`Self::handle_timeouts`] is due. May be early: postponed deadlines stay
    /// queued.
    pub(crate) fn next_timer(&self) -> Option<Instant> {
        self.timers.first()
    }

    /// Fires all timers due at `now`, at most one per connection.
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

    /// Sends data that applications wrote since the last flush.
    pub(crate) fn flush(&mut self, now: Instant, batch: &mut TxBatch) {
        let changed = std::mem::take(&mut self.changed);
        for key in changed {
            if let Some(conn) = self.get(key) {
                conn.changed = false;
                self.pump(now, key, batch);
            }
        }
    }

    /// Adapts a configuration to real packets: ACKs that answer unacceptable empty segments are
    /// always rate-limited. Otherwise two forged segments start an endless exchange of ACKs (RFC
    /// 5961 §7).
    fn config_for(config: &Config) -> Arc<Config> {
        Arc::new(Config { ack_throttle: AckThrottle::Empty, ..config.clone() })
    }
}
