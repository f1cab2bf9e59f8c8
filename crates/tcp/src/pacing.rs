//! Pacing: when data that the window lets go really goes (switch `pacing`).
//!
//! Contract: each data segment, new or sent again, moves the time at which the next one may leave by
//! its own length at the pacing rate. Nothing is saved up: after a pause one segment goes at once, and
//! the next waits. Probes, acknowledgements, SYN and RST are never held, and with `pacing = "off"`, or
//! without a rate, nothing is.
//!
//! A driver may hold data back as well ([`Connection::hold_data_until`]); that goes without a rate.
//!
//! The rate counts IP packets: payload and headers.

use lowtide_units::{Bytes, Instant, Rate};

use crate::cc::per_round_trip;
use crate::config::PacingRule;
use crate::connection::Connection;
use crate::sender::{LimitedBy, SendQuota};

/// Windows per round trip, in percent, while slow start is far from its end: the window may double
/// within a round trip, and pacing must not stop it (Linux `tcp_pacing_ss_ratio`).
const PACING_SS_RATIO: u64 = 200;
/// The same later: a little more than the window, so that pacing alone never limits
/// (`tcp_pacing_ca_ratio`).
const PACING_CA_RATIO: u64 = 120;

impl Connection {
    /// The rate at which data leaves, where it is spaced.
    pub(crate) fn pacing_rate(&self) -> Option<Rate> {
        let stated = || self.cc.as_ref().and_then(|c| c.pacing_rate());
        match self.config.pacing {
            PacingRule::Off => None,
            PacingRule::Control => stated(),
            PacingRule::Window => stated().or_else(|| self.window_rate()),
        }
    }

    /// So many windows per smoothed round trip; none before the first sample.
    fn window_rate(&self) -> Option<Rate> {
        let (cc, srtt) = (self.cc.as_ref()?, self.rtt.srtt()?);
        let cwnd = cc.cwnd();
        let percent = if cwnd < cc.ssthresh() / 2 { PACING_SS_RATIO } else { PACING_CA_RATIO };
        per_round_trip(cwnd.max(self.snd.board.pipe()), percent, srtt.as_ps())
    }

    /// There is something to send, and its time has not come.
    pub(crate) fn pacing_defers(&mut self, now: Instant) -> bool {
        let early = now < self.snd.pace_at;
        self.snd.tsq_throttled &= early;
        let waits = early && (self.snd.tsq_throttled || self.pacing_rate().is_some());
        if waits {
            self.snd.pacing_blocked = true;
            self.snd.limited_by =
                if self.snd.tsq_throttled { LimitedBy::HostQueue } else { LimitedBy::Cwnd };
        }
        waits
    }

    /// No data, new or to be sent again, leaves before `at`: for a driver whose own queue has enough of this
    /// connection (Linux: TCP small queues). Meanwhile the congestion window does not grow, as it is not what
    /// limits. Acknowledgements, probes, SYN and RST are not held. [`Self::poll_timeout`] says when to ask again. A
    /// later time, of pacing or of a hold before, stays.
    pub fn hold_data_until(&mut self, at: Instant) {
        self.snd.tsq_throttled = true;
        self.snd.pace_at = self.snd.pace_at.max(at);
        self.snd.quota = SendQuota::UNKNOWN;
    }

    /// A paced sender waits although it may send.
    pub(crate) const fn pacing_blocks(&self) -> bool {
        self.snd.pacing_blocked
    }

    /// Data left: the next may leave when this has had its time.
    #[inline(never)]
    pub(crate) fn advance_pacer(&mut self, now: Instant, payload: u32) {
        if let Some(rate) = self.pacing_rate() {
            let segments = payload.div_ceil(self.snd.mss).max(1);
            let wire = u64::from(payload) + u64::from(segments) * u64::from(self.ip.headers_len());
            self.snd.pace_at = self.snd.pace_at.max(now) + rate.serialization(Bytes::new(wire));
        }
    }
}
