//! Counters of a relay.

/// Counters of a relay. Every accepted connection waits, is open, or is counted under one reason of
/// its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RelayStats {
    /// Accepted connections.
    pub accepted: u64,
    /// Connections whose target side was opened.
    pub connected: u64,
    /// Connections in which both directions ended with FIN.
    pub closed: u64,
    /// Connections whose target was unreachable.
    pub unreachable: u64,
    /// Connections whose target did not answer in time.
    pub timed_out: u64,
    /// Connections in which one side failed or was reset, so that the other was reset.
    pub reset: u64,
    /// Connections reset by the idle timeout.
    pub idle: u64,
    /// Connections reset because they were slower than the least rate.
    pub too_slow: u64,
    /// Connections reset because another one took their place.
    pub replaced: u64,
    /// Connections reset while they waited for a place.
    pub refused: u64,
    /// Connections reset because the relay stopped.
    pub reset_at_shutdown: u64,
    /// Times that the connection limit was reached.
    pub at_limit: u64,
    /// Connections that failed before they were accepted.
    pub accept_errors: u64,
    /// Bytes to targets.
    pub bytes_to_targets: u64,
    /// Bytes from targets.
    pub bytes_from_targets: u64,
    /// Connections that wait for a place now.
    pub waiting: usize,
    /// Open connections now.
    pub open: usize,
    /// Most open connections at a time.
    pub max_open: usize,
    /// Bytes buffered in the relay now.
    pub buffered_bytes: usize,
    /// Most bytes buffered at a time.
    pub max_buffered_bytes: usize,
}
