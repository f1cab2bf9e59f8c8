//! Loss by time: the part of the scoreboard that RACK uses (RFC 8985 §6.2 step 5, §6.3).

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use lowtide_units::{Duration, Instant};

use super::visits::count_visit;
use super::{AMBIGUOUS, LOST, RETRANSMITTED, SACKED, Scoreboard, TxSegment};
use crate::recovery::SendOrder;

/// Entries of [`Times::again`] below which none is looked for that is of no use any more.
const COMPACT_FROM: usize = 16;

/// What came out of looking at the clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OverdueLosses {
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

impl TxSegment {
    pub(super) const fn send_order(&self) -> SendOrder {
        SendOrder { at: self.at, end: self.end() }
    }
    /// It may still arrive: neither SACKed nor lost without a retransmission on its way.
    const fn is_in_flight(&self) -> bool {
        !self.has(SACKED) && self.flags & (LOST | RETRANSMITTED) != LOST
    }
}

/// Segments in the order of sending, as far as loss by time asks for it. An ACK visits the segments that it
/// newly finds overtaken, lost or gone, and two more.
#[derive(Clone, Debug)]
pub(super) struct SendOrderIndex {
    /// Segments below this that were sent once have been looked at: all were sent before
    /// `RACK.segment`. Segments that were sent once are in the order of sending as they are.
    checked_upto: u64,
    /// Segments that were sent more than once and not before `RACK.segment`, in the order of sending.
    retransmitted: VecDeque<SendOrder>,
    /// Segments that were sent before `RACK.segment` and awaited when they came here, in the order of
    /// sending.
    overtaken: VecDeque<SendOrder>,
}

impl SendOrderIndex {
    /// Of a scoreboard in which every segment from `doubt_edge` on was sent once.
    fn new(sent: &VecDeque<TxSegment>, doubt_edge: u64) -> Self {
        let doubtful = sent.iter().take_while(|s| s.start < doubt_edge).inspect(|_| count_visit());
        let mut again: Vec<SendOrder> = doubtful
            .filter(|s| s.has(AMBIGUOUS) && s.is_in_flight())
            .map(TxSegment::send_order)
            .collect();
        again.sort_unstable();
        Self { checked_upto: 0, retransmitted: again.into(), overtaken: VecDeque::new() }
    }

    /// Bytes held outside of this struct.
    pub(super) fn heap(&self) -> usize {
        (self.retransmitted.capacity() + self.overtaken.capacity()) * size_of::<SendOrder>()
    }

    /// Nothing overtaken is awaited.
    pub(super) fn is_done(&self) -> bool {
        self.overtaken.is_empty()
    }

    pub(super) fn on_retransmit(&mut self, sending: SendOrder) {
        insert_sorted(&mut self.retransmitted, sending);
    }

    /// Finds the segments that were sent before `newest`, which has arrived.
    fn overtake(&mut self, sent: &VecDeque<TxSegment>, newest: SendOrder) {
        let from = sent.partition_point(|s| s.start < self.checked_upto);
        for segment in sent.range(from..) {
            count_visit();
            if !segment.has(AMBIGUOUS) {
                let sending = segment.send_order();
                if newest <= sending {
                    // Segments beyond it were sent later, those sent again later still.
                    break;
                }
                self.move_retransmitted(sending);
                if segment.is_in_flight() {
                    insert_sorted(&mut self.overtaken, sending);
                }
            }
            self.checked_upto = segment.end();
        }
        self.move_retransmitted(newest);
    }

    /// Moves what was sent again before `limit`.
    fn move_retransmitted(&mut self, limit: SendOrder) {
        while let Some(sending) = self.retransmitted.pop_front_if(|sending| *sending < limit) {
            count_visit();
            insert_sorted(&mut self.overtaken, sending);
        }
    }
}

/// Adds to a queue in the order of sending; it belongs at the back, or near it.
fn insert_sorted(queue: &mut VecDeque<SendOrder>, sending: SendOrder) {
    let mut at = queue.len();
    while at > 0 && queue[at - 1] > sending {
        count_visit();
        at -= 1;
    }
    queue.insert(at, sending);
}

/// The position of the segment of which `sending` is the last transmission, while it is awaited. `hint` is
/// looked at first.
fn find_in_flight(sent: &VecDeque<TxSegment>, sending: SendOrder, hint: usize) -> Option<usize> {
    let hinted = sent.get(hint).is_some_and(|s| s.end() == sending.end);
    let at = if hinted { hint } else { sent.partition_point(|s| s.end() < sending.end) };
    let same = |s: &&TxSegment| s.send_order() == sending && s.is_in_flight();
    sent.get(at).filter(same).map(|_| at)
}

impl Scoreboard {
    /// Judges as lost what was sent before `newest`, which has arrived, and at least `allowance` ago.
    pub(crate) fn mark_overdue_lost(
        &mut self,
        now: Instant,
        newest: SendOrder,
        allowance: Duration,
    ) -> OverdueLosses {
        let mut out =
            OverdueLosses { bytes: 0, segments: 0, resent_at: None, deadline: Instant::FAR_FUTURE };
        let Some(front) = self.sent.front() else { return out };
        if self.index.is_none()
            && self.ambiguous_edge <= front.start
            && newest <= front.send_order()
        {
            // All were sent once and in order, and nothing overtook the first.
            return out;
        }
        let index = self.index.get_or_insert_with(Box::default);
        let mut times = index
            .times
            .take()
            .unwrap_or_else(|| SendOrderIndex::new(&self.sent, self.ambiguous_edge));
        times.overtake(&self.sent, newest);
        // Most follow each other.
        let (mut hint, mut run) = (0, (0, 0));
        while let Some(first) = times.overtaken.front().copied() {
            count_visit();
            let found = find_in_flight(&self.sent, first, hint);
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
                index.to_retransmit.insert(run.0, run.1);
                run.0 = sent.start;
            }
            run.1 = sent.end();
            hint = at + 1;
            out.bytes += len;
            out.segments += 1;
        }
        index.to_retransmit.insert(run.0, run.1);
        // The last of them is due last.
        while let Some(last) = times.overtaken.back().copied() {
            count_visit();
            if find_in_flight(&self.sent, last, 0).is_some() {
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
    pub(super) fn note_retransmission(&mut self, sending: SendOrder) {
        let most = 2 * self.sent.len() + COMPACT_FROM;
        let Some(times) = self.index.as_mut().and_then(|index| index.times.as_mut()) else {
            return;
        };
        times.on_retransmit(sending);
        if times.retransmitted.len() > most {
            // Most were sent once more since, or arrived.
            times.retransmitted.retain(|sending| find_in_flight(&self.sent, *sending, 0).is_some());
        }
    }

    /// The retransmission timer fired: the first segment is lost, and what was sent at least
    /// `allowance` ago (RFC 8985 §6.3). A peer that reneged holds nothing for sure: then all is.
    pub(crate) fn mark_lost_on_rto(&mut self, now: Instant, allowance: Duration) {
        if self.sent.front().is_some_and(|s| s.has(SACKED)) {
            self.mark_all_lost();
            return;
        }
        let waiting = &mut self.index.get_or_insert_with(Box::default).to_retransmit;
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
