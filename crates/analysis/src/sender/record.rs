//! Record of a sender by round trips, and each reduction of its window.
//!
//! Contract: a round is that of `rounds`; a whole recovery is one. The first [`MAX_ROUNDS`] are
//! kept. A reduction begins with a repair, or with a segment that has CWR, and ends with the ACK of
//! the data sent before it (RFC 3168 §6.1.2, RFC 6675 §5). Flights are bytes, times nanoseconds.

/// Rounds that are kept.
const MAX_ROUNDS: usize = 2048;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundRecord {
    pub(super) end: u64,
    pub(super) ns: u64,
    /// Round trip of the path, smoothed.
    pub(super) trip: u64,
    pub(super) acked: u64,
    pub(super) marked: u64,
    /// The greatest flight outside of a recovery.
    pub(super) most: u64,
    /// Time in which no window of the sender limited it.
    pub(super) idle: u64,
    /// A reduction was under way.
    pub(super) reduced: bool,
    pub(super) acks: u64,
    /// New segments, and the sum of the times since the ACK before each.
    pub(super) segments: u64,
    pub(super) lag: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum ReductionCause {
    Mark,
    Loss,
    Timer,
}

/// A reduction of the window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduction {
    pub(super) cause: ReductionCause,
    /// Number of the round in which it began.
    pub(super) round: usize,
    pub(super) before: u64,
    /// Recoveries that began before its losses were repaired: its depth is unknown.
    pub(super) again: usize,
    /// The greatest flight of the round trip after it.
    pub(super) after: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub(in super::super) struct SenderRecord {
    pub(super) rounds: Vec<RoundRecord>,
    pub(super) reductions: Vec<Reduction>,
    /// Bytes sent before the first ACK.
    pub(super) initial: u64,
    now: RoundRecord,
    /// The greatest flights of this round and of the one before, since the last reduction.
    level: [u64; 2],
    /// The flight after the last segment outside of a recovery.
    flight: u64,
    /// The open reduction ends with the ACK of this offset. For a mark the segment with CWR is
    /// acknowledged too: so long Linux reduces the window.
    open: Option<u64>,
    /// The window after the last reduction shows until the ACK of this offset.
    settling: Option<u64>,
}

impl SenderRecord {
    /// Processes a segment, after which `flight` bytes are in flight. `lag` is the time since the
    /// last ACK if it has new data; in a recovery the flight is not the window.
    pub(in super::super) fn on_sent(&mut self, flight: u64, recovering: bool, lag: Option<u64>) {
        if self.rounds.is_empty() && self.now.acks == 0 {
            self.initial = self.initial.max(flight);
        }
        if self.settling.is_some()
            && let Some(last) = self.reductions.last_mut()
        {
            last.after = last.after.max(Some(flight));
        }
        if !recovering {
            self.now.most = self.now.most.max(flight);
            self.level[0] = self.level[0].max(flight);
            self.flight = flight;
        }
        if let Some(lag) = lag {
            self.now.segments += 1;
            self.now.lag = self.now.lag.saturating_add(lag);
        }
    }

    /// Processes the segment with which a reduction begins; `highest` is the end of the data sent
    /// before it.
    pub(in super::super) fn on_reduction(&mut self, cause: ReductionCause, highest: u64) {
        if self.rounds.len().max(self.reductions.len()) >= MAX_ROUNDS {
            return;
        }
        if self.open.is_some() && cause != ReductionCause::Timer {
            if cause == ReductionCause::Loss
                && let Some(last) = self.reductions.last_mut()
            {
                last.again += 1;
                self.open = Some(highest);
            }
            return;
        }
        if self.level == [0; 2]
            && let Some(last) = self.reductions.last_mut()
        {
            // One follows the other at once.
            last.after.get_or_insert(self.flight);
            self.level = [self.flight, 0];
        }
        let [now, before] = self.level;
        // Duplicate ACKs let more segments out before a loss is repaired (RFC 3042).
        let steady = before > 0 && now <= before + before / 8;
        let before = match cause {
            ReductionCause::Mark => now.max(before),
            _ if steady => before,
            _ => now,
        };
        self.now.reduced = true;
        let mark = u64::from(cause == ReductionCause::Mark);
        (self.open, self.settling) = (Some(highest + mark), None);
        let round = self.rounds.len();
        self.reductions.push(Reduction { cause, round, before, again: 0, after: None });
    }

    pub(in super::super) fn on_idle(&mut self, ns: u64) {
        self.now.idle = self.now.idle.saturating_add(ns);
    }

    /// Processes an ACK of all data below `ack`, `newly` bytes of it for the first time.
    /// With a `gap`, SACKed data is in flight too; `highest` is the end of the data sent.
    pub(in super::super) fn on_ack(
        &mut self,
        (ack, newly): (u64, u64),
        highest: u64,
        marked: bool,
        gap: bool,
    ) {
        self.now.acks += 1;
        self.now.acked += newly;
        self.now.marked += if marked { newly } else { 0 };
        if self.open.is_some_and(|end| ack >= end && !gap) {
            (self.open, self.settling, self.level) = (None, Some(highest), [0; 2]);
        } else if self.settling.is_some_and(|end| ack >= end) {
            self.settling = None;
        }
    }

    /// Ends the round.
    pub(in super::super) fn end(&mut self, end: u64, ns: u64, trip: u64) {
        let reduced = self.open.is_some();
        let round = std::mem::replace(&mut self.now, RoundRecord { reduced, ..Default::default() });
        self.level = [0, self.level[0]];
        if self.rounds.len() < MAX_ROUNDS {
            self.rounds.push(RoundRecord { end, ns, trip, ..round });
        }
    }
}
