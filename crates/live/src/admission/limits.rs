//! Limits of admission, and causes of a closed connection.

use std::fmt;

use lowtide_units::Duration;

/// Limits of what clients may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AdmissionLimits {
    /// Most connections that are served at a time; at least 1.
    pub max_connections: usize,
    /// Time without a byte in either direction after which a connection is closed;
    /// [`Duration::MAX`] for no limit.
    pub idle: Duration,
    /// Least rate of progress, bytes per second of both directions together. With 0 any byte pays
    /// for the whole time until then.
    pub min_rate: u64,
    /// Time by which a connection may lag behind the least rate. Longer debts are forgiven.
    pub rate_window: Duration,
    /// Lag after which a connection on probation yields its place; four times as much for others.
    pub yield_after: Duration,
}

impl AdmissionLimits {
    /// Least rate, bytes per second, 1 KiB/s: slower than any modem, a hundred times the rate of a
    /// client that sends a byte each 100 ms.
    pub const MIN_RATE: u64 = 1024;
    /// Window of the least rate, 5 s: two retransmission timeouts after a lost SYN-ACK.
    pub const RATE_WINDOW: Duration = Duration::from_secs(5);
    /// Lag of a connection on probation that yields, 250 ms: a round trip around the earth.
    pub const YIELD_AFTER: Duration = Duration::from_ms(250);

    /// Limits for clients that are not trusted.
    pub const fn new(max_connections: usize, idle: Duration) -> Self {
        Self {
            max_connections,
            idle,
            min_rate: Self::MIN_RATE,
            rate_window: Self::RATE_WINDOW,
            yield_after: Self::YIELD_AFTER,
        }
    }

    /// No limits.
    pub const UNLIMITED: Self = Self::new(usize::MAX, Duration::MAX);

    /// Bytes after which a connection is no longer on probation.
    pub(super) fn probation_bytes(&self) -> u64 {
        let bytes = u128::from(self.min_rate) * u128::from(self.rate_window.as_us()) / 1_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX).max(1)
    }

    /// Lag after which a connection yields its place.
    pub(super) fn yield_lag(&self, probation: bool) -> Duration {
        self.yield_after.saturating_mul(if probation { 1 } else { 4 })
    }

    /// Time that `bytes` pay for, at most the window.
    pub(super) fn paid_time(&self, bytes: u64) -> Duration {
        let us = (u128::from(bytes) * 1_000_000).checked_div(u128::from(self.min_rate));
        let us = us.and_then(|us| u64::try_from(us).ok()).unwrap_or(u64::MAX);
        Duration::from_us(us.min(self.rate_window.as_us()))
    }
}

/// Cause of a connection that is closed by admission.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CloseCause {
    /// It moved no byte for the idle limit.
    Idle,
    /// It lagged behind the least rate while more than half of the places were taken.
    TooSlow,
    /// Its place was given to another connection.
    Replaced,
    /// It waited for a place, and too many others did.
    Refused,
}

impl fmt::Display for CloseCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Idle => "it was idle for too long",
            Self::TooSlow => "it was slower than the least rate, and most places were taken",
            Self::Replaced => "another connection took its place",
            Self::Refused => "no place became free",
        })
    }
}
