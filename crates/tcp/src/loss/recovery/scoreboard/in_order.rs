//! The fast path of the scoreboard. In most cases each segment in flight was sent once and in
//! order, so an ACK only removes the first segments.
//!
//! Contract: the results equal those of [`Scoreboard::ack`] and
//! [`RackSample`](crate::loss::recovery::RackSample) segment by segment.

use core::hint::cold_path;

use super::{AMBIGUOUS, Acked, Scoreboard};
use crate::loss::recovery::SendOrder;

/// Segments that one ACK acknowledged in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InOrderAck {
    /// End of the first segment.
    pub(crate) first_end: u64,
    /// The last segment.
    pub(crate) last: SendOrder,
}

impl Scoreboard {
    /// Returns whether no segment at or above `una`, SND.UNA, was SACKed, marked lost or sent more
    /// than once.
    #[inline]
    pub(crate) const fn is_plain(&self, una: u64) -> bool {
        self.sacked_bytes == 0 && self.lost_bytes == 0 && self.ambiguous_edge <= una
    }

    /// [`Self::ack`] for a plain scoreboard; `out` must be empty.
    #[inline]
    pub(crate) fn ack_in_order(&mut self, una: u64, out: &mut Acked) -> Option<InOrderAck> {
        let mut arrived: Option<InOrderAck> = None;
        if let Some(&first) = self.sent.front().filter(|first| first.end() <= una) {
            let (mut last, mut segments) = (first, 0);
            while let Some(front) = self.sent.front().filter(|front| front.end() <= una) {
                last = *front;
                segments += 1;
                self.sent.pop_front();
            }
            let order = SendOrder { at: last.at, end: last.end() };
            arrived = Some(InOrderAck { first_end: first.end(), last: order });
            // Segments have no gaps.
            out.acked_bytes = last.end() - first.start;
            out.acked_segments = segments;
            out.delivered_bytes = out.acked_bytes;
            out.delivered_segments = segments;
            out.newest = Some(order);
            self.out_bytes -= out.acked_bytes;
        }
        match self.sent.front() {
            Some(front) if front.start < una => {
                cold_path();
                let last = SendOrder { at: front.at, end: una };
                let first_end = arrived.map_or(una, |a| a.first_end);
                // The ACK covers part of a segment. Only a copy is in memory for the call.
                let mut whole = *out;
                self.ack(una, &mut whole);
                *out = whole;
                Some(InOrderAck { first_end, last })
            }
            _ => arrived,
        }
    }

    /// Makes the scoreboard never plain again.
    #[cfg(test)]
    pub(crate) const fn mark_all_ambiguous(&mut self) {
        self.ambiguous_edge = u64::MAX;
    }

    /// Send order of the first segment in flight, if it was sent only once.
    #[inline]
    pub(crate) fn first_send_order(&self) -> Option<SendOrder> {
        let front = self.sent.front().filter(|s| !s.has(AMBIGUOUS))?;
        Some(SendOrder { at: front.at, end: front.end() })
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use lowtide_units::{Duration, Instant};

    use super::*;
    use crate::loss::recovery::Rack;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    /// Ten segments of 100 B, sent in pairs.
    fn flight() -> Scoreboard {
        let mut board = Scoreboard::default();
        for i in 0..10 {
            board.push(100 * i, 100, at(i / 2));
        }
        board
    }

    #[test]
    fn the_fast_path_equals_the_slow_path_for_every_split_of_the_stream() {
        for first in (0..=1000).step_by(10) {
            for second in [first, first + 1, first + 99, first + 100, first + 250, 1000] {
                let (mut fast, mut slow) = (flight(), flight());
                let (mut fast_rack, mut slow_rack) = (Rack::new(), Rack::new());
                for una in [first, second.min(1000)] {
                    assert!(fast.is_plain(una));
                    let (mut a, mut b) = (Acked::default(), Acked::default());
                    if let Some(arrived) = fast.ack_in_order(una, &mut a) {
                        fast_rack.on_in_order(at(50), &arrived);
                    }
                    b.rack_sample = Some(slow_rack.begin_sample(at(0)));
                    slow.ack(una, &mut b);
                    slow_rack.on_sample(at(50), &b.rack_sample.take().unwrap());
                    assert_eq!(format!("{a:?}"), format!("{b:?}"), "{first} {una}");
                    assert_eq!(format!("{fast:?}"), format!("{slow:?}"), "{first} {una}");
                    assert_eq!(format!("{fast_rack:?}"), format!("{slow_rack:?}"), "{first} {una}");
                }
            }
        }
    }

    #[test]
    fn retransmitted_sacked_and_lost_segments_are_not_plain_until_acknowledged() {
        let mut board = flight();
        board.on_retransmit(200, 300, at(9));
        assert!(!board.is_plain(0) && !board.is_plain(299) && board.is_plain(300));
        assert_eq!(board.first_send_order().map(|s| s.end), Some(100));
        board.ack(200, &mut Acked::default());
        assert_eq!(board.first_send_order(), None);
        let mut board = flight();
        board.sack(500, 600, &mut Acked::default());
        assert!(!board.is_plain(0));
        let mut board = flight();
        board.mark_front_lost();
        assert!(!board.is_plain(0));
    }
}
