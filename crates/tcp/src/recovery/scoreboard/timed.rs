//! Loss by time: the part of the scoreboard that RACK uses (RFC 8985 §6.2 step 5, §6.3).

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use lowtide_units::{Duration, Instant};

use super::steps::step;
use super::{AMBIGUOUS, LOST, RETRANSMITTED, SACKED, Scoreboard, Sent};
use crate::recovery::Sending;

/// Entries of [`Times::again`] below which none is looked for that is of no use any more.
const LEAST_AGAIN: usize = 16;

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
    pub(super) const fn sending(&self) -> Sending {
        Sending { at: self.at, end: self.end() }
    }
    /// It may still arrive: neither SACKed nor lost without a retransmission on its way.
    const fn is_awaited(&self) -> bool {
        !self.has(SACKED) && self.flags & (LOST | RETRANSMITTED) != LOST
    }
}

/// Segments in the order of sending, as far as loss by time asks for it. An ACK visits the segments that it
/// newly finds overtaken, lost or gone, and two more.
#[derive(Clone, Debug)]
pub(super) struct Times {
    /// Segments below this that were sent once have been looked at: all were sent before
    /// `RACK.segment`. Segments that were sent once are in the order of sending as they are.
    reach: u64,
    /// Segments that were sent more than once and not before `RACK.segment`, in the order of sending.
    again: VecDeque<Sending>,
    /// Segments that were sent before `RACK.segment` and awaited when they came here, in the order of
    /// sending.
    overtaken: VecDeque<Sending>,
}

impl Times {
    /// Of a scoreboard in which every segment from `doubt_edge` on was sent once.
    fn new(sent: &VecDeque<Sent>, doubt_edge: u64) -> Self {
        let doubtful = sent.iter().take_while(|s| s.start < doubt_edge).inspect(|_| step());
        let mut again: Vec<Sending> =
            doubtful.filter(|s| s.has(AMBIGUOUS) && s.is_awaited()).map(Sent::sending).collect();
        again.sort_unstable();
        Self { reach: 0, again: again.into(), overtaken: VecDeque::new() }
    }

    /// Bytes held outside of this struct.
    pub(super) fn heap(&self) -> usize {
        (self.again.capacity() + self.overtaken.capacity()) * size_of::<Sending>()
    }

    /// Nothing overtaken is awaited.
    pub(super) fn is_done(&self) -> bool {
        self.overtaken.is_empty()
    }

    pub(super) fn sent_again(&mut self, sending: Sending) {
        put(&mut self.again, sending);
    }

    /// Finds the segments that were sent before `newest`, which has arrived.
    fn overtake(&mut self, sent: &VecDeque<Sent>, newest: Sending) {
        let from = sent.partition_point(|s| s.start < self.reach);
        for segment in sent.range(from..) {
            step();
            if !segment.has(AMBIGUOUS) {
                let sending = segment.sending();
                if newest <= sending {
                    // Segments beyond it were sent later, those sent again later still.
                    break;
                }
                self.take_again(sending);
                if segment.is_awaited() {
                    put(&mut self.overtaken, sending);
                }
            }
            self.reach = segment.end();
        }
        self.take_again(newest);
    }

    /// Moves what was sent again before `limit`.
    fn take_again(&mut self, limit: Sending) {
        while let Some(sending) = self.again.pop_front_if(|sending| *sending < limit) {
            step();
            put(&mut self.overtaken, sending);
        }
    }
}

/// Adds to a queue in the order of sending; it belongs at the back, or near it.
fn put(queue: &mut VecDeque<Sending>, sending: Sending) {
    let mut at = queue.len();
    while at > 0 && queue[at - 1] > sending {
        step();
        at -= 1;
    }
    queue.insert(at, sending);
}

/// The position of the segment of which `sending` is the last transmission, while it is awaited. `hint` is
/// looked at first.
fn awaited(sent: &VecDeque<Sent>, sending: Sending, hint: usize) -> Option<usize> {
    let hinted = sent.get(hint).is_some_and(|s| s.end() == sending.end);
    let at = if hinted { hint } else { sent.partition_point(|s| s.end() < sending.end) };
    let same = |s: &&Sent| s.sending() == sending && s.is_awaited();
    sent.get(at).filter(same).map(|_| at)
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
        let Some(front) = self.sent.front() else { return out };
        if self.index.is_none() && self.doubt_edge <= front.start && newest <= front.sending() {
            // All were sent once and in order, and nothing overtook the first.
            return out;
        }
        let index = self.index.get_or_insert_with(Box::default);
        let mut times =
            index.times.take().unwrap_or_else(|| Times::new(&self.sent, self.doubt_edge));
        times.overtake(&self.sent, newest);
        // Most follow each other.
        let (mut hint, mut run) = (0, (0, 0));
        while let Some(first) = times.overtaken.front().copied() {
            step();
            let found = awaited(&self.sent, first, hint);
            if found.is_some() && now < first.at + allowance {
                break;
            }
            times.overtaken.pop_front();
            let Some(at) = found else { continue };
            let sent = &mut self.sent[at];
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
            if run.1 != sent.start {
                index.waiting.insert(run.0, run.1);
                run.0 = sent.start;
            }
            run.1 = sent.end();
            hint = at + 1;
            out.bytes += len;
            out.segments += 1;
        }
        index.waiting.insert(run.0, run.1);
        // The last of them is due last.
        while let Some(last) = times.overtaken.back().copied() {
            step();
            if awaited(&self.sent, last, 0).is_some() {
                out.deadline = last.at + allowance;
                break;
            }
            times.overtaken.pop_back();
        }
        index.times = Some(times);
        self.release_index();
        out
    }

    /// The segment that ends with `sending` was sent again.
    pub(super) fn note_sent_again(&mut self, sending: Sending) {
        let most = 2 * self.sent.len() + LEAST_AGAIN;
        let Some(times) = self.index.as_mut().and_then(|index| index.times.as_mut()) else {
            return;
        };
        times.sent_again(sending);
        if times.again.len() > most {
            // Most were sent once more since, or arrived.
            times.again.retain(|sending| awaited(&self.sent, *sending, 0).is_some());
        }
    }

    /// The retransmission timer fired: the first segment is lost, and what was sent at least
    /// `allowance` ago (RFC 8985 §6.3). A peer that reneged holds nothing for sure: then all is.
    pub(crate) fn lose_on_timeout(&mut self, now: Instant, allowance: Duration) {
        if self.sent.front().is_some_and(|s| s.has(SACKED)) {
            self.mark_all_lost();
            return;
        }
        let waiting = &mut self.index.get_or_insert_with(Box::default).waiting;
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
            waiting.insert(sent.start, sent.end());
        }
    }
}

#[cfg(test)]
mod tests;
