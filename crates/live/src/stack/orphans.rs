//! Orphans: connections that no application holds and that still have data or FIN to deliver.
//!
//! Contract: each orphan ends, whatever its peer does, and their number is limited. Otherwise a
//! peer that answers window probes and never opens its window would hold them forever
//! (CVE-2008-4609). RFC 9293 §3.8.6.1 has no limit. The limits correspond to Linux's
//! `tcp_orphan_retries`, `tcp_max_orphans`, `tcp_fin_timeout`.

use std::collections::BTreeSet;

use lowtide_sockets::ConnKey;
use lowtide_tcp::State;
use lowtide_units::{Duration, Instant};

/// Time without newly acknowledged data after which an orphan is reset. 8 retransmissions with
/// backoff from an RTO of 200 ms take 102 s (Linux: `net.ipv4.tcp_orphan_retries`).
const STALL_TIMEOUT: Duration = Duration::from_secs(100);
/// Longest lifetime of an orphan. Linux has no such limit: a peer that takes a byte every minute
/// keeps an orphan alive indefinitely.
const MAX_LIFETIME: Duration = Duration::from_secs(3600);
/// Time for the peer to close its half once it has acknowledged everything (Linux:
/// `net.ipv4.tcp_fin_timeout`).
const FIN_TIMEOUT: Duration = Duration::from_secs(60);

/// Start and progress of an orphan.
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

    /// Time at which the orphan is reset. The connection is in `state`, acknowledged up to `acked`.
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

    /// Removes and returns the oldest orphan.
    pub(super) fn pop_oldest(&mut self) -> Option<ConnKey> {
        self.by_age.pop_first().map(|(_, key)| key)
    }

    pub(super) fn over_limit(&self) -> bool {
        self.by_age.len() > self.limit
    }
}
