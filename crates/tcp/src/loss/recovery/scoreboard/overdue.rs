//! Time-based loss marking: the part of the scoreboard that RACK uses (RFC 8985 §6.2 step 5, §6.3).

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use lowtide_units::{Duration, Instant};

use super::visits::count_visit;
use super::{AMBIGUOUS, LOST, RETRANSMITTED, SACKED, Scoreboard, TxSegment};
use crate::loss::recovery::SendOrder;

/// Entries of [`SendOrderIndex::retransmitted`] below which stale entries are not removed.
const COMPACT_FROM: usize = 16;

/// Result of [`Scoreboard::mark_overdue_lost`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OverdueLosses {
    /// Newly marked lost, lost retransmissions included, bytes.
    pub(crate) bytes: u64,
    /// Newly marked lost, segments.
    pub(crate) segments: u32,
    /// Send time of the most recently sent retransmission that is lost.
    pub(crate) resent_at: Option<Instant>,
    /// Time when all overtaken segments will be overdue; [`Instant::FAR_FUTURE`] if there are none.
    pub(crate) deadline: Instant,
}

impl TxSegment {
    pub(super) const fn send_order(&self) -> SendOrder {
        SendOrder { at: self.at, end: self.end() }
    }
    /// Returns whether the segment may still arrive: it is not SACKed, and if lost, it was
    /// retransmitted.
    const fn is_in_flight(&self) -> bool {
        !self.has(SACKED) && self.flags & (LOST | RETRANSMITTED) != LOST
    }
}

/// Segments in the order of transmission, as far as RACK needs them. An ACK visits the segments
/// that it newly finds overtaken, lost or delivered, and two more.
#[derive(Clone, Debug)]
pub(super) struct SendOrderIndex {
    /// Segments below this offset that were sent once have been visited: all were sent before
    /// `RACK.segment`. Segments that were sent once are in the order of transmission.
    checked_upto: u64,
    /// Segments that were sent more than once and not before `RACK.segment`, in the order of
    /// transmission.
    retransmitted: VecDeque<SendOrder>,
    /// Segments that were sent before `RACK.segment` and were in flight when they were added, in
    /// the order of transmission.
    overtaken: VecDeque<SendOrder>,
}

impl SendOrderIndex {
    /// Builds the index of a scoreboard in which every segment from `ambiguous_edge` on was sent
    /// once.
    fn new(sent: &VecDeque<TxSegment>, ambiguous_edge: u64) -> Self {
        let ambiguous =
            sent.iter().take_while(|s| s.start < ambiguous_edge).inspect(|_| count_visit());
        let mut retransmitted: Vec<SendOrder> = ambiguous
            .filter(|s| s.has(AMBIGUOUS) && s.is_in_flight())
            .map(TxSegment::send_order)
            .collect();
        retransmitted.sort_unstable();
        Self { checked_upto: 0, retransmitted: retransmitted.into(), overtaken: VecDeque::new() }
    }

    /// Heap memory, bytes.
    pub(super) fn heap(&self) -> usize {
        (self.retransmitted.capacity() + self.overtaken.capacity()) * size_of::<SendOrder>()
    }

    /// Returns whether no overtaken segment is in flight.
    pub(super) fn is_done(&self) -> bool {
        self.overtaken.is_empty()
    }

    pub(super) fn on_retransmit(&mut self, order: SendOrder) {
        insert_sorted(&mut self.retransmitted, order);
    }

    /// Adds the segments that were sent before `newest`, which was delivered.
    fn overtake(&mut self, sent: &VecDeque<TxSegment>, newest: SendOrder) {
        let from = sent.partition_point(|s| s.start < self.checked_upto);
        for segment in sent.range(from..) {
            count_visit();
            if !segment.has(AMBIGUOUS) {
                let order = segment.send_order();
                if newest <= order {
                    // Segments beyond it were sent later, and retransmissions of them later still.
                    break;
                }
                self.move_retransmitted(order);
                if segment.is_in_flight() {
                    insert_sorted(&mut self.overtaken, order);
                }
            }
            self.checked_upto = segment.end();
        }
        self.move_retransmitted(newest);
    }

    /// Moves the retransmitted segments sent before `limit` to `overtaken`.
    fn move_retransmitted(&mut self, limit: SendOrder) {
        while let Some(order) = self.retransmitted.pop_front_if(|order| *order < limit) {
            count_visit();
            insert_sorted(&mut self.overtaken, order);
        }
    }
}

/// Inserts into a queue in the order of transmission, at or near the back.
fn insert_sorted(queue: &mut VecDeque<SendOrder>, order: SendOrder) {
    let mut at = queue.len();
    while at > 0 && queue[at - 1] > order {
        count_visit();
        at -= 1;
    }
    queue.insert(at, order);
}

/// Returns the position of the segment whose last transmission is `order`, if it is in flight.
/// Tries `hint` first.
fn find_in_flight(sent: &VecDeque<TxSegment>, order: SendOrder, hint: usize) -> Option<usize> {
    let hinted = sent.get(hint).is_some_and(|s| s.end() == order.end);
    let at = if hinted { hint } else { sent.partition_point(|s| s.end() < order.end) };
    let same = |s: &&TxSegment| s.send_order() == order && s.is_in_flight();
    sent.get(at).filter(same).map(|_| at)
}

impl Scoreboard {
    /// Marks segments lost that were sent before `newest`, which was delivered, and at least
    /// `loss_delay` ago.
    pub(crate) fn mark_overdue_lost(
        &mut self,
        now: Instant,
        newest: SendOrder,
        loss_delay: Duration,
    ) -> OverdueLosses {
        let mut out =
            OverdueLosses { bytes: 0, segments: 0, resent_at: None, deadline: Instant::FAR_FUTURE };
        let Some(front) = self.sent.front() else { return out };
        if self.index.is_none()
            && self.ambiguous_edge <= front.start
            && newest <= front.send_order()
        {
            // All segments were sent once and in order, and none overtook the first.
            return out;
        }
        let index = self.index.get_or_insert_with(Box::default);
        let mut times = index
            .times
            .take()
            .unwrap_or_else(|| SendOrderIndex::new(&self.sent, self.ambiguous_edge));
        times.overtake(&self.sent, newest);
        // Most are adjacent.
        let (mut hint, mut run) = (0, (0, 0));
        while let Some(first) = times.overtaken.front().copied() {
            count_visit();
            let found = find_in_flight(&self.sent, first, hint);
            if found.is_some() && now < first.at + loss_delay {
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
        // The last of them has the latest deadline.
        while let Some(last) = times.overtaken.back().copied() {
            count_visit();
            if find_in_flight(&self.sent, last, 0).is_some() {
                out.deadline = last.at + loss_delay;
                break;
            }
            times.overtaken.pop_back();
        }
        index.times = Some(times);
        self.release_index();
        out
    }

    /// Records the retransmission of the segment that ends at `order.end`.
    pub(super) fn note_retransmission(&mut self, order: SendOrder) {
        let limit = 2 * self.sent.len() + COMPACT_FROM;
        let Some(times) = self.index.as_mut().and_then(|index| index.times.as_mut()) else {
            return;
        };
        times.on_retransmit(order);
        if times.retransmitted.len() > limit {
            // Most were retransmitted again since, or arrived.
            times.retransmitted.retain(|order| find_in_flight(&self.sent, *order, 0).is_some());
        }
    }

    /// Marks segments lost after a retransmission timeout: the first, and those sent at least
    /// `loss_delay` ago (RFC 8985 §6.3). If the peer has reneged, marks all.
    pub(crate) fn mark_lost_on_rto(&mut self, now: Instant, loss_delay: Duration) {
        if self.sent.front().is_some_and(|s| s.has(SACKED)) {
            self.mark_all_lost();
            return;
        }
        let waiting = &mut self.index.get_or_insert_with(Box::default).to_retransmit;
        for (index, sent) in self.sent.iter_mut().enumerate() {
            if sent.has(SACKED) || (index > 0 && now < sent.at + loss_delay) {
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
