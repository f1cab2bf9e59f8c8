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

use lowtide_sockets::{ConnKey, Sockets};
use lowtide_tcp::{AckThrottle, Config, Endpoint};
use lowtide_units::Instant;

use addresses::AddressFilter;
use budget::{Budget, Charge};
use conn::{Conn, DriverState};
use listener::ListenState;
use orphans::Orphans;
use timers::Timers;

pub(crate) use batch::TxBatch;
pub use conn::Readiness;
pub use counters::StackCounters;
pub(crate) use memory::StackLimits;
pub(crate) use wait_queue::{ReadySet, WaitQueue};

/// The host stack.
#[derive(Debug)]
pub(crate) struct Stack {
    sockets: Sockets<DriverState>,
    addresses: AddressFilter,
    listeners: BTreeMap<u16, ListenState>,
    /// Deadlines; at most one per connection.
    timers: Timers,
    budget: Budget,
    orphans: Orphans,
    /// Scratch space for the connections whose timers are due.
    due: Vec<ConnKey>,
    /// Connections that applications changed since the last flush.
    changed: Vec<ConnKey>,
    counters: StackCounters,
    /// Whether the device takes several segments in one packet (GSO).
    gso: bool,
    /// Hosts that acknowledged new data since [`Self::take_progressed`], without immediate repeats;
    /// `None` if the device does not ask.
    progressed: Option<Vec<IpAddr>>,
    /// Why the device failed; every call returns it.
    fatal_error: Option<Arc<str>>,
}

impl Stack {
    pub(crate) fn new(endpoint: Endpoint, locals: Vec<IpAddr>) -> Self {
        let limits = StackLimits::default();
        Self {
            sockets: Sockets::new(endpoint),
            addresses: AddressFilter::new(locals),
            budget: Budget::new(limits.memory),
            orphans: Orphans::new(limits.orphans),
            listeners: BTreeMap::new(),
            timers: Timers::default(),
            due: Vec::new(),
            changed: Vec::new(),
            counters: StackCounters::default(),
            gso: false,
            progressed: None,
            fatal_error: None,
        }
    }

    /// Counters of packets and memory so far.
    pub(crate) fn counters(&self) -> StackCounters {
        let conns = self.sockets.iter();
        StackCounters {
            connections: self.sockets.connections(),
            buffer_memory: conns.map(|c| (c.send.memory() + c.receive.memory()) as u64).sum(),
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
        self.sockets.endpoint().set_time_wait_limit(limits.max_time_waits());
    }

    /// Sets whether the device takes several segments in one packet (GSO).
    pub(crate) fn set_gso(&mut self, gso: bool) {
        self.gso = gso;
    }

    /// Sets whether [`Self::take_progressed`] returns hosts.
    pub(crate) fn set_report_progress(&mut self, on: bool) {
        self.progressed = on.then(Vec::new);
    }

    /// Hosts that acknowledged new data since the last call: packets reach them.
    pub(crate) fn take_progressed(&mut self) -> Vec<IpAddr> {
        self.progressed.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Counts `n` packets that the device did not take.
    pub(crate) fn count_unsent(&mut self, n: u64) {
        self.counters.unsent += n;
    }

    /// Sets the number of packets that arrived with a partial checksum so far.
    pub(crate) fn set_checksum_partial(&mut self, n: u64) {
        self.counters.checksum_partial = n;
    }

    /// Marks the device as failed: every connection and every call ends with the error `why`.
    pub(crate) fn fail(&mut self, why: &str) {
        // Keep the first error: it is the cause.
        self.fatal_error.get_or_insert_with(|| why.into());
        for conn in self.sockets.iter() {
            conn.driver.wait.wake();
        }
        for listener in self.listeners.values() {
            listener.wait.wake();
        }
    }

    /// Whether every connection is closed; those left are in TIME-WAIT or wait for their
    /// application.
    pub(crate) fn all_closed(&self) -> bool {
        self.sockets.iter().all(|c| c.id.is_none() || c.close_reason.is_some())
    }

    /// Removes a connection that neither the network nor an application holds.
    fn forget(&mut self, key: ConnKey) {
        if let Some(mut conn) = self.sockets.remove_ended(key) {
            self.budget.replace(&mut conn.driver.charge, Charge::default());
            self.timers.disarm(key, conn.driver.timer_deadline);
        }
    }

    /// Marks a connection that an application changed for the next flush.
    fn mark_changed(&mut self, key: ConnKey) {
        if let Some(conn) = self.sockets.get_mut(key)
            && !std::mem::replace(&mut conn.driver.changed, true)
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
        self.timers.first().into_iter().chain(self.next_defer_timeout()).min()
    }

    /// Fires all timers due at `now`, at most one per connection.
    pub(crate) fn handle_timeouts(&mut self, now: Instant, batch: &mut TxBatch) {
        let mut due = std::mem::take(&mut self.due);
        while let Some(key) = self.timers.pop_due(now) {
            if let Some(conn) = self.sockets.get_mut(key) {
                conn.driver.timer_deadline = Instant::FAR_FUTURE;
                due.push(key);
            }
        }
        for key in due.drain(..) {
            let Some(conn) = self.sockets.get(key) else { continue };
            if conn.id.is_none() {
                continue;
            }
            if conn.driver.orphaned_until <= now {
                self.counters.orphans_reset += 1;
                if let Some(conn) = self.sockets.transport(key) {
                    conn.abort();
                }
            } else {
                self.sockets.handle_timeout(now, key);
            }
            self.pump(now, key, batch);
        }
        self.due = due;
        self.reset_silent(now, batch);
    }

    /// Sends data that applications wrote since the last flush.
    pub(crate) fn flush(&mut self, now: Instant, batch: &mut TxBatch) {
        let changed = std::mem::take(&mut self.changed);
        for key in changed {
            if let Some(conn) = self.sockets.get_mut(key) {
                conn.driver.changed = false;
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
