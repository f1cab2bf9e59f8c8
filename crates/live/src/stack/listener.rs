//! Who listens, and who waits to be accepted.

use std::collections::{BTreeSet, VecDeque};

use lowtide_units::Instant;

use super::{Batch, Key, Stack, Wait};

/// A listener.
#[derive(Debug)]
pub(super) struct Listener {
    /// Established connections to accept, oldest first.
    pub(super) ready: VecDeque<Key>,
    /// The most of them; further ones are reset.
    pub(super) most: usize,
    /// A connection is ready once its peer has sent data or FIN, as with TCP_DEFER_ACCEPT in Linux.
    pub(super) defers: bool,
    /// Established connections without data, by the time at which they were established; as many as may be ready.
    pub(super) silent: BTreeSet<(Instant, Key)>,
    pub(super) wait: Wait,
}

impl Listener {
    /// With room for `most` connections to accept.
    pub(super) fn new(most: usize) -> Self {
        Self {
            ready: VecDeque::new(),
            most,
            defers: false,
            silent: BTreeSet::new(),
            wait: Wait::default(),
        }
    }
}

impl Stack {
    /// Whether connections to `port` are ready only once their peer has sent data or FIN.
    pub(crate) fn set_defer_accept(&mut self, port: u16, on: bool) {
        if let Some(listener) = self.listeners.get_mut(&port) {
            listener.defers = on;
        }
    }

    /// Makes an established connection ready to be accepted, unless its listener defers that. One more that
    /// is silent than there is room for takes the place of the oldest, which is reset.
    pub(super) fn offer_when_due(&mut self, now: Instant, key: Key, batch: &mut Batch) {
        let Some(conn) = self.conns.get_mut(key.0 as usize).and_then(Option::as_mut) else {
            return;
        };
        let Some(port) = conn.listener else { return };
        let speaks = conn.receive.unread() > 0 || conn.peer_closed;
        match self.listeners.get_mut(&port) {
            Some(listener) if listener.defers && !speaks && conn.over.is_none() => {
                if conn.silent_since.is_none() {
                    conn.silent_since = Some(now);
                    listener.silent.insert((now, key));
                }
                let full = listener.silent.len() > listener.most;
                let oldest = if full { listener.silent.pop_first() } else { None };
                if let Some((_, oldest)) = oldest {
                    if let Some(conn) = self.get(oldest) {
                        conn.silent_since = None;
                    }
                    self.refuse(now, oldest, batch);
                }
            }
            listener => {
                conn.listener = None;
                let was_silent = conn.silent_since.take();
                if let Some((listener, since)) = listener.zip(was_silent) {
                    listener.silent.remove(&(since, key));
                }
                if conn.over.is_some() && was_silent.is_some() {
                    // It ended before anybody could accept it.
                    conn.held = false;
                    return;
                }
                self.offer(now, port, key, batch);
            }
        }
    }

    /// A connection waits to be accepted; without its listener, or where too many wait, nobody will.
    fn offer(&mut self, now: Instant, port: u16, key: Key, batch: &mut Batch) {
        match self.listeners.get_mut(&port) {
            Some(listener) if listener.ready.len() < listener.most => {
                listener.ready.push_back(key);
                listener.wait.wake();
            }
            _ => self.refuse(now, key, batch),
        }
    }

    /// RST on a connection that nobody accepts.
    fn refuse(&mut self, now: Instant, key: Key, batch: &mut Batch) {
        self.counters.not_accepted += 1;
        if let Some(conn) = self.get(key) {
            conn.held = false;
            conn.listener = None;
            if let Some(id) = conn.id {
                self.boundary.abort(now, id);
                self.pump(now, key, batch);
            }
        }
    }
}
