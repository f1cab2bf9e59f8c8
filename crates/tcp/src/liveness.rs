//! Whether the peer is still there: keep-alive (RFC 9293 §3.8.4) and the user timeout (RFC 5482 §2,
//! RFC 9293 §3.10.8).
//!
//! Contract: both are off unless switched on, and then they end the connection with a reason of their
//! own. R2 of RFC 9293 §3.8.3 is the switch `retries`; of R1 there is nobody to tell, since this stack
//! has no routing below it.
//!
//! Deviations: as in Linux, a user timeout takes the place of the count of keep-alive probes, and it
//! also ends a connection whose peer answers but keeps its window closed. The peer gets a RST only
//! when keep-alive gives up: then it may be alive after all.

pub(crate) mod state;

use core::hint::cold_path;

use lowtide_units::{Duration, Instant};

use crate::connection::Connection;
use crate::ecn::PacketClass;
use crate::event::CloseReason;
use crate::state::State;
use crate::transmit::Transmit;

impl Connection {
    /// Keep-alive or the user timeout is switched on; most connections have neither.
    #[inline]
    pub(crate) fn tracks_liveness(&self) -> bool {
        self.config.keep_alive || self.config.user_timeout != Duration::ZERO
    }

    /// When [`Self::check_liveness`] has something to do.
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
            State::SynSent | State::SynReceived => self.handshake.opened_at,
            State::Closed => None,
            _ => self.liveness.waiting_since,
        };
        since.map_or(Instant::FAR_FUTURE, |since| since + timeout)
    }

    /// Only while nothing is on its way and nothing waits (MUST-26).
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

    /// The time is `now`: gives the connection up, or asks for a probe.
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
            self.pending_rst = Some(self.snd.seq(self.snd.nxt));
            self.end(CloseReason::KeepAlive);
            return;
        }
        self.liveness.probes += 1;
        self.liveness.probed_at = now;
        self.liveness.probe_due = true;
    }

    /// Something was sent or arrived: notes whether anything waits for the peer, and since when.
    /// Progress is what moves SND.UNA, or ends the wait.
    #[inline]
    pub(crate) fn track_unacked(&mut self, now: Instant) {
        if self.config.user_timeout != Duration::ZERO {
            cold_path();
            self.track_unacked_slow(now);
        }
    }

    #[cold]
    #[inline(never)]
    fn track_unacked_slow(&mut self, now: Instant) {
        let probing = self.timers.persist < Instant::FAR_FUTURE;
        let waits = probing || !self.snd.board.is_empty();
        let liveness = &mut self.liveness;
        if !waits || liveness.una != self.snd.una {
            liveness.una = self.snd.una;
            liveness.waiting_since = None;
        }
        if waits {
            liveness.waiting_since.get_or_insert(now);
        }
    }

    /// SEG.SEQ = SND.NXT - 1 and no data (RFC 9293 §3.8.4, SHLD-12): old for the peer, so that it must
    /// answer.
    #[cold]
    #[inline(never)]
    pub(crate) fn keep_alive_probe(&mut self, now: Instant) -> Transmit {
        let old = self.snd.isn.add(self.snd.nxt);
        let header = self.segment(now, old, PacketClass::Control);
        self.control_segment(header)
    }
}
