//! Listeners and their accept queues.

use std::collections::{BTreeSet, VecDeque};

use lowtide_sockets::{ConnCall, ConnKey};
use lowtide_units::Instant;

use super::{Stack, TxBatch, WaitQueue};

/// State of a listener.
#[derive(Debug)]
pub(super) struct ListenState {
    /// Established connections to accept, oldest first.
    pub(super) accept_queue: VecDeque<ConnKey>,
    /// Most connections in the accept queue; further ones are reset.
    pub(super) backlog: usize,
    /// A connection is ready once its peer has sent data or FIN, as with TCP_DEFER_ACCEPT in Linux.
    pub(super) defer_accept: bool,
    /// Established connections without data, by time of establishment; at most `backlog`.
    pub(super) deferred: BTreeSet<(Instant, ConnKey)>,
    pub(super) wait: WaitQueue,
}

impl ListenState {
    /// A listener with room for `most` connections in its accept queue.
    pub(super) fn new(most: usize) -> Self {
        Self {
            accept_queue: VecDeque::new(),
            backlog: most,
            defer_accept: false,
            deferred: BTreeSet::new(),
            wait: WaitQueue::default(),
        }
    }
}

impl Stack {
    /// Sets whether connections to `port` are ready only once their peer has sent data or FIN.
    pub(crate) fn set_defer_accept(&mut self, port: u16, on: bool) {
        if let Some(listener) = self.listeners.get_mut(&port) {
            listener.defer_accept = on;
        }
    }

    /// Makes an established connection ready to be accepted, unless its listener defers it. If too
    /// many connections are deferred, the oldest is reset.
    pub(super) fn offer_or_defer(&mut self, now: Instant, key: ConnKey, batch: &mut TxBatch) {
        let Some(conn) = self.sockets.get_mut(key) else { return };
        let Some(port) = conn.listener else { return };
        let speaks = conn.receive.unread() > 0 || conn.peer_closed;
        match self.listeners.get_mut(&port) {
            Some(listener) if listener.defer_accept && !speaks && conn.close_reason.is_none() => {
                if conn.driver.deferred_since.is_none() {
                    conn.driver.deferred_since = Some(now);
                    listener.deferred.insert((now, key));
                }
                let full = listener.deferred.len() > listener.backlog;
                let oldest = if full { listener.deferred.pop_first() } else { None };
                if let Some((_, oldest)) = oldest {
                    if let Some(conn) = self.sockets.get_mut(oldest) {
                        conn.driver.deferred_since = None;
                    }
                    self.reset_unaccepted(now, oldest, batch);
                }
            }
            listener => {
                conn.listener = None;
                let deferred_since = conn.driver.deferred_since.take();
                if let Some((listener, since)) = listener.zip(deferred_since) {
                    listener.deferred.remove(&(since, key));
                }
                if conn.close_reason.is_some() && deferred_since.is_some() {
                    // It ended before it could be accepted.
                    conn.held = false;
                    return;
                }
                self.enqueue_accepted(now, port, key, batch);
            }
        }
    }

    /// Adds a connection to the accept queue. Without a listener, or if the queue is full, it is
    /// reset.
    fn enqueue_accepted(&mut self, now: Instant, port: u16, key: ConnKey, batch: &mut TxBatch) {
        match self.listeners.get_mut(&port) {
            Some(listener) if listener.accept_queue.len() < listener.backlog => {
                listener.accept_queue.push_back(key);
                listener.wait.wake();
            }
            _ => self.reset_unaccepted(now, key, batch),
        }
    }

    /// Resets a connection that is never accepted.
    fn reset_unaccepted(&mut self, now: Instant, key: ConnKey, batch: &mut TxBatch) {
        self.counters.listen_overflows += 1;
        if let Some(conn) = self.sockets.get_mut(key) {
            conn.held = false;
            conn.listener = None;
            if let Some(id) = conn.id {
                self.sockets.endpoint().call(now, id, ConnCall::Abort);
                self.pump(now, key, batch);
            }
        }
    }
}
