//! A relayed connection: the accepted side, the opened side, and both directions.

use std::io;
use std::time::Duration;

use super::direction::{ForwardResult, RelayDirection};
use super::stats::RelayStats;
use crate::socket::NonblockingSocket;

/// Next step for a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NextStep {
    /// Wait for an event of one side.
    Wait,
    /// Run again after other connections.
    Reschedule,
    /// It has ended, for this reason.
    End(RelayEndReason),
}

/// Reason for the end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RelayEndReason {
    Closed,
    Unreachable,
    TimedOut,
    Reset,
    Idle,
    ShutDown,
}

impl RelayEndReason {
    pub(super) fn count(self, stats: &mut RelayStats) {
        *match self {
            Self::Closed => &mut stats.closed,
            Self::Unreachable => &mut stats.unreachable,
            Self::TimedOut => &mut stats.timed_out,
            Self::Reset => &mut stats.reset,
            Self::Idle => &mut stats.idle,
            Self::ShutDown => &mut stats.reset_at_shutdown,
        } += 1;
    }
}

/// A connection. Times are since the start of the relay.
#[derive(Debug)]
pub(super) struct RelayedConnection {
    /// The accepted side.
    source: NonblockingSocket,
    /// The side that was opened for it.
    target: NonblockingSocket,
    connected: bool,
    to_target: RelayDirection,
    from_target: RelayDirection,
    /// Time at which progress was last seen.
    last_progress: Duration,
    progress_bytes: u64,
}

impl RelayedConnection {
    pub(super) fn new(source: NonblockingSocket, target: NonblockingSocket, now: Duration) -> Self {
        let direction = RelayDirection::default;
        Self {
            source,
            target,
            connected: false,
            to_target: direction(),
            from_target: direction(),
            last_progress: now,
            progress_bytes: 0,
        }
    }

    /// Bytes buffered in the relay.
    pub(super) fn buffered_bytes(&self) -> usize {
        self.to_target.buffered_bytes() + self.from_target.buffered_bytes()
    }

    /// Forwards as much as possible without waiting.
    pub(super) fn forward(
        &mut self,
        buffer: &mut [u8],
        budget: usize,
        stats: &mut RelayStats,
    ) -> NextStep {
        if !self.connected {
            match self.target.is_connected() {
                Ok(true) => {
                    self.connected = true;
                    stats.connected += 1;
                }
                Ok(false) if self.source.error().is_some() => {
                    return NextStep::End(RelayEndReason::Reset);
                }
                Ok(false) => return NextStep::Wait,
                Err(e) if e.kind() == io::ErrorKind::TimedOut => {
                    return NextStep::End(RelayEndReason::TimedOut);
                }
                // Opened and reset before the first poll; a closed port refuses instead.
                Err(e) if e.kind() == io::ErrorKind::ConnectionReset => {
                    stats.connected += 1;
                    return NextStep::End(RelayEndReason::Reset);
                }
                Err(_) => return NextStep::End(RelayEndReason::Unreachable),
            }
        }
        let before = [self.to_target.bytes, self.from_target.bytes];
        let Self { source, target, to_target, from_target, .. } = self;
        let outbound = to_target.forward(source, target, buffer, budget);
        let inbound = from_target.forward(target, source, buffer, budget);
        stats.bytes_to_targets += to_target.bytes - before[0];
        stats.bytes_from_targets += from_target.bytes - before[1];
        let (Ok(outbound), Ok(inbound)) = (outbound, inbound) else {
            return NextStep::End(RelayEndReason::Reset);
        };
        if outbound == ForwardResult::Finished && inbound == ForwardResult::Finished {
            return NextStep::End(RelayEndReason::Closed);
        }
        // Check sides that are not read for errors now, before the buffered data can be written.
        let failed = |direction: &RelayDirection, socket: &NonblockingSocket| {
            direction.is_read_paused() && socket.error().is_some()
        };
        if failed(to_target, source) || failed(from_target, target) {
            return NextStep::End(RelayEndReason::Reset);
        }
        let more_pending =
            outbound == ForwardResult::MorePending || inbound == ForwardResult::MorePending;
        if more_pending { NextStep::Reschedule } else { NextStep::Wait }
    }

    /// Returns the reason to end the connection if it timed out.
    pub(super) fn check_timeouts(
        &mut self,
        now: Duration,
        connect: Duration,
        idle: Option<Duration>,
    ) -> Option<RelayEndReason> {
        if !self.connected {
            return (now.saturating_sub(self.last_progress) > connect)
                .then_some(RelayEndReason::TimedOut);
        }
        let bytes = self.to_target.bytes + self.from_target.bytes;
        if bytes != self.progress_bytes {
            (self.last_progress, self.progress_bytes) = (now, bytes);
        }
        idle.filter(|idle| now.saturating_sub(self.last_progress) > *idle)
            .map(|_| RelayEndReason::Idle)
    }

    /// Closes both sides: normally if both directions have ended, otherwise with RST.
    pub(super) fn close(self, reason: RelayEndReason) {
        if reason != RelayEndReason::Closed {
            self.source.abort();
            self.target.abort();
        }
    }
}
