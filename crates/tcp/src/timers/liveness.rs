//! Detection of a dead peer: keep-alive (RFC 9293 §3.8.4) and the user timeout (RFC 5482 §2, RFC
//! 9293 §3.10.8).
//!
//! Contract: both are off by default. Each ends the connection with a separate close reason. R2 of
//! RFC 9293 §3.8.3 is the switch `retries`; R1 has no effect, because this stack has no routing
//! layer to notify.
//!
//! Deviations: as in Linux, a user timeout replaces the count of keep-alive probes. It also ends a
//! connection whose peer answers but keeps its window closed. Only a keep-alive timeout sends a
//! RST, because the peer may be alive.

pub(crate) mod state;

use core::hint::cold_path;

use lowtide_units::{Duration, Instant};

use crate::connection::Connection;
use crate::ecn::PacketClass;
use crate::event::CloseReason;
use crate::settings::config::Config;
use crate::state::State;
use crate::transmit::Transmit;

impl Connection {
    /// Returns whether keep-alive or the user timeout is on; most connections have neither. Without
    /// them, [`Liveness`](state::Liveness) is never read.
    pub(crate) fn wants_liveness(config: &Config) -> bool {
        config.keep_alive || config.user_timeout != Duration::ZERO
    }

    /// Records an acceptable segment.
    #[inline]
    pub(crate) fn on_alive(&mut self, now: Instant) {
        if self.tracks_liveness {
            cold_path();
            self.liveness.on_segment(now);
        }
    }

    /// Returns whether a keep-alive probe must be sent.
    #[inline]
    pub(crate) fn keep_alive_is_due(&self) -> bool {
        self.tracks_liveness && self.liveness.probe_is_due()
    }

    /// The next deadline of [`Self::check_liveness`].
    #[inline(never)]
    pub(crate) fn liveness_deadline(&self) -> Instant {
        self.user_deadline().min(self.keep_alive_deadline())
    }

    fn user_deadline(&self) -> Instant {
        let timeout = self.config.user_timeout;
        if timeout == Duration::ZERO {
            return Instant::FAR_FUTURE;
        }
        let since = match self.state {
            State::SynSent | State::SynReceived => self.handshake.opened_at(),
            State::Closed => None,
            _ => self.liveness.waiting_since,
        };
        since.map_or(Instant::FAR_FUTURE, |since| since + timeout)
    }

    /// Runs only while no data is in flight and none is unsent (MUST-26).
    fn keep_alive_deadline(&self) -> Instant {
        let waits = !self.snd.board.is_empty() || self.snd.has_unsent();
        let counts = self.state.is_synchronised() && self.state != State::TimeWait;
        if !self.config.keep_alive || !counts || waits {
            return Instant::FAR_FUTURE;
        }
        if self.liveness.probes == 0 {
            self.liveness.last_received_at + self.config.keep_alive_idle
        } else {
            self.liveness.probed_at + self.config.keep_alive_interval
        }
    }

    /// Closes the connection or schedules a probe, if a deadline has passed.
    pub(crate) fn check_liveness(&mut self, now: Instant) {
        if self.user_deadline() <= now {
            self.end(CloseReason::UserTimeout);
            return;
        }
        if self.keep_alive_deadline() > now {
            return;
        }
        let timeout = self.config.user_timeout;
        let timed_out = if timeout == Duration::ZERO {
            self.liveness.probes >= self.config.keep_alive_count
        } else {
            let silence = now.saturating_since(self.liveness.last_received_at);
            self.liveness.probes > 0 && silence >= timeout
        };
        if timed_out {
            self.pending_rst = Some(self.snd.next_seq());
            self.end(CloseReason::KeepAlive);
            return;
        }
        self.liveness.probes += 1;
        self.liveness.probed_at = now;
        self.liveness.probe_due = true;
    }

    /// After a segment was sent or arrived: records since when data or a window probe waits for an
    /// ACK. The wait restarts when SND.UNA moves.
    #[inline]
    pub(crate) fn track_unacked(&mut self, now: Instant) {
        if self.tracks_liveness {
            cold_path();
            self.track_unacked_slow(now);
        }
    }

    #[cold]
    #[inline(never)]
    fn track_unacked_slow(&mut self, now: Instant) {
        if self.config.user_timeout == Duration::ZERO {
            return;
        }
        let probing = self.timers.persist < Instant::FAR_FUTURE;
        let waits = probing || !self.snd.board.is_empty();
        let liveness = &mut self.liveness;
        if !waits || liveness.una != self.snd.una() {
            liveness.una = self.snd.una();
            liveness.waiting_since = None;
        }
        if waits {
            liveness.waiting_since.get_or_insert(now);
        }
    }

    /// A segment with SEG.SEQ = SND.NXT - 1 and no data (RFC 9293 §3.8.4, SHLD-12): it is old, so
    /// the peer must answer.
    #[cold]
    #[inline(never)]
    pub(crate) fn keep_alive_probe(&mut self, now: Instant) -> Transmit {
        let header = self.segment(now, self.snd.old_seq(), PacketClass::Control, 0);
        self.control_segment(header)
    }
}
