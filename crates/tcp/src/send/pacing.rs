//! Pacing: departure times of data that the window permits (switch `pacing`).
//!
//! Contract: each data segment, new or retransmitted, delays the next one by its own length at the
//! pacing rate. The segments of a burst (switch `tso-defer`) leave together. No credit accumulates:
//! after a pause one segment or burst leaves at once and the next waits. Only a rate-based control
//! is credited for a late timer, up to half the length of the burst, or it would measure the
//! lateness (Linux `tcp_update_skb_after_send`).
//! Probes, ACKs, SYN and RST are never delayed. With `pacing = "off"`, or without a rate, nothing
//! is, except by a congestion window below one segment: with any value of `pacing` one segment is
//! in flight, and after each segment the next waits for SRTT by the segments of the window.
//!
//! A driver may also hold data back ([`Connection::hold_data_until`]); this needs no rate.
//!
//! The rate counts IP packets, payload and headers; that of a rate-based control, which measures
//! payload, counts payload (Linux `tcp_update_skb_after_send`).

use lowtide_units::{Bytes, Duration, Instant, Rate};

use super::sender::LimitedBy;
use crate::cc::per_round_trip;
use crate::connection::Connection;
use crate::settings::config::PacingRule;

/// Pacing rate in percent of one window per round trip, early in slow start. The window may double
/// within a round trip, and pacing must not prevent it (Linux `tcp_pacing_ss_ratio`).
const PACING_SS_RATIO: u64 = 200;
/// Pacing rate in percent after that: slightly above the window, so that pacing alone never limits
/// (`tcp_pacing_ca_ratio`).
const PACING_CA_RATIO: u64 = 120;

impl Connection {
    /// The pacing rate, if data is paced.
    pub(crate) fn pacing_rate(&self) -> Option<Rate> {
        let stated = || self.cc.as_ref().and_then(|c| c.pacing_rate());
        match self.config.pacing {
            PacingRule::Off => None,
            PacingRule::Control => stated(),
            PacingRule::Window => stated().or_else(|| self.window_rate()),
        }
    }

    /// The pacing rate from the window and SRTT; none before the first sample.
    fn window_rate(&self) -> Option<Rate> {
        let (window, percent) = self.paced_window()?;
        per_round_trip(window, percent, self.rtt.srtt()?.as_ps())
    }

    /// Bytes that the pacing rate sends in 2^-10 s (`sk_pacing_shift`). For the rate of a window
    /// 10^12 ps/s by 2^10 and 100 % are 5^10, so that 64 bits suffice for windows of gigabytes.
    pub(super) fn paced_bytes_of_a_burst(&self) -> Option<u64> {
        if self.config.pacing != PacingRule::Off
            && let Some(rate) = self.cc.as_ref().and_then(|c| c.pacing_rate())
        {
            return Some(rate.as_bps() >> 13);
        }
        let (window, percent) = self.paced_window()?;
        window.saturating_mul(percent * 5_u64.pow(10)).checked_div(self.rtt.srtt()?.as_ps())
    }

    /// The window that a round trip sends, bytes, and the percentage of it that pacing permits.
    fn paced_window(&self) -> Option<(u64, u64)> {
        let cc = self.cc.as_ref()?;
        let cwnd = cc.cwnd();
        let percent = if cwnd < cc.ssthresh() / 2 { PACING_SS_RATIO } else { PACING_CA_RATIO };
        Some((cwnd.max(self.snd.board.pipe()), percent))
    }

    /// True if pacing delays the data to be sent; records the limit.
    pub(crate) fn pacing_defers(&mut self, now: Instant) -> bool {
        let early = now < self.snd.pace_at;
        self.snd.tsq_throttled &= early;
        let in_burst = self.snd.nxt < self.snd.paced_burst_end;
        let waits = early && (self.snd.tsq_throttled || !in_burst && self.pacing_rate().is_some());
        if waits {
            // The burst is decided when it may leave.
            self.snd.burst_end = self.snd.burst_end.min(self.snd.nxt);
            self.snd.pacing_blocked = true;
            self.snd.limited_by =
                if self.snd.tsq_throttled { LimitedBy::HostQueue } else { LimitedBy::Cwnd };
        }
        waits
    }

    /// The control sends at its own rate.
    pub(crate) fn is_rate_based(&self) -> bool {
        self.cc_entry.is_some_and(|entry| entry.declared.rate_based)
    }

    /// The control set a window below one segment.
    pub(super) fn window_is_small(&self) -> bool {
        self.cc.as_ref().is_some_and(|cc| cc.cwnd() < u64::from(self.snd.mss))
    }

    /// The window has no room, and nothing is in flight. Returns whether the window is below one
    /// segment, and one may be sent now: `srtt mss / cwnd` has passed since data was last sent. If
    /// only the time is missing, the pacer waits for it.
    #[cold]
    #[inline(never)]
    pub(super) fn small_window_permits(&mut self, now: Instant) -> bool {
        if !self.window_is_small() {
            return false;
        }
        let (Some(srtt), Some(last)) = (self.rtt.srtt(), self.snd.last_sent_at) else {
            return true;
        };
        let cwnd = self.cc.as_ref().map_or(0, |cc| cc.cwnd()).max(1);
        let wait = u128::from(srtt.as_ps()) * u128::from(self.snd.mss) / u128::from(cwnd);
        let at = last + Duration::from_ps(u64::try_from(wait).unwrap_or(u64::MAX));
        if now >= at {
            return true;
        }
        self.snd.pace_at = self.snd.pace_at.max(at);
        self.snd.pacing_blocked = true;
        false
    }

    /// Holds data, new and retransmitted, until `at`, for a driver whose own queue holds enough of
    /// this connection (Linux: TCP small queues). Meanwhile the congestion window does not grow, as
    /// it is not the limit. ACKs, probes, SYN and RST are not held. [`Self::poll_timeout`] returns
    /// the time to poll again. A later time, from pacing or an earlier hold, is kept.
    pub fn hold_data_until(&mut self, at: Instant) {
        self.snd.tsq_throttled = true;
        self.snd.pace_at = self.snd.pace_at.max(at);
        self.snd.reset_quota();
    }

    /// Time at which pacing releases waiting data. [`Self::handle_timeout`] need not be called for
    /// it.
    #[inline]
    pub fn poll_pacer(&self) -> Option<Instant> {
        self.snd.pacing_blocked.then_some(self.snd.pace_at)
    }

    /// The connection has ended: nothing waits for pacing.
    pub(crate) const fn end_pacing(&mut self) {
        self.snd.pacing_blocked = false;
    }

    /// Data was sent: computes the departure time of the next segment.
    #[inline(never)]
    pub(crate) fn advance_pacer(&mut self, now: Instant, payload: u32) {
        if let Some(rate) = self.pacing_rate() {
            let span = |bytes| rate.serialization(Bytes::new(bytes));
            let (mut bytes, mut credit) = (u64::from(payload), Duration::ZERO);
            if self.is_rate_based() {
                let burst = bytes + self.snd.burst_end.saturating_sub(self.snd.nxt);
                credit = now.saturating_since(self.snd.pace_at).min(span(burst) / 2);
            } else {
                let segments = payload.div_ceil(self.snd.mss).max(1);
                bytes += u64::from(segments) * u64::from(self.ip.headers_len());
            }
            let next = self.snd.pace_at.max(now) + span(bytes);
            self.snd.pace_at = Instant::from_ps(next.as_ps().saturating_sub(credit.as_ps()));
            self.snd.paced_burst_end = self.snd.burst_end;
        }
    }
}
