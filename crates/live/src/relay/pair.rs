//! A relayed connection: the side that came in, the side that was opened for it, and both directions.

use std::io;
use std::time::Duration;

use super::end::End;
use super::half::{Half, Went};
use super::stats::RelayStats;

/// What is to be done with a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// Nothing until one side has news.
    Wait,
    /// Again, when others had their turn.
    Again,
    /// It is over, in this way.
    End(Way),
}

/// How a connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    Closed,
    Unreachable,
    TimedOut,
    Reset,
    Idle,
    Ended,
}

impl Way {
    pub(super) fn count(self, stats: &mut RelayStats) {
        *match self {
            Self::Closed => &mut stats.closed,
            Self::Unreachable => &mut stats.unreachable,
            Self::TimedOut => &mut stats.timed_out,
            Self::Reset => &mut stats.reset,
            Self::Idle => &mut stats.idle,
            Self::Ended => &mut stats.ended,
        } += 1;
    }
}

/// A connection. Times are since the relay began.
#[derive(Debug)]
pub(super) struct Pair {
    /// The side that came in.
    source: End,
    /// The side that was opened for it.
    target: End,
    connected: bool,
    forth: Half,
    back: Half,
    /// When it was last seen to move.
    moved: Duration,
    moved_bytes: u64,
}

impl Pair {
    pub(super) fn new(source: End, target: End, now: Duration) -> Self {
        let half = Half::default;
        Self {
            source,
            target,
            connected: false,
            forth: half(),
            back: half(),
            moved: now,
            moved_bytes: 0,
        }
    }

    /// Bytes that wait in the relay.
    pub(super) fn waiting(&self) -> usize {
        self.forth.waiting() + self.back.waiting()
    }

    /// Does what can be done without waiting.
    pub(super) fn run(&mut self, place: &mut [u8], budget: usize, stats: &mut RelayStats) -> Next {
        if !self.connected {
            match self.target.is_connected() {
                Ok(true) => {
                    self.connected = true;
                    stats.connected += 1;
                }
                Ok(false) if self.source.error().is_some() => return Next::End(Way::Reset),
                Ok(false) => return Next::Wait,
                Err(e) if e.kind() == io::ErrorKind::TimedOut => return Next::End(Way::TimedOut),
                // Opened and reset before anybody looked; a target that is not there refuses.
                Err(e) if e.kind() == io::ErrorKind::ConnectionReset => {
                    stats.connected += 1;
                    return Next::End(Way::Reset);
                }
                Err(_) => return Next::End(Way::Unreachable),
            }
        }
        let before = [self.forth.bytes, self.back.bytes];
        let Self { source, target, forth, back, .. } = self;
        let went = forth.run(source, target, place, budget);
        let came = back.run(target, source, place, budget);
        stats.forth += forth.bytes - before[0];
        stats.back += back.bytes - before[1];
        let (Ok(went), Ok(came)) = (went, came) else { return Next::End(Way::Reset) };
        if went == Went::Over && came == Went::Over {
            return Next::End(Way::Closed);
        }
        // An error of a side that is not read shows here, and not only when the other takes what waits.
        let failed = |half: &Half, end: &End| half.is_deaf() && end.error().is_some();
        if failed(forth, source) || failed(back, target) {
            return Next::End(Way::Reset);
        }
        let further = went == Went::Further || came == Went::Further;
        if further { Next::Again } else { Next::Wait }
    }

    /// Whether its time is over.
    pub(super) fn check(
        &mut self,
        now: Duration,
        connect: Duration,
        idle: Option<Duration>,
    ) -> Option<Way> {
        if !self.connected {
            return (now.saturating_sub(self.moved) > connect).then_some(Way::TimedOut);
        }
        let bytes = self.forth.bytes + self.back.bytes;
        if bytes != self.moved_bytes {
            (self.moved, self.moved_bytes) = (now, bytes);
        }
        idle.filter(|idle| now.saturating_sub(self.moved) > *idle).map(|_| Way::Idle)
    }

    /// Lets go of both sides: as they are where both directions have ended, with RST otherwise.
    pub(super) fn end(self, way: Way) {
        if way != Way::Closed {
            self.source.abort();
            self.target.abort();
        }
    }
}
