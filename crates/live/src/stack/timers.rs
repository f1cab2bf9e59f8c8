//! Timers of connections.
//!
//! Contract: at most one entry per connection, so memory depends on the number of connections, not
//! on how often their timers move. A deadline that moves later costs nothing: its entry stays,
//! fires early and is re-armed. A deadline that moves earlier replaces the entry, in O(log n) of
//! the number of connections.

use std::collections::BTreeSet;

use lowtide_sockets::ConnKey;
use lowtide_units::Instant;

/// Deadlines in order. The caller keeps each connection's current deadline.
#[derive(Debug, Default)]
pub(super) struct Timers(BTreeSet<(Instant, ConnKey)>);

impl Timers {
    /// Moves the deadline of a connection from `armed` to `at`; `armed` is [`Instant::FAR_FUTURE`]
    /// for none.
    pub(super) fn arm(&mut self, key: ConnKey, armed: Instant, at: Instant) {
        self.disarm(key, armed);
        self.0.insert((at, key));
    }

    /// Removes the entry at `armed`, if there is one.
    pub(super) fn disarm(&mut self, key: ConnKey, armed: Instant) {
        if armed < Instant::FAR_FUTURE {
            self.0.remove(&(armed, key));
        }
    }

    /// The earliest deadline.
    pub(super) fn first(&self) -> Option<Instant> {
        self.0.first().map(|(at, _)| *at)
    }

    /// Removes and returns the earliest entry if it is due at `now`.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<ConnKey> {
        let (at, key) = *self.0.first()?;
        (at <= now).then(|| {
            self.0.pop_first();
            key
        })
    }

    /// Number of entries.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
