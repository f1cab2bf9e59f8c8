//! Waiting for a larger burst (switch `tso-defer`): segmentation offload gains nothing if each ACK
//! releases only one or two segments.
//!
//! Contract: new data of more than a segment waits while the windows permit less than a burst and
//! less than 1/`tso-defer` of the window. Data was sent within the last millisecond, and an ACK
//! must be expected soon: within half a smoothed round trip and within a millisecond, counted from
//! one round trip after the oldest segment in flight was sent. No timer is involved: the next ACK
//! decides anew. Retransmissions, data that a FIN ends, and a sender that repairs a loss never
//! wait.
//!
//! A burst is at most half of the congestion window and at most a millisecond of the pacing rate
//! with, for short round trips, up to the largest burst more (64 KB without BIG TCP). PSH is on its
//! last segment if it has several.
//!
//! Linux does this on any interface: without offload it segments in software
//! (`tcp_tso_should_defer`, `tcp_tso_autosize`, `tcp_cwnd_test`, `__tcp_transmit_skb`).
//!
//! Deviation: a burst may cross the limits of Linux's socket buffers, of 45 segments each, where
//! Linux sends what is left of one without waiting.

use lowtide_units::{Duration, Instant};

use super::sender::LimitedBy;
use crate::connection::Connection;

/// `net.ipv4.tcp_min_tso_segs`.
const LEAST_BURST: u64 = 2;
/// `net.ipv4.tcp_tso_rtt_log`: the allowance for short round trips is halved for each 2^9 us.
const RTT_LOG: u32 = 9;
/// `NSEC_PER_MSEC`: data sent longer ago does not let more wait, nor an ACK that is farther away.
const SOON: Duration = Duration::from_ms(1);

/// New data that may be sent now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendOpportunity {
    /// Bytes that were never sent.
    pub(crate) available: u64,
    /// Bytes that the congestion window permits, at least one segment.
    pub(crate) room: u64,
    /// Bytes that the peer's window permits.
    pub(crate) window: u64,
    /// Congestion window, bytes.
    pub(crate) cwnd: u64,
}

impl Connection {
    /// Segments of a burst that may be sent now, or the limit to record if sending is deferred.
    #[inline(never)]
    pub(crate) fn next_burst(
        &mut self,
        now: Instant,
        opportunity: SendOpportunity,
    ) -> Result<u32, LimitedBy> {
        let SendOpportunity { available, room, window, cwnd } = opportunity;
        let mss = u64::from(self.snd.mss).max(1);
        let whole = available.min(room).min(window) / mss;
        // A burst that was begun goes on.
        let left = self.snd.burst_end.saturating_sub(self.snd.nxt) / mss;
        if left > 0 {
            return Ok(left.min(whole) as u32);
        }
        if let Some(limit) = self.tso_defer_limit(now, opportunity) {
            return Err(limit);
        }
        let half = (cwnd / mss / 2).max(1);
        let mut segments = whole.min(half);
        if segments > LEAST_BURST {
            segments = segments.min(self.largest_burst() / mss);
        }
        self.snd.burst_end = self.snd.nxt + segments * mss;
        self.snd.burst_push = segments > 1 && (segments + 1) * mss <= available;
        Ok(segments as u32)
    }

    /// The limit to record if sending is deferred.
    fn tso_defer_limit(&self, now: Instant, opportunity: SendOpportunity) -> Option<LimitedBy> {
        let SendOpportunity { available, room, window, cwnd } = opportunity;
        let limit = room.min(window);
        let share = cwnd.min(self.snd.window()) / u64::from(self.config.tso_defer.max(1));
        let waits = available > u64::from(self.snd.mss)
            && limit < share
            && !self.snd.episode.in_recovery()
            && self.snd.last_sent_at.is_some_and(|at| now.saturating_since(at) <= SOON)
            && self.expects_ack(now)
            && limit < self.largest_burst();
        if !waits {
            None
        } else if room < window && room <= available {
            Some(LimitedBy::Cwnd)
        } else if window <= room && window <= available {
            Some(LimitedBy::ReceiveWindow)
        } else {
            (!self.snd.fin_is_queued()).then_some(LimitedBy::Application)
        }
    }

    /// Bytes of the largest burst, in whole segments (`tcp_tso_autosize`).
    fn largest_burst(&self) -> u64 {
        let mss = u64::from(self.snd.mss).max(1);
        let most = self.config.largest_burst();
        let paced = self.paced_bytes_of_a_burst().unwrap_or(most);
        let halvings = self.rtt.min().map_or(u64::MAX, |rtt| rtt.as_us() >> RTT_LOG);
        let bytes = paced.saturating_add(most.checked_shr(halvings.min(64) as u32).unwrap_or(0));
        (bytes.min(most) / mss).max(LEAST_BURST) * mss
    }

    /// One round trip after the oldest segment in flight was sent is near, or past.
    fn expects_ack(&self, now: Instant) -> bool {
        let Some((srtt, sent)) = self.rtt.srtt().zip(self.snd.board.first_sent_at()) else {
            return false;
        };
        sent + srtt <= now + SOON.min(srtt / 2)
    }
}
