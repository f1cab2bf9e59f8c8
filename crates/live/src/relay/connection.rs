//! A relayed connection: the side that came in, the side that was opened for it, and both directions.

use std::io;
use std::time::Duration;

use super::direction::{ForwardResult, RelayDirection};
use super::relay_socket::RelaySocket;
use super::stats::RelayStats;

/// What is to be done with a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NextStep {
    /// Nothing until one side has news.
    Wait,
    /// Again, when others had their turn.
    Reschedule,
    /// It is over, in this way.
    End(RelayEndReason),
}

/// How a connection ended.
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

/// A connection. Times are since the relay began.
#[derive(Debug)]
pub(super) struct RelayedConnection {
    /// The side that came in.
    source: RelaySocket,
    /// The side that was opened for it.
    target: RelaySocket,
    connected: bool,
    to_target: RelayDirection,
    from_target: RelayDirection,
    /// When it was last seen to move.
    last_progress: Duration,
    progress_bytes: u64,
}

impl RelayedConnection {
    pub(super) fn new(source: RelaySocket, target: RelaySocket, now: Duration) -> Self {
        let half = RelayDirection::default;
        Self {
            source,
            target,
            connected: false,
            to_target: half(),
            from_target: half(),
            last_progress: now,
            progress_bytes: 0,
        }
    }

    /// Bytes that wait in the relay.
    pub(super) fn buffered_bytes(&self) -> usize {
        self.to_target.buffered_bytes() + self.from_target.buffered_bytes()
    }

    /// Does what can be done without waiting.
    pub(super) fn forward(
        &mut self,
        place: &mut [u8],
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
                // Opened and reset before anybody looked; a target that is not there refuses.
                Err(e) if e.kind() == io::ErrorKind::ConnectionReset => {
                    stats.connected += 1;
                    return NextStep::End(RelayEndReason::Reset);
                }
                Err(_) => return NextStep::End(RelayEndReason::Unreachable),
            }
        }
        let before = [self.to_target.bytes, self.from_target.bytes];
        let Self { source, target, to_target: forth, from_target: back, .. } = self;
        let went = forth.forward(source, target, place, budget);
        let came = back.forward(target, source, place, budget);
        stats.bytes_to_targets += forth.bytes - before[0];
        stats.bytes_from_targets += back.bytes - before[1];
        let (Ok(went), Ok(came)) = (went, came) else {
            return NextStep::End(RelayEndReason::Reset);
        };
        if went == ForwardResult::Finished && came == ForwardResult::Finished {
            return NextStep::End(RelayEndReason::Closed);
        }
        // An error of a side that is not read shows here, and not only when the other takes what waits.
        let failed = |half: &RelayDirection, end: &RelaySocket| {
            half.is_read_paused() && end.error().is_some()
        };
        if failed(forth, source) || failed(back, target) {
            return NextStep::End(RelayEndReason::Reset);
        }
        let further = went == ForwardResult::MorePending || came == ForwardResult::MorePending;
        if further { NextStep::Reschedule } else { NextStep::Wait }
    }

    /// Whether its time is over.
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

    /// Lets go of both sides: as they are where both directions have ended, with RST otherwise.
    pub(super) fn close(self, way: RelayEndReason) {
        if way != RelayEndReason::Closed {
            self.source.abort();
            self.target.abort();
        }
    }
}
