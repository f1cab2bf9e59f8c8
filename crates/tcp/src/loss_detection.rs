//! What ACKs and the reordering timer say about losses: when recovery begins, how the window comes
//! down, when it is over.

use lowtide_units::{Duration, Instant};
use lowtide_wire::Segment;

use crate::cc::CongestionEvent;
use crate::config::{RecoveryRule, Reduction};
use crate::connection::Connection;
use crate::recovery::{Acked, Prr, PrrAck, RackSample, RecoveryPhase, ReoWndInput, is_dsack};

/// Duplicate ACKs that make a loss (RFC 5681 §3.2).
const DUP_THRESH: u32 = 3;

/// What tells losses on this connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LossDetector {
    /// Duplicate ACKs (RFC 5681, RFC 6582).
    DupAcks,
    /// The scoreboard (RFC 6675).
    Sack,
    /// The time since it was sent (RFC 8985).
    Rack,
}

/// What an ACK brought beside what it delivered.
#[expect(clippy::struct_excessive_bools, reason = "independent facts of one ACK")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckSummary {
    /// SND.UNA advanced.
    pub(crate) advanced: bool,
    /// A duplicate ACK (RFC 5681 §2).
    pub(crate) duplicate: bool,
    /// The peer's window changed.
    pub(crate) window_changed: bool,
    /// Its SACK blocks report something new.
    pub(crate) sacked: bool,
    /// The range that arrived twice (RFC 2883).
    pub(crate) dsack: Option<(u64, u64)>,
}

impl Connection {
    pub(crate) fn loss_detector(&self) -> LossDetector {
        if !self.sack_ok {
            return LossDetector::DupAcks;
        }
        match self.config.recovery {
            RecoveryRule::Sack => LossDetector::Sack,
            RecoveryRule::Rack => LossDetector::Rack,
            RecoveryRule::NewReno => LossDetector::DupAcks,
        }
    }

    /// Loss detection by time wants to know in which order things arrive; nobody else does.
    #[inline(never)]
    pub(crate) fn rack_sample(&self, now: Instant, seg: &Segment) -> Option<RackSample> {
        if self.loss_detector() != LossDetector::Rack {
            return None;
        }
        let least = self.rtt.min().unwrap_or(Duration::ZERO);
        let by_path = Instant::from_ps(now.as_ps().saturating_sub(least.as_ps()));
        let echo = self.ts.as_ref().zip(seg.options.timestamps);
        let by_echo = echo.and_then(|(ts, option)| ts.latest_send_time(now, option.echo));
        let rack = &self.snd.recovery_ext.as_ref()?.rack;
        Some(rack.begin_sample(by_echo.map_or(by_path, |limit| limit.min(by_path))))
    }

    /// The range that a DSACK of this segment reports. Only looked for where it has a use.
    #[inline(never)]
    pub(crate) fn dsack_of(&self, seg: &Segment) -> Option<(u64, u64)> {
        if self.loss_detector() != LossDetector::Rack && self.snd.loss_probe_end().is_none() {
            return None;
        }
        let blocks = seg.options.sack.as_slice();
        let (start, end) = *blocks.first().filter(|_| is_dsack(blocks, seg.ack))?;
        let (start, end) = (self.snd.offset(start), self.snd.offset(end));
        let sane = 0 <= start && start < end && end <= self.snd.nxt as i64;
        sane.then_some((start as u64, end as u64))
    }

    /// Moves loss recovery on; returns what was newly judged lost, in bytes and segments.
    pub(crate) fn advance_recovery(
        &mut self,
        now: Instant,
        acked: &Acked,
        summary: &AckSummary,
    ) -> (u64, u32) {
        let recovered = self.end_recovery(now);
        if summary.advanced {
            self.snd.episode.dup_acks = 0;
            self.snd.limited_transmit_bytes = 0;
        } else if (self.sack_ok && summary.sacked) || (!self.sack_ok && summary.duplicate) {
            self.snd.episode.dup_acks += 1;
        }
        let detector = self.loss_detector();
        if detector == LossDetector::Rack {
            let of_probe =
                summary.dsack.is_some_and(|(_, end)| self.snd.loss_probe_end() == Some(end));
            let dsack = summary.dsack.is_some() && !of_probe;
            if let (Some(ext), Some(sample)) = (&mut self.snd.recovery_ext, &acked.rack_sample) {
                ext.rack.on_sample(now, sample);
                ext.rack.update_reo_wnd(self.snd.una, self.snd.nxt, dsack, recovered);
            }
            return self.rack_detect_losses(now, acked.delivered_bytes);
        }
        match self.snd.episode.phase {
            RecoveryPhase::Open => self.maybe_begin_recovery(now, detector, acked, summary.sacked),
            RecoveryPhase::FastRecovery { sack: true, .. } | RecoveryPhase::Timeout { .. } => {
                if summary.sacked {
                    self.snd.board.detect_losses(self.snd.mss)
                } else {
                    (0, 0)
                }
            }
            RecoveryPhase::FastRecovery { sack: false, .. } => {
                self.newreno_recovery(acked, summary)
            }
        }
    }

    /// SND.UNA may have reached the end of the episode, or of the window of data that ECN cut for.
    fn end_recovery(&mut self, now: Instant) -> bool {
        let una = self.snd.una;
        if let Some(ext) = &mut self.snd.recovery_ext
            && ext.prr.as_ref().is_some_and(|prr| prr.is_over(una))
        {
            ext.prr = None;
        }
        match self.snd.episode.phase {
            RecoveryPhase::FastRecovery { recovery_point, .. } if una >= recovery_point => {
                self.snd.episode.end();
                // What PRR left in flight is what may be: no further bound (RFC 9937 §6.4).
                let prr = self.snd.recovery_ext.as_mut().and_then(|ext| ext.prr.take());
                let in_flight = if prr.is_some() { u64::MAX } else { self.snd.board.flight_size() };
                self.notify_cc(&CongestionEvent::Recovered { now, in_flight });
                true
            }
            RecoveryPhase::Timeout { recovery_point } if una >= recovery_point => {
                self.snd.episode.end();
                true
            }
            _ => false,
        }
    }

    /// Fast recovery without SACK (RFC 6582 §3.2 steps 3 and 4).
    #[inline(never)]
    fn newreno_recovery(&mut self, acked: &Acked, summary: &AckSummary) -> (u64, u32) {
        let mss = u64::from(self.snd.mss);
        let inflates = self.snd.prr().is_none();
        let episode = &mut self.snd.episode;
        if summary.advanced {
            // Partial ACK: the next hole is lost too; deflate.
            episode.inflation = episode.inflation.saturating_sub(acked.acked_bytes);
            if acked.acked_bytes >= mss && inflates {
                episode.inflation += mss;
            }
            episode.force_one = true;
            return self.snd.board.mark_front_lost();
        }
        // Deviation from RFC 5681 §3.2 step 4, allowed there: forged duplicates let no more go than that.
        if summary.duplicate && inflates && episode.inflation_left >= mss {
            episode.inflation_left -= mss;
            episode.inflation += mss;
        }
        (0, 0)
    }

    #[inline(never)]
    fn maybe_begin_recovery(
        &mut self,
        now: Instant,
        detector: LossDetector,
        acked: &Acked,
        newly_sacked: bool,
    ) -> (u64, u32) {
        let use_sack = detector == LossDetector::Sack;
        let mut lost = (0, 0);
        if use_sack && newly_sacked {
            lost = self.snd.board.detect_losses(self.snd.mss);
        }
        let enough =
            self.snd.episode.dup_acks >= DUP_THRESH || (use_sack && self.snd.board.front_is_lost());
        let may_begin = self.snd.episode.may_begin(self.snd.una, use_sack);
        if !enough || self.snd.board.is_empty() || !may_begin {
            return lost;
        }
        if !self.snd.board.front_is_lost() {
            let more = self.snd.board.mark_front_lost();
            lost = (lost.0 + more.0, lost.1 + more.1);
        }
        self.begin_recovery(now, use_sack, acked.delivered_bytes);
        lost
    }

    /// Fast recovery begins; `delivered` is what the ACK brought that says so.
    #[inline(never)]
    fn begin_recovery(&mut self, now: Instant, use_sack: bool, delivered: u64) {
        let already_reduced = self.ecn.in_reaction(self.snd.una);
        // FlightSize without what limited transmit added (RFC 3042 §2, RFC 5681 §3.2 step 2).
        let flight_size = self.snd.board.flight_size();
        let in_flight = flight_size.saturating_sub(self.snd.limited_transmit_bytes);
        self.notify_cc(&CongestionEvent::Loss { now, in_flight, already_reduced });
        self.counters.fast_retransmits += 1;
        self.snd.board.begin_episode(self.snd.una);
        self.snd.episode.begin(self.snd.nxt, use_sack);
        self.snd.eifel.arm();
        self.snd.limited_transmit_bytes = 0;
        let mss = u64::from(self.snd.mss);
        let counted = if use_sack { 0 } else { u64::from(DUP_THRESH) * mss };
        self.snd.episode.inflation_left = flight_size.saturating_sub(counted);
        if self.config.reduction == Reduction::OneStep {
            self.snd.episode.inflation = counted;
        }
        // The duplicate that begins it is delivered in it. With SACK the scoreboard has counted them.
        let before = if self.sack_ok { 0 } else { counted.saturating_sub(mss) };
        let known = self.snd.board.sacked() + before;
        if let Some(ext) = &mut self.snd.recovery_ext {
            ext.last_reaction_at = now;
            ext.tlp.reset();
            let recover_fs = (flight_size + delivered).saturating_sub(known);
            let prr = Prr::begin(recover_fs, None).with_dupacks(before);
            ext.prr = (self.config.reduction == Reduction::Prr).then_some(prr);
        }
        self.ecn.on_reduced(self.snd.nxt);
    }

    /// RFC 8985 §6.2 step 5, and what follows from it.
    #[inline(never)]
    fn rack_detect_losses(&mut self, now: Instant, delivered: u64) -> (u64, u32) {
        self.timers.reorder = Instant::FAR_FUTURE;
        let newest = self.snd.recovery_ext.as_ref().and_then(|ext| ext.rack.newest());
        let Some(newest) = newest else { return (0, 0) };
        let loss_delay = self.loss_delay();
        let overdue = self.snd.board.mark_overdue_lost(now, newest, loss_delay);
        if overdue.deadline < Instant::FAR_FUTURE {
            let left = overdue.deadline.saturating_since(now) + self.config.loss_timer_slack;
            self.timers.reorder = now + left.round_up_to(self.config.loss_timer_granularity);
        }
        if self.snd.episode.in_recovery() {
            if let Some(resent_at) = overdue.resent_at {
                self.react_to_lost_retransmission(now, resent_at);
            }
        } else if self.snd.board.has_lost() {
            self.begin_recovery(now, true, delivered);
        }
        (overdue.bytes, overdue.segments)
    }

    /// How long after it was sent a segment counts as lost.
    pub(crate) fn loss_delay(&self) -> Duration {
        let input = ReoWndInput {
            in_recovery: self.snd.episode.in_recovery(),
            segs_sacked: self.snd.board.sacked_segments(),
            min_rtt: self.rtt.min().unwrap_or(Duration::ZERO),
            srtt: self.rtt.srtt().unwrap_or(Duration::ZERO),
        };
        self.snd.recovery_ext.as_ref().map_or(Duration::ZERO, |ext| ext.rack.loss_delay(&input))
    }

    /// The loss of a retransmission is a second indication of congestion (RFC 5681 §4.3), answered
    /// once per window; PRR holds back by itself (RFC 8985 §9.3).
    #[cold]
    #[inline(never)]
    fn react_to_lost_retransmission(&mut self, now: Instant, resent_at: Instant) {
        let Some(ext) = &mut self.snd.recovery_ext else { return };
        if self.config.reduction == Reduction::Prr || resent_at < ext.last_reaction_at {
            return;
        }
        ext.last_reaction_at = now;
        let cwnd = self.cc.as_ref().map_or(0, |cc| cc.cwnd());
        let in_flight = cwnd.min(self.snd.board.flight_size());
        self.notify_cc(&CongestionEvent::Loss { now, in_flight, already_reduced: false });
        self.ecn.on_reduced(self.snd.nxt);
    }

    /// The timers of RACK and of tail loss probes take the place of the retransmission timer while they
    /// run (RFC 8985 §8).
    pub(crate) fn rearm_loss_timers(&mut self, now: Instant, advanced: bool) {
        if self.snd.board.is_empty() {
            self.timers.reorder = Instant::FAR_FUTURE;
        } else if self.timers.reorder < Instant::FAR_FUTURE {
            self.timers.retransmit = Instant::FAR_FUTURE;
        } else if self.timers.retransmit == Instant::FAR_FUTURE {
            self.timers.retransmit = now + self.rtt.rto();
        }
        self.rearm_loss_probe(now, advanced);
    }

    /// The reordering timer: what was overtaken did not come.
    #[cold]
    #[inline(never)]
    pub(crate) fn reordering_timeout(&mut self, now: Instant) {
        let (bytes, _) = self.rack_detect_losses(now, 0);
        let target = self.cc.as_ref().map_or(0, |cc| cc.cwnd());
        let in_flight = self.snd.board.pipe();
        let mss = u64::from(self.snd.mss);
        if let Some(prr) = self.snd.prr_mut().filter(|_| bytes > 0) {
            prr.on_timer(in_flight, target, mss);
        }
        if self.timers.reorder == Instant::FAR_FUTURE && !self.snd.board.is_empty() {
            self.timers.retransmit = now + self.rtt.rto();
        }
    }

    /// ECN cut the window: with PRR it comes down over the round trip. After a timeout, and with
    /// nothing in flight, there is nothing to spread.
    #[inline(never)]
    pub(crate) fn begin_ecn_reduction(&mut self, acked: &Acked) {
        let spreads = self.config.reduction == Reduction::Prr
            && !self.snd.episode.in_recovery()
            && !self.snd.board.is_empty();
        if !spreads {
            return;
        }
        let until = self.snd.nxt;
        let board = &self.snd.board;
        let recover_fs = board.flight_size() - board.sacked() + acked.delivered_bytes;
        if let Some(ext) = &mut self.snd.recovery_ext {
            ext.prr = Some(match &ext.prr {
                Some(prr) => prr.restart(recover_fs, until, u64::from(self.snd.mss)),
                None => Prr::begin(recover_fs, Some(until)),
            });
        }
    }

    /// The step of PRR that belongs to this ACK.
    #[inline(never)]
    pub(crate) fn update_prr(&mut self, acked: &Acked, summary: &AckSummary, no_more_lost: bool) {
        let Some(prr) = self.snd.recovery_ext.as_mut().and_then(|e| e.prr.as_mut()) else { return };
        let mss = u64::from(self.snd.mss);
        let board = &self.snd.board;
        // NewReno's rule with SACK agreed has a scoreboard as well, which knows better.
        let counting = !self.sack_ok
            && matches!(self.snd.episode.phase, RecoveryPhase::FastRecovery { sack: false, .. });
        let delivered = if counting {
            prr.delivered_without_sack(
                acked.acked_bytes,
                summary.duplicate,
                board.flight_size(),
                mss,
            )
        } else {
            acked.delivered_bytes
        };
        prr.on_ack(&PrrAck {
            delivered,
            in_flight: board.pipe().saturating_sub(prr.dupack_delivered()),
            target: self.cc.as_ref().map_or(0, |cc| cc.cwnd()),
            safe: summary.advanced && no_more_lost,
            mss,
        });
    }

    /// The congestion window that counts now, bytes.
    pub(crate) fn send_window(&self, in_flight: u64) -> u64 {
        match (self.snd.prr(), &self.cc) {
            (Some(prr), _) => in_flight + prr.budget(),
            (None, Some(cc)) => cc.cwnd() + self.snd.episode.inflation,
            (None, None) => 0,
        }
    }
}
