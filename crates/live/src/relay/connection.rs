//! A relayed connection: the accepted side, the opened side, and both directions.

use std::io;
use std::time::Duration;

use super::direction::{ForwardResult, RelayDirection};
use super::stats::RelayStats;
use crate::admission::CloseCause;
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
    /// Admission closed it.
    Admission(CloseCause),
    ShutDown,
}

impl RelayEndReason {
    pub(super) fn count(self, stats: &mut RelayStats) {
        *match self {
            Self::Closed => &mut stats.closed,
            Self::Unreachable => &mut stats.unreachable,
            Self::TimedOut => &mut stats.timed_out,
            Self::Reset => &mut stats.reset,
            Self::Admission(CloseCause::Idle) => &mut stats.idle,
            Self::Admission(CloseCause::TooSlow) => &mut stats.too_slow,
            Self::Admission(CloseCause::Replaced) => &mut stats.replaced,
            Self::Admission(CloseCause::Refused) => &mut stats.refused,
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
    /// Time at which the target side was opened.
    opened: Duration,
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
            opened: now,
        }
    }

    /// Bytes buffered in the relay.
    pub(super) fn buffered_bytes(&self) -> usize {
        self.to_target.buffered_bytes() + self.from_target.buffered_bytes()
    }

    /// Bytes that the client has moved: forwarded to the target, and acknowledged by the client.
    /// For the kernel's TCP, which does not tell, bytes that it has taken.
    pub(super) fn moved_bytes(&self) -> u64 {
        self.to_target.bytes + self.source.acknowledged().unwrap_or(self.from_target.bytes)
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

    /// Whether the target has not accepted within `limit`.
    pub(super) fn connect_timed_out(&self, now: Duration, limit: Duration) -> bool {
        !self.connected && now.saturating_sub(self.opened) > limit
    }

    /// Closes both sides: normally if both directions have ended, otherwise with RST.
    pub(super) fn close(self, reason: RelayEndReason) {
        if reason != RelayEndReason::Closed {
            self.source.abort();
            self.target.abort();
        }
    }
}
