//! Timeout handlers of a connection.

use lowtide_units::Instant;

use crate::cc::CongestionEvent;
use crate::connection::Connection;
use crate::event::CloseReason;
use crate::loss::detection::LossDetector;
use crate::settings::config::UndoRule;
use crate::state::State;

impl Connection {
    pub(crate) fn expire(&mut self, now: Instant) {
        if self.liveness_deadline() <= now {
            self.check_liveness(now);
        }
        self.rcv.on_ack_timer(now);
        if self.timers.time_wait <= now {
            self.end(CloseReason::Normal);
        }
        if self.timers.reorder <= now {
            self.reordering_timeout(now);
        }
        // Before the retransmission timer, which this one restarts.
        if self.timers.loss_probe <= now {
            self.loss_probe_timeout(now);
        }
        if self.timers.retransmit <= now {
            match self.state {
                State::SynSent | State::SynReceived => self.syn_timeout(now),
                _ => self.retransmission_timeout(now),
            }
        }
        if self.timers.persist <= now {
            self.persist_timeout(now);
        }
    }

    #[cold]
    #[inline(never)]
    fn syn_timeout(&mut self, now: Instant) {
        let answering = self.state == State::SynReceived;
        let retries = match self.config.syn_ack_retries {
            limit if answering && limit < u32::MAX => limit,
            _ => self.config.syn_retries,
        };
        if self.handshake.retransmissions() >= retries {
            self.end(CloseReason::TimedOut);
            return;
        }
        self.handshake.on_syn_timeout();
        self.counters.rto_count += 1;
        self.ecn.syn_lost();
        if answering || self.handshake.retransmissions() > self.config.syn_linear_timeouts {
            self.rtt.back_off();
        }
        self.timers.arm_rto(now, &self.rtt);
    }

    /// Handles a retransmission timeout (RFC 6298 §5.4 to §5.6, RFC 5681 §3.1).
    #[cold]
    #[inline(never)]
    fn retransmission_timeout(&mut self, now: Instant) {
        if self.snd.board.is_empty() {
            self.timers.stop_rto();
            return;
        }
        // After the peer closed the window over data in flight, retransmissions may go on as long
        // as the peer answers (RFC 9293 §3.8.6, SHLD-17): then only unanswered timeouts count.
        let retries = &self.retries;
        let attempts =
            if self.snd.window() == 0 { retries.unanswered() } else { retries.timeouts() };
        if attempts >= self.config.retries {
            self.end(CloseReason::TimedOut);
            return;
        }
        let first = self.retries.on_rto();
        self.note_cwnd_usage();
        self.counters.rto_count += 1;
        // During recovery FlightSize (RFC 5681 §2) includes SACKed bytes that left the network.
        // Half of it may exceed cwnd, and ssthresh would rise. Deviation, as in FreeBSD: FlightSize
        // is then capped at cwnd.
        let cwnd = self.cc.as_ref().map_or(0, |c| c.cwnd());
        let counts_sacked = self.sack_ok && self.snd.episode.in_recovery();
        let limit = if counts_sacked { cwnd } else { u64::MAX };
        let in_flight = self.loss_base(self.snd.board.flight_size().min(limit));
        let in_recovery = self.snd.episode.in_fast_recovery();
        self.notify_cc(&CongestionEvent::Rto { now, first, in_recovery, in_flight });
        if self.loss_detector() == LossDetector::Rack {
            let loss_delay = self.loss_delay();
            self.snd.board.mark_lost_on_rto(now, loss_delay);
        } else {
            self.snd.board.mark_all_lost();
        }
        self.note_lost_segments(now);
        // Not during a recovery: its retransmissions would look like originals (RFC 5682 §2.1).
        // Linux (tcp_enter_loss) begins it again at each timeout.
        let frto = match self.config.undo {
            UndoRule::FRto => first && !self.snd.episode.in_recovery(),
            UndoRule::Timestamps => !first || !self.snd.episode.in_recovery(),
            UndoRule::Off | UndoRule::Eifel | UndoRule::EifelRto => false,
        };
        self.snd.episode.on_rto(self.snd.nxt());
        if frto {
            self.snd.episode.begin_frto();
        }
        if first {
            self.snd.eifel.begin_episode(self.snd.una());
        }
        if let Some(ext) = &mut self.snd.recovery_ext {
            ext.on_rto(now);
        }
        self.timers.stop_loss_probe();
        self.timers.stop_reorder();
        self.ecn.on_reduced(self.snd.nxt());
        self.rtt.back_off();
        self.timers.arm_rto(now, &self.rtt);
    }

    /// Sends window probes with backoff as long as the peer answers (RFC 9293 §3.8.6.1).
    #[cold]
    #[inline(never)]
    fn persist_timeout(&mut self, now: Instant) {
        if self.retries.unanswered() > self.config.retries {
            self.end(CloseReason::TimedOut);
            return;
        }
        self.retries.on_window_probe();
        let probes = self.snd.schedule_window_probe();
        self.timers.restart_persist(now + self.rtt.rto_backed_off(probes));
    }
}
