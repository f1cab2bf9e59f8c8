//! Listeners and their accept queues.

use std::collections::{BTreeSet, VecDeque};

use lowtide_sockets::ConnKey;
use lowtide_units::{Duration, Instant};

use super::{Stack, TxBatch, WaitQueue};

/// State of a listener.
#[derive(Debug)]
pub(super) struct ListenState {
    /// Established connections to accept, oldest first.
    pub(super) accept_queue: VecDeque<ConnKey>,
    /// Most connections in the accept queue; further ones are reset.
    pub(super) backlog: usize,
    /// If set, a connection is ready once its peer has sent data or FIN, as with TCP_DEFER_ACCEPT
    /// in Linux. It is reset after that time without any.
    pub(super) defer_limit: Option<Duration>,
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
            defer_limit: None,
            deferred: BTreeSet::new(),
            wait: WaitQueue::default(),
        }
    }
}

impl Stack {
    /// Makes connections to `port` ready only once their peer has sent data or FIN, and resets them
    /// after `limit` without any.
    pub(crate) fn defer_accept(&mut self, port: u16, limit: Duration) {
        if let Some(listener) = self.listeners.get_mut(&port) {
            listener.defer_limit = Some(limit);
        }
    }

    /// Time at which [`Self::reset_silent`] is due.
    pub(super) fn next_defer_timeout(&self) -> Option<Instant> {
        let due = |listener: &ListenState| {
            let (since, _) = listener.deferred.first()?;
            listener.defer_limit.map(|limit| *since + limit)
        };
        self.listeners.values().filter_map(due).min()
    }

    /// Resets deferred connections whose peer has sent nothing in time.
    pub(super) fn reset_silent(&mut self, now: Instant, batch: &mut TxBatch) {
        if self.next_defer_timeout().is_none_or(|due| due > now) {
            return;
        }
        let mut silent = Vec::new();
        for listener in self.listeners.values_mut() {
            let Some(limit) = listener.defer_limit else { continue };
            let is_due = |since: Instant| now.saturating_since(since) >= limit;
            while let Some((since, key)) = listener.deferred.first().copied()
                && is_due(since)
            {
                listener.deferred.remove(&(since, key));
                silent.push(key);
            }
        }
        for key in silent {
            self.reset_deferred(now, key, batch);
        }
    }

    fn reset_deferred(&mut self, now: Instant, key: ConnKey, batch: &mut TxBatch) {
        if let Some(conn) = self.sockets.get_mut(key) {
            conn.driver.deferred_since = None;
        }
        self.reset_unaccepted(now, key, batch);
    }

    /// Makes an established connection ready to be accepted, unless its listener defers it. If too
    /// many connections are deferred, the oldest is reset.
    pub(super) fn offer_or_defer(&mut self, now: Instant, key: ConnKey, batch: &mut TxBatch) {
        let Some(conn) = self.sockets.get_mut(key) else { return };
        let Some(port) = conn.listener else { return };
        let speaks = conn.receive.unread() > 0 || conn.peer_closed;
        match self.listeners.get_mut(&port) {
            Some(listener)
                if listener.defer_limit.is_some() && !speaks && conn.close_reason.is_none() =>
            {
                if conn.driver.deferred_since.is_none() {
                    conn.driver.deferred_since = Some(now);
                    listener.deferred.insert((now, key));
                }
                let full = listener.deferred.len() > listener.backlog;
                let oldest = if full { listener.deferred.pop_first() } else { None };
                if let Some((_, oldest)) = oldest {
                    self.reset_deferred(now, oldest, batch);
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
        }
        if let Some(conn) = self.sockets.transport(key) {
            conn.abort();
            self.pump(now, key, batch);
        }
    }
}
