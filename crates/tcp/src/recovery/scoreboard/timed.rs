//! Loss by time: the part of the scoreboard that RACK uses (RFC 8985 §6.2 step 5, §6.3).

use lowtide_units::{Duration, Instant};

use super::{AMBIGUOUS, LOST, RETRANSMITTED, SACKED, Scoreboard, Sent};
use crate::recovery::Sending;

/// What came out of looking at the clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Overdue {
    /// Newly judged lost, lost retransmissions included, bytes.
    pub(crate) bytes: u64,
    /// The same in segments.
    pub(crate) segments: u32,
    /// When the last sent of the retransmissions that are lost was sent.
    pub(crate) resent_at: Option<Instant>,
    /// When everything that something has overtaken will be overdue; [`Instant::FAR_FUTURE`] when
    /// there is nothing to wait for.
    pub(crate) deadline: Instant,
}

impl Sent {
    const fn sending(&self) -> Sending {
        Sending { at: self.at, end: self.end() }
    }
}

impl Scoreboard {
    /// Judges as lost what was sent before `newest`, which has arrived, and at least `allowance` ago.
    pub(crate) fn lose_overdue(
        &mut self,
        now: Instant,
        newest: Sending,
        allowance: Duration,
    ) -> Overdue {
        let mut out =
            Overdue { bytes: 0, segments: 0, resent_at: None, deadline: Instant::FAR_FUTURE };
        let mut deadline = None;
        for sent in &mut self.sent {
            if newest <= sent.sending() {
                if !sent.has(AMBIGUOUS) {
                    // What was sent only once stands in the order of time: nothing beyond is older.
                    break;
                }
                continue;
            }
            let waits_for_retransmission = sent.flags & (LOST | RETRANSMITTED) == LOST;
            if sent.has(SACKED) || waits_for_retransmission {
                continue;
            }
            let due = sent.at + allowance;
            if now < due {
                deadline = deadline.max(Some(due));
                continue;
            }
            let len = u64::from(sent.len);
            if sent.has(RETRANSMITTED) {
                sent.flags &= !RETRANSMITTED;
                self.retransmitted_bytes -= len;
                out.resent_at = out.resent_at.max(Some(sent.at));
            }
            if !sent.has(LOST) {
                sent.flags |= LOST;
                self.lost_bytes += len;
            }
            self.cursor = self.cursor.min(sent.start);
            out.bytes += len;
            out.segments += 1;
        }
        out.deadline = deadline.unwrap_or(Instant::FAR_FUTURE);
        out
    }

    /// The retransmission timer fired: the first segment is lost, and what was sent at least
    /// `allowance` ago (RFC 8985 §6.3). A peer that reneged holds nothing for sure: then all is.
    pub(crate) fn lose_on_timeout(&mut self, now: Instant, allowance: Duration) {
        if self.sent.front().is_some_and(|s| s.has(SACKED)) {
            self.mark_all_lost();
            return;
        }
        for (index, sent) in self.sent.iter_mut().enumerate() {
            if sent.has(SACKED) || (index > 0 && now < sent.at + allowance) {
                continue;
            }
            let len = u64::from(sent.len);
            if sent.has(RETRANSMITTED) {
                sent.flags &= !RETRANSMITTED;
                self.retransmitted_bytes -= len;
            }
            if !sent.has(LOST) {
                sent.flags |= LOST;
                self.lost_bytes += len;
            }
        }
        self.cursor = self.sent.front().map_or(self.cursor, |s| s.start);
    }
}

#[cfg(test)]
mod tests;
