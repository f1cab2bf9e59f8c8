//! Connections that no application holds and whose data, or FIN, is on its way still.
//!
//! Contract: each ends, whatever its peer does, and so many exist and no more. Without that a peer that
//! answers every window probe and never opens its window holds them for ever (CVE-2008-4609; RFC 9293
//! §3.8.6.1 has no limit). The bounds are those of Linux in kind: `tcp_orphan_retries`,
//! `tcp_max_orphans`, `tcp_fin_timeout`.

use std::collections::BTreeSet;

use lowtide_tcp::State;
use lowtide_units::{Duration, Instant};

use super::ConnKey;

/// How long no new data may be acknowledged: 8 retransmissions from an RTO of 200 ms on, backed off,
/// take 102 s (Linux: `net.ipv4.tcp_orphan_retries`).
const STALL_TIMEOUT: Duration = Duration::from_secs(100);
/// How long an orphan may take in all. Linux has no such bound: a peer that takes a byte every minute
/// keeps one there for as long as it likes.
const MAX_LIFETIME: Duration = Duration::from_secs(3600);
/// How long the peer may take to close its half once it has acknowledged everything (Linux:
/// `net.ipv4.tcp_fin_timeout`).
const FIN_TIMEOUT: Duration = Duration::from_secs(60);

/// Since when nobody holds a connection, and how it goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Orphan {
    since: Instant,
    acked: u64,
    last_progress: Instant,
    fin_wait: Option<Instant>,
}

impl Orphan {
    pub(super) const fn new(now: Instant, acked: u64) -> Self {
        Self { since: now, acked, last_progress: now, fin_wait: None }
    }

    /// The connection is in `state` and everything below `acked` is acknowledged: when it is given up.
    pub(super) fn deadline(&mut self, now: Instant, state: State, acked: u64) -> Instant {
        if acked > self.acked {
            (self.acked, self.last_progress) = (acked, now);
        }
        if state == State::FinWait2 {
            return *self.fin_wait.get_or_insert(now) + FIN_TIMEOUT;
        }
        (self.last_progress + STALL_TIMEOUT).min(self.since + MAX_LIFETIME)
    }
}

/// All orphans, oldest first.
#[derive(Debug)]
pub(super) struct Orphans {
    limit: usize,
    by_age: BTreeSet<(Instant, ConnKey)>,
}

impl Orphans {
    pub(super) const fn new(most: usize) -> Self {
        Self { limit: most, by_age: BTreeSet::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.by_age.len()
    }

    pub(super) fn insert(&mut self, orphan: &Orphan, key: ConnKey) {
        self.by_age.insert((orphan.since, key));
    }

    pub(super) fn remove(&mut self, orphan: &Orphan, key: ConnKey) {
        self.by_age.remove(&(orphan.since, key));
    }

    /// Takes the oldest one out.
    pub(super) fn pop_oldest(&mut self) -> Option<ConnKey> {
        self.by_age.pop_first().map(|(_, key)| key)
    }

    pub(super) fn over_limit(&self) -> bool {
        self.by_age.len() > self.limit
    }
}
