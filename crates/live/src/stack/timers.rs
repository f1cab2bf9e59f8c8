//! Deadlines of connections.
//!
//! Contract: at most one entry of each connection, so that memory depends on the connections that exist and not on
//! how often their timers move. A deadline that moves later costs nothing: its entry stays, fires early and is armed
//! again. One that moves earlier takes the place of the old entry, at the logarithm of the number of connections.

use std::collections::BTreeSet;

use lowtide_units::Instant;

use super::ConnKey;

/// Deadlines in order. The caller keeps the entry of each connection beside the connection.
#[derive(Debug, Default)]
pub(super) struct Timers(BTreeSet<(Instant, ConnKey)>);

impl Timers {
    /// The connection is due at `at` in place of `armed`, which is [`Instant::FAR_FUTURE`] for none.
    pub(super) fn arm(&mut self, key: ConnKey, armed: Instant, at: Instant) {
        self.disarm(key, armed);
        self.0.insert((at, key));
    }

    /// Forgets the entry at `armed`, if there is one.
    pub(super) fn disarm(&mut self, key: ConnKey, armed: Instant) {
        if armed < Instant::FAR_FUTURE {
            self.0.remove(&(armed, key));
        }
    }

    /// The earliest deadline.
    pub(super) fn first(&self) -> Option<Instant> {
        self.0.first().map(|(at, _)| *at)
    }

    /// Takes the earliest entry out if it is due at `now`.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<ConnKey> {
        let (at, key) = *self.0.first()?;
        (at <= now).then(|| {
            self.0.pop_first();
            key
        })
    }

    /// Entries.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
