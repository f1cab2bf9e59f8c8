//! The scoreboard: all segments in flight and their state (RFC 6675 §3, §4).
//!
//! Pure bookkeeping: decides which segments are lost and computes the pipe. Sends nothing, runs no
//! timer and does not change cwnd. Offsets count sequence space from the first payload byte; ranges
//! are half-open.
//!
//! Deviation from RFC 6675: losses are decided for whole segments as they were sent, not for single
//! bytes. A SACK block that covers part of a segment does not count until it covers the whole
//! segment.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use lowtide_units::Instant;

use super::{RackSample, SendOrder};
pub(crate) use in_order::InOrderAck;
use index::Index;
use visits::count_visit;
#[cfg(test)]
pub(crate) use visits::take_visits;

mod in_order;
mod index;
mod overdue;
mod ranges;
mod resegment;
mod sacked;
mod visits;

const SACKED: u8 = 1;
const LOST: u8 = 2;
/// A retransmission of the segment is in flight.
const RETRANSMITTED: u8 = 4;
/// The segment was sent more than once (Karn).
const AMBIGUOUS: u8 = 8;

/// Minimum of segments in flight for trimming: with fewer, the flow is starting or ending.
const TRIM_FROM: usize = 4;

/// One segment in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TxSegment {
    /// First offset.
    pub(crate) start: u64,
    /// Length in sequence space (a FIN counts one).
    pub(crate) len: u32,
    flags: u8,
    /// Time of the last transmission.
    pub(crate) at: Instant,
}

impl TxSegment {
    pub(crate) const fn end(&self) -> u64 {
        self.start + self.len as u64
    }
    const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// The data that one ACK newly delivered.
#[expect(clippy::struct_field_names, reason = "the names of AckSample")]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Acked {
    /// Cumulatively acknowledged, bytes.
    pub(crate) acked_bytes: u64,
    /// Cumulatively acknowledged, segments.
    pub(crate) acked_segments: u32,
    /// Newly SACKed, bytes.
    pub(crate) sacked_bytes: u64,
    /// Newly SACKed, segments.
    pub(crate) sacked_segments: u32,
    /// Delivered for the first time, bytes.
    pub(crate) delivered_bytes: u64,
    /// Delivered for the first time, segments.
    pub(crate) delivered_segments: u32,
    /// The most recently sent of the newly delivered segments that was sent only once.
    pub(crate) newest: Option<SendOrder>,
    /// The most recently sent of those that were sent more than once.
    pub(crate) newest_resent: Option<SendOrder>,
    /// Send times and order for RACK; `None` for other loss detectors.
    pub(crate) rack_sample: Option<RackSample>,
    /// A retransmitted segment filled a hole. Data acknowledged with it may have waited behind the
    /// hole, so its delay is no RTT sample.
    pub(crate) filled_hole: bool,
    /// The earliest time of retransmission of a segment newly SACKed while a retransmission of it
    /// was in flight.
    pub(crate) resent_at: Option<Instant>,
    /// Time of transmission of the first of the newly SACKed segments that were sent only once.
    pub(crate) first_sacked: Option<Instant>,
}

/// Data newly marked lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Lost {
    pub(crate) bytes: u64,
    pub(crate) segments: u32,
}

impl Lost {
    pub(crate) const NONE: Self = Self { bytes: 0, segments: 0 };
}

impl Acked {
    fn deliver(&mut self, sent: &TxSegment) {
        self.delivered_bytes += u64::from(sent.len);
        self.delivered_segments += 1;
        let newest = if sent.has(AMBIGUOUS) { &mut self.newest_resent } else { &mut self.newest };
        if newest.is_none_or(|n| n.at <= sent.at) {
            *newest = Some(sent.send_order());
        }
        if let Some(sample) = &mut self.rack_sample {
            sample.on_delivered(SendOrder { at: sent.at, end: sent.end() }, sent.has(AMBIGUOUS));
        }
    }
}

/// All segments between SND.UNA and SND.NXT, in order and without gaps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    sent: VecDeque<TxSegment>,
    out_bytes: u64,
    sacked_bytes: u64,
    sacked_segments: u32,
    lost_bytes: u64,
    retransmitted_bytes: u64,
    /// One past the highest offset that was SACKed.
    high_sacked: u64,
    /// All segments below this offset are SACKed or marked lost.
    loss_edge: u64,
    /// One past the highest offset retransmitted in this episode (HighRxt).
    high_rxt: u64,
    /// All segments at or above this offset were sent once.
    ambiguous_edge: u64,
    /// Index of the SACKed, lost and overtaken segments; `None` without such a segment.
    index: Option<Box<Index>>,
}

impl Scoreboard {
    /// Adds a segment that was sent. `start` must be the end of the last one.
    #[inline]
    pub(crate) fn push(&mut self, start: u64, len: u32, at: Instant) {
        self.sent.push_back(TxSegment { start, len, flags: 0, at });
        self.out_bytes += u64::from(len);
    }

    /// Heap memory, bytes.
    pub(crate) fn heap(&self) -> usize {
        let index = self.index.as_ref().map_or(0, |index| index.heap());
        self.sent.capacity() * size_of::<TxSegment>() + index
    }

    /// Frees memory after the window has shrunk, at most once per halving. Also keeps the segments
    /// in recently used memory. Call it once per round trip.
    pub(crate) fn trim(&mut self) {
        let len = self.sent.len();
        if len >= TRIM_FROM && self.sent.capacity() > 4 * len.next_power_of_two() {
            self.sent.shrink_to(2 * len.next_power_of_two());
        }
    }

    /// Marks the last segment as ambiguous: it contains a byte that had been sent before, so its
    /// ACK gives no RTT sample (Karn).
    pub(crate) fn mark_ambiguous(&mut self) {
        if let Some(last) = self.sent.back_mut() {
            last.flags |= AMBIGUOUS;
            self.ambiguous_edge = self.ambiguous_edge.max(last.end());
            let order = last.send_order();
            self.note_retransmission(order);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Segments in flight.
    pub(crate) fn len(&self) -> usize {
        self.sent.len()
    }

    /// Bytes sent and not cumulatively acknowledged (FlightSize of RFC 5681).
    pub(crate) const fn flight_size(&self) -> u64 {
        self.out_bytes
    }

    /// Bytes in flight that were SACKed.
    pub(crate) const fn sacked(&self) -> u64 {
        self.sacked_bytes
    }

    /// Segments in flight that were SACKed.
    pub(crate) const fn sacked_segments(&self) -> u32 {
        self.sacked_segments
    }

    /// Returns whether a retransmission is in flight that was neither acknowledged nor SACKed.
    pub(crate) const fn has_retransmission_in_flight(&self) -> bool {
        self.retransmitted_bytes > 0
    }

    /// Returns whether a segment is marked lost and not yet acknowledged, retransmitted or not.
    pub(crate) const fn has_lost(&self) -> bool {
        self.lost_bytes > 0
    }

    /// As much is sent again as is lost.
    pub(crate) const fn lost_is_resent(&self) -> bool {
        self.lost_bytes <= self.retransmitted_bytes
    }

    /// Time of the last transmission of the segment at SND.UNA.
    pub(crate) fn first_sent_at(&self) -> Option<Instant> {
        self.sent.front().map(|sent| sent.at)
    }

    /// The segment that ends at SND.NXT.
    pub(crate) fn last(&self) -> Option<TxSegment> {
        self.sent.back().copied()
    }

    /// Returns whether exactly one segment is in flight.
    pub(crate) fn has_one_segment(&self) -> bool {
        self.sent.len() == 1
    }

    /// Bytes estimated to be in the network (RFC 6675 SetPipe).
    pub(crate) const fn pipe(&self) -> u64 {
        self.out_bytes - self.sacked_bytes - self.lost_bytes + self.retransmitted_bytes
    }

    /// Processes a cumulative ACK of all data below `una`.
    pub(crate) fn ack(&mut self, una: u64, out: &mut Acked) {
        while let Some(front) = self.sent.front_mut() {
            if front.start >= una {
                break;
            }
            if front.end() > una {
                // The peer acknowledged part of a segment: the rest remains as a segment.
                let head = (una - front.start) as u32;
                let mut part = *front;
                part.len = head;
                front.start = una;
                front.len -= head;
                self.uncount(&part);
                let segments = out.delivered_segments;
                Self::count_acked(&part, out);
                // The last byte is still missing: the segment has not been delivered.
                out.delivered_segments = segments;
                break;
            }
            let acked = *front;
            self.sent.pop_front();
            self.uncount(&acked);
            self.sacked_segments -= u32::from(acked.has(SACKED));
            Self::count_acked(&acked, out);
            out.acked_segments += 1;
        }
        if let Some(index) = &mut self.index {
            index.sacked.cut_below(una);
            index.to_retransmit.cut_below(una);
            self.release_index();
        }
    }

    fn count_acked(part: &TxSegment, out: &mut Acked) {
        out.acked_bytes += u64::from(part.len);
        if !part.has(SACKED) {
            out.deliver(part);
            out.filled_hole |= part.has(AMBIGUOUS);
        }
    }

    /// Subtracts a segment, or a part of one, from the counters.
    fn uncount(&mut self, sent: &TxSegment) {
        let len = u64::from(sent.len);
        self.out_bytes -= len;
        if sent.has(SACKED) {
            self.sacked_bytes -= len;
        } else if sent.has(LOST) {
            self.lost_bytes -= len;
        }
        if sent.has(RETRANSMITTED) {
            self.retransmitted_bytes -= len;
        }
    }

    /// Marks the oldest segment lost (third duplicate ACK, or partial ACK without SACK).
    pub(crate) fn mark_front_lost(&mut self) -> Lost {
        let end = self.sent.len().min(1);
        if let Some(front) = self.sent.front_mut() {
            // A partial ACK shows that this segment never arrived, retransmitted or not.
            if front.has(RETRANSMITTED) {
                front.flags &= !RETRANSMITTED;
                self.retransmitted_bytes -= u64::from(front.len);
            }
            let (start, end) = (front.start, front.end());
            self.index().to_retransmit.insert(start, end);
        }
        self.mark_lost(0, end)
    }

    /// Marks all segments lost that were not SACKed: the retransmission timer fired.
    ///
    /// SACK information is kept (RFC 6675 §5.1), unless the peer has reneged: a SACKed first
    /// segment shows that (RFC 2018 §8).
    pub(crate) fn mark_all_lost(&mut self) {
        if self.sent.front().is_some_and(|s| s.has(SACKED)) {
            self.sacked_bytes = 0;
            self.sacked_segments = 0;
            self.high_sacked = 0;
            for sent in &mut self.sent {
                sent.flags &= !SACKED;
            }
            self.index().sacked.clear();
        }
        self.lost_bytes = 0;
        for sent in &mut self.sent {
            sent.flags &= !RETRANSMITTED;
            if !sent.has(SACKED) {
                sent.flags |= LOST;
                self.lost_bytes += u64::from(sent.len);
            }
        }
        self.retransmitted_bytes = 0;
        if let (Some(first), Some(last)) = (self.sent.front(), self.sent.back()) {
            let (start, end) = (first.start, last.end());
            self.high_rxt = start;
            self.loss_edge = end;
            self.index().to_retransmit.insert(start, end);
        }
    }

    /// Clears all loss marks after a spurious recovery: each segment that was not SACKed is in
    /// flight, once.
    pub(crate) fn undo_losses(&mut self) {
        for sent in &mut self.sent {
            sent.flags &= !(LOST | RETRANSMITTED);
        }
        self.lost_bytes = 0;
        self.retransmitted_bytes = 0;
        self.loss_edge = self.sent.front().map_or(self.loss_edge, |s| s.start);
        if let Some(index) = &mut self.index {
            index.to_retransmit.clear();
            // The segments that were overtaken count again.
            index.times = None;
        }
    }

    /// All segments in flight: start, end, and whether they are lost and not sent again.
    pub(crate) fn loss_marks(&self) -> impl Iterator<Item = (u64, u64, bool)> + '_ {
        let lost = |s: &TxSegment| s.flags & (LOST | RETRANSMITTED | SACKED) == LOST;
        self.sent.iter().map(move |s| (s.start, s.end(), lost(s)))
    }

    fn mark_lost(&mut self, from: usize, to: usize) -> Lost {
        let mut lost = Lost::NONE;
        if from < to {
            let waiting = &mut self.index.get_or_insert_with(Box::default).to_retransmit;
            let mut run = (0, 0);
            for sent in self.sent.range_mut(from..to) {
                count_visit();
                if sent.flags & (SACKED | LOST) == 0 {
                    sent.flags |= LOST;
                    lost.bytes += u64::from(sent.len);
                    lost.segments += 1;
                    if run.1 < sent.start {
                        waiting.insert(run.0, run.1);
                        run.0 = sent.start;
                    }
                    run.1 = sent.end();
                }
            }
            waiting.insert(run.0, run.1);
        }
        self.lost_bytes += lost.bytes;
        lost
    }

    /// The lowest lost segment that was not retransmitted yet (RFC 6675 NextSeg rule 1).
    pub(crate) fn next_lost(&mut self) -> Option<TxSegment> {
        if self.lost_bytes == 0 {
            return None;
        }
        let waiting = &mut self.index.as_mut()?.to_retransmit;
        while let Some((start, end)) = waiting.first() {
            let from = self.sent.partition_point(|s| s.end() <= start);
            let inside = self.sent.range(from..).take_while(|s| s.start < end);
            let found = inside.inspect(|_| count_visit()).find(|s| s.needs_retransmit()).copied();
            waiting.cut_below(found.map_or(end, |s| s.start));
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Records the retransmission of `[start, end)` at `at`.
    pub(crate) fn on_retransmit(&mut self, start: u64, end: u64, at: Instant) {
        let from = self.sent.partition_point(|s| s.end() <= start);
        for position in from..self.sent.len() {
            let sent = &mut self.sent[position];
            if sent.start >= end {
                break;
            }
            if !sent.has(RETRANSMITTED) {
                self.retransmitted_bytes += u64::from(sent.len);
            }
            sent.flags |= RETRANSMITTED | AMBIGUOUS;
            sent.at = at;
            let order = sent.send_order();
            self.ambiguous_edge = self.ambiguous_edge.max(order.end);
            self.note_retransmission(order);
        }
    }

    /// Raises HighRxt to `end`.
    pub(crate) fn move_high_rxt(&mut self, end: u64) {
        self.high_rxt = self.high_rxt.max(end);
    }

    /// Begins an episode: HighRxt starts at SND.UNA.
    pub(crate) fn begin_episode(&mut self, una: u64) {
        self.high_rxt = una;
    }

    /// Returns whether the first segment is lost: RFC 6675 entry condition (2).
    pub(crate) fn front_is_lost(&self) -> bool {
        self.sent.front().is_some_and(|s| s.has(LOST) && !s.has(SACKED))
    }
}

#[cfg(test)]
mod index_equivalence;
#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
