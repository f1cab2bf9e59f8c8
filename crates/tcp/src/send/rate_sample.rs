//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation-02 §3; Linux `tcp_rate.c`) for
//! a control that asks for them ([`crate::cc::Requirements::rate_samples`]).
//!
//! Contract: each data segment, new or sent again, records the delivered bytes when it is sent. An
//! ACK is measured from the segment that was sent last among those it delivers. A connection whose
//! control needs no samples has no such state.

use alloc::collections::VecDeque;

use lowtide_units::{Duration, Instant};

use crate::cc::{LostSegment, RateSample};
use crate::loss::recovery::SendOrder;

/// State at the transmission of a segment, the draft's `P`.
#[derive(Clone, Copy, Debug)]
struct SentState {
    /// One past its last offset.
    end: u64,
    sent_at: Instant,
    /// Send time of the segment from which the send rate is measured.
    first_sent_at: Instant,
    delivered: u64,
    delivered_at: Instant,
    app_limited: bool,
    /// Bytes in flight, this segment included.
    in_flight: u64,
    /// Bytes lost on the connection.
    lost: u64,
    /// It was marked lost since.
    is_lost: bool,
}

/// The draft's `C`: the delivery of a connection.
#[derive(Clone, Debug)]
pub(crate) struct RateSampler {
    /// All segments in flight, by offset.
    sent: VecDeque<SentState>,
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    /// `C.app_limited`: segments are app-limited until more than this is delivered.
    app_limited_until: Option<u64>,
    /// Bytes marked lost.
    lost: u64,
}

impl RateSampler {
    pub(crate) const fn new(now: Instant) -> Self {
        Self {
            sent: VecDeque::new(),
            delivered: 0,
            delivered_at: now,
            first_sent_at: now,
            app_limited_until: None,
            lost: 0,
        }
    }

    /// Heap memory, bytes.
    pub(crate) fn heap(&self) -> usize {
        size_of_val(self) + self.sent.capacity() * size_of::<SentState>()
    }

    pub(crate) const fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }

    /// The application has nothing more to send, although cwnd permits it; `in_flight` is the pipe.
    pub(crate) fn set_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = Some(self.delivered + in_flight);
    }

    const fn state(&self, end: u64, sent_at: Instant, in_flight: u64) -> SentState {
        SentState {
            end,
            sent_at,
            first_sent_at: self.first_sent_at,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            app_limited: self.is_app_limited(),
            in_flight,
            lost: self.lost,
            is_lost: false,
        }
    }

    /// A segment up to `end` is sent, with which `in_flight` are; `first`: nothing was outstanding,
    /// so a new flight begins.
    pub(crate) fn on_sent(&mut self, now: Instant, end: u64, in_flight: u64, first: bool) {
        if first {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        self.sent.push_back(self.state(end, now, in_flight));
    }

    /// The segment `start..end` is sent again; `in_flight` as in [`Self::on_sent`].
    pub(crate) fn on_retransmitted(&mut self, now: Instant, start: u64, end: u64, in_flight: u64) {
        let from = self.sent.partition_point(|s| s.end <= start);
        let state = self.state(0, now, in_flight);
        for sent in self.sent.range_mut(from..).take_while(|s| s.end <= end) {
            *sent = SentState { end: sent.end, ..state };
        }
    }

    /// Processes an ACK up to `una` that delivers `delivered` bytes; `newest` was sent last.
    /// None without a delivery, and if the interval is shorter than `min_rtt`: then the ACK was
    /// probably for an earlier transmission of a segment sent again (§3.3).
    pub(crate) fn on_ack(
        &mut self,
        now: Instant,
        una: u64,
        delivered: u64,
        newest: Option<SendOrder>,
        min_rtt: Option<Duration>,
    ) -> Option<RateSample> {
        self.delivered += delivered;
        if self.app_limited_until.is_some_and(|until| self.delivered > until) {
            self.app_limited_until = None;
        }
        if delivered > 0 {
            self.delivered_at = now;
        }
        let at = newest.map(|n| self.sent.partition_point(|s| s.end < n.end));
        let sent = at.and_then(|at| self.sent.get(at)).copied();
        let gone = self.sent.partition_point(|s| s.end <= una);
        self.sent.drain(..gone);
        let sent = sent?;
        self.first_sent_at = sent.sent_at;
        let send_elapsed = sent.sent_at.saturating_since(sent.first_sent_at);
        let interval = send_elapsed.max(now.saturating_since(sent.delivered_at));
        let plausible = interval > Duration::ZERO && min_rtt.is_none_or(|min| interval >= min);
        plausible.then_some(RateSample {
            prior_delivered: sent.delivered,
            delivered: self.delivered - sent.delivered,
            interval,
            app_limited: sent.app_limited,
            tx_in_flight: sent.in_flight,
            lost: self.lost - sent.lost,
        })
    }

    /// The segment `start..end` is marked lost or not; returns it if it newly is.
    pub(crate) fn on_marked(&mut self, start: u64, end: u64, is_lost: bool) -> Option<LostSegment> {
        let at = self.sent.partition_point(|s| s.end < end);
        let sent = self.sent.get_mut(at)?;
        let newly = is_lost && !sent.is_lost;
        sent.is_lost = is_lost;
        if !newly {
            return None;
        }
        self.lost += end - start;
        let lost = self.lost - sent.lost;
        Some(LostSegment {
            start,
            end,
            tx_in_flight: sent.in_flight,
            lost,
            app_limited: sent.app_limited,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    fn order(at: u64, end: u64) -> SendOrder {
        SendOrder { at: ms(at), end }
    }

    /// Draft §3.1.2: a compressed ACK cannot make the rate exceed the send rate.
    #[test]
    fn the_interval_is_the_longer_of_the_send_and_the_ack_interval() {
        let mut rate = RateSampler::new(ms(0));
        for i in 0..4 {
            rate.on_sent(ms(10 * i), 1000 * (i + 1), 1000, i == 0);
        }
        let min = Some(Duration::from_ms(5));
        let first = rate.on_ack(ms(100), 1000, 1000, Some(order(0, 1000)), min).unwrap();
        assert_eq!((first.delivered, first.prior_delivered), (1000, 0));
        assert_eq!(first.interval, Duration::from_ms(100));
        // The fourth was sent 30 ms after the first, whose ACK came 1 ms before.
        rate.on_sent(ms(101), 5000, 1000, false);
        let rest = rate.on_ack(ms(101), 4000, 3000, Some(order(30, 4000)), min).unwrap();
        assert_eq!((rest.delivered, rest.interval), (4000, Duration::from_ms(101)));
        let last = rate.on_ack(ms(103), 5000, 1000, Some(order(101, 5000)), min).unwrap();
        // Sent 101 ms after the segment that the ACK before it delivered first.
        assert_eq!((last.delivered, last.prior_delivered), (4000, 1000));
        assert_eq!(last.interval, Duration::from_ms(101));
        assert!(rate.sent.is_empty());
    }

    #[test]
    fn a_retransmission_is_measured_from_its_own_transmission_and_short_intervals_are_no_sample() {
        let mut rate = RateSampler::new(ms(0));
        for i in 0..3 {
            rate.on_sent(ms(0), 1000 * (i + 1), 1000, i == 0);
        }
        let sacked = rate.on_ack(ms(50), 0, 2000, Some(order(0, 3000)), None).unwrap();
        assert_eq!((sacked.delivered, sacked.interval), (2000, Duration::from_ms(50)));
        rate.on_retransmitted(ms(50), 0, 1000, 2000);
        let again = rate.on_ack(ms(100), 3000, 1000, Some(order(50, 1000)), None).unwrap();
        assert_eq!((again.tx_in_flight, again.lost), (2000, 0));
        assert_eq!((again.delivered, again.prior_delivered), (1000, 2000));
        assert_eq!(again.interval, Duration::from_ms(50));
        rate.on_sent(ms(200), 4000, 1000, true);
        let min = Some(Duration::from_ms(50));
        assert_eq!(rate.on_ack(ms(249), 4000, 1000, Some(order(200, 4000)), min), None);
    }

    #[test]
    fn segments_are_app_limited_until_more_than_the_flight_is_delivered() {
        let mut rate = RateSampler::new(ms(0));
        rate.on_sent(ms(0), 1000, 1000, true);
        rate.set_app_limited(1000);
        rate.on_sent(ms(1), 2000, 1000, false);
        let sample = rate.on_ack(ms(10), 1000, 1000, Some(order(0, 1000)), None).unwrap();
        assert!(!sample.app_limited && rate.is_app_limited());
        let sample = rate.on_ack(ms(11), 2000, 1000, Some(order(1, 2000)), None).unwrap();
        assert!(sample.app_limited && !rate.is_app_limited());
    }

    /// draft-ietf-ccwg-bbr-06 §4.1.2.3, §5.5.10.2.
    #[test]
    fn losses_count_from_the_last_transmission_of_a_segment() {
        let mut rate = RateSampler::new(ms(0));
        for i in 0..3 {
            rate.on_sent(ms(0), 1000 * (i + 1), 1000 * (i + 1), i == 0);
        }
        let first = rate.on_marked(0, 1000, true).unwrap();
        assert_eq!((first.tx_in_flight, first.lost), (1000, 1000));
        assert_eq!(rate.on_marked(0, 1000, true), None);
        let second = rate.on_marked(1000, 2000, true).unwrap();
        assert_eq!((second.tx_in_flight, second.lost), (2000, 2000));
        rate.on_retransmitted(ms(10), 0, 1000, 2000);
        let sample = rate.on_ack(ms(20), 0, 1000, Some(order(0, 3000)), None).unwrap();
        assert_eq!((sample.tx_in_flight, sample.lost), (3000, 2000));
        let again = rate.on_marked(0, 1000, true).unwrap();
        assert_eq!((again.tx_in_flight, again.lost), (2000, 1000));
        // A spurious loss may be found again.
        assert_eq!(rate.on_marked(1000, 2000, false), None);
        assert!(rate.on_marked(1000, 2000, true).is_some());
    }
}
