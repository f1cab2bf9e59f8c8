//! The scoreboard while nothing is amiss, as it mostly is: what is in flight stands in the order in which
//! it was sent, each segment once, so that an ACK takes away the first ones and nothing else.
//!
//! Contract: what comes out is what [`Scoreboard::ack`] and [`Arrivals`](crate::recovery::Arrivals) make of
//! it one by one.

use super::{AMBIGUOUS, Acked, Newest, Scoreboard};
use crate::recovery::Sending;

/// What arrived in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InOrder {
    /// End of the first segment.
    pub(crate) first_end: u64,
    /// The last one.
    pub(crate) last: Sending,
}

impl Scoreboard {
    /// Nothing at or above `una`, SND.UNA, was SACKed, judged lost or sent more than once.
    #[inline]
    pub(crate) const fn is_plain(&self, una: u64) -> bool {
        self.sacked_bytes == 0 && self.lost_bytes == 0 && self.doubt_edge <= una
    }

    /// [`Self::ack`] of a plain scoreboard, into an `out` in which nothing stands yet.
    #[inline]
    pub(crate) fn ack_in_order(&mut self, una: u64, out: &mut Acked) -> Option<InOrder> {
        let mut arrived: Option<InOrder> = None;
        while let Some(front) = self.sent.front() {
            let end = front.end();
            if end > una {
                break;
            }
            let last = Sending { at: front.at, end };
            let first_end = arrived.map_or(end, |a| a.first_end);
            arrived = Some(InOrder { first_end, last });
            out.acked_bytes += u64::from(front.len);
            out.acked_segments += 1;
            out.newest = Some(Newest::of(front));
            self.sent.pop_front();
        }
        self.out_bytes -= out.acked_bytes;
        out.delivered_bytes = out.acked_bytes;
        out.delivered_segments = out.acked_segments;
        match self.sent.front() {
            Some(front) if front.start < una => {
                let last = Sending { at: front.at, end: una };
                let first_end = arrived.map_or(una, |a| a.first_end);
                // It acknowledges part of a segment.
                self.ack(una, out);
                Some(InOrder { first_end, last })
            }
            _ => arrived,
        }
    }

    /// Never plain again.
    #[cfg(test)]
    pub(crate) const fn doubt_everything(&mut self) {
        self.doubt_edge = u64::MAX;
    }

    /// What was sent first of all that is in flight, where that is known.
    #[inline]
    pub(crate) fn first_sending(&self) -> Option<Sending> {
        let front = self.sent.front().filter(|s| !s.has(AMBIGUOUS))?;
        Some(Sending { at: front.at, end: front.end() })
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use lowtide_units::{Duration, Instant};

    use super::*;
    use crate::recovery::Rack;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    /// Ten segments of 100 B, two at a time.
    fn flight() -> Scoreboard {
        let mut board = Scoreboard::default();
        for i in 0..10 {
            board.push(100 * i, 100, at(i / 2), 7 * i, at(i), i == 9);
        }
        board
    }

    #[test]
    fn it_is_the_same_as_one_by_one_for_every_split_of_the_stream_in_two_acks() {
        for first in (0..=1000).step_by(10) {
            for second in [first, first + 1, first + 99, first + 100, first + 250, 1000] {
                let (mut fast, mut slow) = (flight(), flight());
                let (mut quick, mut careful) = (Rack::new(), Rack::new());
                for una in [first, second.min(1000)] {
                    assert!(fast.is_plain(una));
                    let (mut a, mut b) = (Acked::default(), Acked::default());
                    if let Some(arrived) = fast.ack_in_order(una, &mut a) {
                        quick.on_in_order(at(50), &arrived);
                    }
                    b.arrivals = Some(careful.listen(at(0)));
                    slow.ack(una, &mut b);
                    careful.on_arrivals(at(50), &b.arrivals.take().unwrap());
                    assert_eq!(format!("{a:?}"), format!("{b:?}"), "{first} {una}");
                    assert_eq!(format!("{fast:?}"), format!("{slow:?}"), "{first} {una}");
                    assert_eq!(format!("{quick:?}"), format!("{careful:?}"), "{first} {una}");
                }
            }
        }
    }

    #[test]
    fn what_was_sent_again_sacked_or_lost_is_not_plain_until_it_is_acknowledged() {
        let mut board = flight();
        board.on_retransmit(200, 300, at(9));
        assert!(!board.is_plain(0) && !board.is_plain(299) && board.is_plain(300));
        assert_eq!(board.first_sending().map(|s| s.end), Some(100));
        board.ack(200, &mut Acked::default());
        assert_eq!(board.first_sending(), None);
        let mut board = flight();
        board.sack(500, 600, &mut Acked::default());
        assert!(!board.is_plain(0));
        let mut board = flight();
        board.mark_front_lost();
        assert!(!board.is_plain(0));
    }
}
