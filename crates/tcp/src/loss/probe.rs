//! Tail loss probes (RFC 8985 §7): their timer, their data, and the reaction to a loss that a probe
//! repaired.
//!
//! Deviations from RFC 8985: used only if SACK was agreed, as in Linux; no probe timer runs before
//! the first RTT sample. Without a sample no probe may be sent (§7.3), and a timer that sends
//! nothing would only delay the retransmission timeout by 1 s.

use lowtide_units::{Duration, Instant};
use lowtide_wire::Segment;

use super::detection::AckSummary;
use super::recovery::{ProbeAck, RecoveryPhase, TxSegment};
use crate::cc::CongestionEvent;
use crate::connection::Connection;
use crate::transmit::Transmit;

/// The data of a probe.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LossProbe {
    /// Unsent data.
    NewData { len: u64, fin: bool },
    /// Retransmission of the last segment.
    Retransmit(TxSegment),
}

impl Connection {
    /// After new data was sent or an ACK arrived: restarts the probe timer if SND.UNA or SND.NXT
    /// moved, and stops it if another mechanism detects the loss (RFC 8985 §7.2).
    pub(crate) fn rearm_loss_probe(&mut self, now: Instant, moved: bool) {
        if !self.config.tail_loss_probe {
            return;
        }
        if let Some(ext) = &mut self.snd.recovery_ext {
            ext.tlp.cancel_due();
        }
        let board = &self.snd.board;
        let useful = self.sack_ok
            && !board.is_empty()
            && board.sacked() == 0
            && self.snd.episode.phase == RecoveryPhase::Open
            && !self.timers.reorder_runs();
        if !useful {
            self.timers.stop_loss_probe();
        } else if moved && let Some(srtt) = self.rtt.srtt() {
            self.timers.arm_loss_probe(now + self.probe_timeout(srtt));
        } else if moved && self.config.probe_without_rtt > Duration::ZERO {
            self.timers.arm_loss_probe(now + self.config.probe_without_rtt);
        }
    }

    /// PTO of RFC 8985 §7.2.
    fn probe_timeout(&self, srtt: Duration) -> Duration {
        let config = &self.config;
        let single = self.snd.board.has_one_segment();
        let more = if single { config.max_ack_delay } else { config.loss_timer_slack };
        (srtt * 2 + more).round_up_to(config.loss_timer_granularity)
    }

    /// Handles the probe timer (RFC 8985 §7.3). The retransmission timer runs next, with or without
    /// a probe.
    pub(crate) fn loss_probe_timeout(&mut self, now: Instant) {
        self.timers.stop_loss_probe();
        if let Some(ext) = &mut self.snd.recovery_ext {
            ext.tlp.on_timer();
        }
        self.timers.arm_rto(now, &self.rtt);
    }

    /// Chooses the data of the probe: new data if there is some and the peer's window has room,
    /// regardless of cwnd and Nagle; otherwise the last segment.
    #[cold]
    #[inline(never)]
    pub(crate) fn plan_loss_probe(&self) -> Option<LossProbe> {
        let snd = &self.snd;
        let window = snd.usable_window();
        let len = snd.available().min(u64::from(snd.mss()));
        let fin = window > len && snd.fin_follows(len);
        if len <= window && (len > 0 || fin) {
            return Some(LossProbe::NewData { len, fin });
        }
        snd.board.last().map(LossProbe::Retransmit)
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn send_loss_probe(&mut self, now: Instant, probe: &LossProbe) -> Transmit {
        let flight_size = self.snd.board.flight_size();
        let (again, transmit) = match probe {
            LossProbe::NewData { len, fin } => {
                let mut out = Transmit::default();
                self.new_data(now, *len, 1, *fin, &mut out);
                (false, out)
            }
            LossProbe::Retransmit(sent) => (true, self.retransmission(now, sent)),
        };
        self.counters.loss_probes += 1;
        let end = self.snd.nxt();
        if let Some(ext) = &mut self.snd.recovery_ext {
            ext.tlp.on_sent(end, again, flight_size);
        }
        self.timers.stop_loss_probe();
        transmit
    }

    /// Reacts to a loss that the probe repaired as fast recovery does (RFC 8985 §7.4.2).
    #[inline(never)]
    pub(crate) fn on_loss_probe_acked(
        &mut self,
        now: Instant,
        seg: &Segment,
        summary: &AckSummary,
    ) {
        let una = self.snd.una();
        let Some(ext) = self.snd.recovery_ext.as_mut().filter(|e| e.tlp.end_seq().is_some()) else {
            return;
        };
        let plain = seg.options.sack.as_slice().is_empty() && seg.payload_len == 0;
        let ack = ProbeAck {
            una,
            dsack_end: summary.dsack.map(|(_, end)| end),
            plain_duplicate: plain && !summary.advanced && !summary.window_changed,
        };
        let Some(in_flight) = ext.tlp.on_ack(&ack) else { return };
        ext.last_reaction_at = now;
        let already_reduced = self.ecn.in_reaction(self.snd.una());
        let in_flight = self.loss_base(in_flight);
        self.notify_cc(&CongestionEvent::Loss { now, in_flight, already_reduced });
        // There is no episode: recovery ends as it begins.
        self.notify_cc(&CongestionEvent::Recovered { now, in_flight: u64::MAX });
        self.counters.loss_probe_recoveries += 1;
        self.ecn.on_reduced(self.snd.nxt());
    }
}
