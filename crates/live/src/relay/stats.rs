//! What a relay has done.

/// What a relay has done. Every accepted connection is open, or counted under one of the ways to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RelayStats {
    /// Connections that came in.
    pub accepted: u64,
    /// Of which the other side was opened.
    pub connected: u64,
    /// Of which both directions ended with FIN.
    pub closed: u64,
    /// Whose target could not be reached.
    pub unreachable: u64,
    /// Whose target did not answer in time.
    pub timed_out: u64,
    /// Of which one side failed or was reset, and the other was reset for it.
    pub reset: u64,
    /// Which were idle for too long.
    pub idle: u64,
    /// Which were reset because the relay ended.
    pub reset_at_shutdown: u64,
    /// Times at which there was no room for another one.
    pub at_limit: u64,
    /// Connections that failed before they were accepted.
    pub accept_errors: u64,
    /// Bytes to targets.
    pub bytes_to_targets: u64,
    /// Bytes from targets.
    pub bytes_from_targets: u64,
    /// Connections now.
    pub open: usize,
    /// The most at a time.
    pub max_open: usize,
    /// Bytes that wait in the relay now.
    pub buffered_bytes: usize,
    /// The most at a time.
    pub max_buffered_bytes: usize,
}

impl RelayStats {
    /// Connections that are over, however they ended.
    pub fn total_ended(&self) -> u64 {
        self.closed
            + self.unreachable
            + self.timed_out
            + self.reset
            + self.idle
            + self.reset_at_shutdown
    }
}
