//! Loss detection from ACKs and the reordering timer: start of recovery, reduction of the window,
//! end of recovery.

use alloc::vec::Vec;

use lowtide_units::{Duration, Instant};
use lowtide_wire::Segment;

use super::recovery::{Acked, Lost, Prr, PrrAck, RackSample, RecoveryPhase, ReoWndInput, is_dsack};
use crate::cc::CongestionEvent;
use crate::connection::Connection;
use crate::settings::config::{LossFrom, RackRtt, RecoveryRule, Reduction};

/// The loss detector of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LossDetector {
    /// Duplicate ACKs (RFC 5681, RFC 6582).
    DupAcks,
    /// The scoreboard (RFC 6675).
    Sack,
    /// RACK: the time since a segment was sent (RFC 8985).
    Rack,
}

/// Properties of an ACK other than the data that it delivered.
#[expect(clippy::struct_excessive_bools, reason = "independent facts of one ACK")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckSummary {
    /// SND.UNA advanced.
    pub(crate) advanced: bool,
    /// A duplicate ACK (RFC 5681 §2).
    pub(crate) duplicate: bool,
    /// The peer's window changed.
    pub(crate) window_changed: bool,
    /// Its SACK blocks newly cover data.
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

    /// Begins the RACK sample of an ACK; `None` with another loss detector.
    #[inline(never)]
    pub(crate) fn rack_sample(&self, now: Instant, seg: &Segment, ack: u64) -> Option<RackSample> {
        if self.loss_detector() != LossDetector::Rack {
            return None;
        }
        let min_rtt = self.rtt.min().unwrap_or(Duration::ZERO);
        let by_path = Instant::from_ps(now.as_ps().saturating_sub(min_rtt.as_ps()));
        let echo = self.ts.as_ref().zip(seg.options.timestamps);
        let by_echo = echo.and_then(|(ts, option)| ts.latest_send_time(now, option.echo));
        let rack = &self.snd.recovery_ext.as_ref()?.rack;
        let sample = rack.begin_sample(by_echo.map_or(by_path, |limit| limit.min(by_path)));
        let by_processing = self.config.rack_rtt == RackRtt::LastProcessed;
        Some(if by_processing { sample.by_processing(ack) } else { sample })
    }

    /// Returns the range that a DSACK of this segment reports; `None` if it has no use here.
    #[inline(never)]
    pub(crate) fn dsack_of(&self, seg: &Segment) -> Option<(u64, u64)> {
        if self.loss_detector() != LossDetector::Rack && self.snd.loss_probe_end().is_none() {
            return None;
        }
        let blocks = seg.options.sack.as_slice();
        let (start, end) = *blocks.first().filter(|_| is_dsack(blocks, seg.ack))?;
        let (start, end) = (self.snd.offset(start), self.snd.offset(end));
        let sane = 0 <= start && start < end && end <= self.snd.nxt() as i64;
        sane.then_some((start as u64, end as u64))
    }

    /// Updates loss recovery after an ACK.
    pub(crate) fn advance_recovery(
        &mut self,
        now: Instant,
        acked: &Acked,
        summary: &AckSummary,
    ) -> Lost {
        let recovered = self.end_recovery(now);
        if summary.advanced {
            self.snd.episode.end_duplicates();
            self.snd.end_limited_transmit();
        } else if (self.sack_ok && summary.sacked) || (!self.sack_ok && summary.duplicate) {
            self.snd.episode.dup_acks += 1;
        }
        let detector = self.loss_detector();
        if detector == LossDetector::Rack {
            let of_probe =
                summary.dsack.is_some_and(|(_, end)| self.snd.loss_probe_end() == Some(end));
            let dsack = summary.dsack.is_some() && !of_probe;
            let (una, nxt) = (self.snd.una(), self.snd.nxt());
            if let (Some(ext), Some(sample)) = (&mut self.snd.recovery_ext, &acked.rack_sample) {
                ext.rack.on_sample(now, sample);
                ext.rack.update_reo_wnd(una, nxt, dsack, recovered);
            }
        }
        if self.snd.episode.holds_retransmissions() {
            return Lost::NONE;
        }
        if detector == LossDetector::Rack {
            return self.rack_detect_losses(now, acked.delivered_bytes);
        }
        match self.snd.episode.phase {
            RecoveryPhase::Open => self.maybe_begin_recovery(now, detector, acked, summary.sacked),
            RecoveryPhase::FastRecovery { sack: true, .. } | RecoveryPhase::Timeout { .. } => {
                if summary.sacked {
                    self.snd.board.detect_losses(self.snd.mss(), self.config.dup_thresh)
                } else {
                    Lost::NONE
                }
            }
            RecoveryPhase::FastRecovery { sack: false, .. } => {
                self.newreno_recovery(acked, summary)
            }
        }
    }

    /// Ends the episode, or the ECN reduction, if SND.UNA has reached its end. Returns whether an
    /// episode ended.
    fn end_recovery(&mut self, now: Instant) -> bool {
        let una = self.snd.una();
        if let Some(ext) = &mut self.snd.recovery_ext {
            ext.end_reduction_at(una);
        }
        match self.snd.episode.phase {
            RecoveryPhase::FastRecovery { recovery_point, .. } if una >= recovery_point => {
                self.snd.episode.end();
                // PRR has already set the amount in flight: no further bound (RFC 9937 §6.4).
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
    fn newreno_recovery(&mut self, acked: &Acked, summary: &AckSummary) -> Lost {
        let mss = u64::from(self.snd.mss());
        let inflates = self.snd.prr().is_none();
        let episode = &mut self.snd.episode;
        if summary.advanced {
            // Partial ACK: the next hole is lost too; deflate the window.
            episode.inflation = episode.inflation.saturating_sub(acked.acked_bytes);
            if acked.acked_bytes >= mss && inflates {
                episode.inflation += mss;
            }
            episode.force_one = true;
            return self.snd.board.mark_front_lost();
        }
        // Deviation from RFC 5681 §3.2 step 4, allowed there: the bound keeps forged duplicates
        // from releasing more data.
        if summary.duplicate && inflates && episode.inflation_left >= mss {
            episode.inflation_left -= mss;
            episode.inflation += mss;
        }
        Lost::NONE
    }

    #[inline(never)]
    fn maybe_begin_recovery(
        &mut self,
        now: Instant,
        detector: LossDetector,
        acked: &Acked,
        newly_sacked: bool,
    ) -> Lost {
        let use_sack = detector == LossDetector::Sack;
        let mut lost = Lost::NONE;
        if use_sack && newly_sacked {
            lost = self.snd.board.detect_losses(self.snd.mss(), self.config.dup_thresh);
        }
        let enough = self.snd.episode.dup_acks >= self.config.dup_thresh
            || (use_sack && self.snd.board.front_is_lost());
        let may_begin = self.snd.episode.may_begin(self.snd.una(), use_sack);
        if !enough || self.snd.board.is_empty() || !may_begin {
            return lost;
        }
        if !self.snd.board.front_is_lost() {
            let more = self.snd.board.mark_front_lost();
            lost.bytes += more.bytes;
            lost.segments += more.segments;
        }
        self.begin_recovery(now, use_sack, acked.delivered_bytes);
        lost
    }

    /// The reduction of the window; a rate-based control computes its own.
    fn reduction(&self) -> Reduction {
        if self.is_rate_based() { Reduction::OneStep } else { self.config.reduction }
    }

    /// The bytes that a loss reaction reduces: `flight_size`, cwnd, or the window by which this end
    /// sends (switch `loss-from`).
    pub(crate) fn loss_base(&self, flight_size: u64) -> u64 {
        match (self.config.loss_from, &self.cc) {
            (LossFrom::Cwnd, Some(cc)) => cc.cwnd(),
            (LossFrom::Window, Some(cc)) => cc.cwnd().min(self.snd.window()),
            _ => flight_size,
        }
    }

    /// Begins fast recovery; `delivered` is the number of bytes delivered by the ACK that triggered
    /// it.
    #[inline(never)]
    fn begin_recovery(&mut self, now: Instant, use_sack: bool, delivered: u64) {
        let already_reduced = self.ecn.in_reaction(self.snd.una());
        // FlightSize without what limited transmit added (RFC 3042 §2, RFC 5681 §3.2 step 2).
        let flight_size = self.snd.board.flight_size();
        let in_flight = flight_size.saturating_sub(self.snd.end_limited_transmit());
        let in_flight = self.loss_base(in_flight);
        self.notify_cc(&CongestionEvent::Loss { now, in_flight, already_reduced });
        self.counters.fast_retransmits += 1;
        self.snd.board.begin_episode(self.snd.una());
        self.snd.episode.begin(self.snd.nxt(), use_sack);
        self.snd.eifel.begin_episode(self.snd.una());
        let mss = u64::from(self.snd.mss());
        let counted = if use_sack { 0 } else { u64::from(self.config.dup_thresh) * mss };
        self.snd.episode.inflation_left = flight_size.saturating_sub(counted);
        if self.reduction() == Reduction::OneStep {
            self.snd.episode.inflation = counted;
        }
        // The duplicate that begins recovery is delivered within it. With SACK the scoreboard has
        // counted the duplicates.
        let before = if self.sack_ok { 0 } else { counted.saturating_sub(mss) };
        let known = self.snd.board.sacked() + before;
        let reduction = self.reduction();
        if let Some(ext) = &mut self.snd.recovery_ext {
            ext.last_reaction_at = now;
            ext.tlp.reset();
            let recover_fs = (flight_size + delivered).saturating_sub(known);
            ext.prr = (reduction == Reduction::Prr).then(|| {
                // A reduction for ECN that is in progress has sent bytes ahead.
                let prr = match &ext.prr {
                    Some(prr) => prr.restart(recover_fs, None, mss),
                    None => Prr::begin(recover_fs, None),
                };
                prr.with_dupacks(before)
            });
        }
        self.ecn.on_reduced(self.snd.nxt());
    }

    /// Marks overdue segments lost (RFC 8985 §6.2 step 5), sets the reordering timer and begins
    /// recovery.
    #[inline(never)]
    fn rack_detect_losses(&mut self, now: Instant, delivered: u64) -> Lost {
        self.timers.stop_reorder();
        let newest = self.snd.recovery_ext.as_ref().and_then(|ext| ext.rack.newest());
        let Some(newest) = newest else { return Lost::NONE };
        let loss_delay = self.loss_delay();
        let overdue = self.snd.board.mark_overdue_lost(now, newest, loss_delay);
        if overdue.deadline < Instant::FAR_FUTURE {
            let left = overdue.deadline.saturating_since(now) + self.config.loss_timer_slack;
            let wait = left.round_up_to(self.config.loss_timer_granularity);
            self.timers.arm_reorder(now + wait);
        }
        let relost = overdue.resent_at.is_some();
        if self.config.recovery_after_rto && relost && self.snd.episode.after_timeout() {
            self.begin_recovery(now, true, delivered);
        } else if self.snd.episode.in_recovery() {
            if let Some(resent_at) = overdue.resent_at {
                self.react_to_lost_retransmission(now, resent_at);
            }
        } else if self.snd.board.has_lost() {
            self.begin_recovery(now, true, delivered);
        }
        Lost { bytes: overdue.bytes, segments: overdue.segments }
    }

    /// Time after its transmission when a segment counts as lost.
    pub(crate) fn loss_delay(&self) -> Duration {
        let input = ReoWndInput {
            in_recovery: self.snd.episode.in_recovery(),
            segs_sacked: self.snd.board.sacked_segments(),
            min_rtt: self.rtt.min().unwrap_or(Duration::ZERO),
            srtt: self.rtt.srtt().unwrap_or(Duration::ZERO),
        };
        self.snd.recovery_ext.as_ref().map_or(Duration::ZERO, |ext| ext.rack.loss_delay(&input))
    }

    /// Reacts to the loss of a retransmission, a second indication of congestion (RFC 5681 §4.3),
    /// once per window. PRR needs no reaction: it already limits sending (RFC 8985 §9.3).
    #[cold]
    #[inline(never)]
    fn react_to_lost_retransmission(&mut self, now: Instant, resent_at: Instant) {
        let spreads = self.reduction() == Reduction::Prr;
        let Some(ext) = &mut self.snd.recovery_ext else { return };
        if spreads || resent_at < ext.last_reaction_at {
            return;
        }
        ext.last_reaction_at = now;
        let cwnd = self.cc.as_ref().map_or(0, |cc| cc.cwnd());
        let in_flight = self.loss_base(cwnd.min(self.snd.board.flight_size()));
        self.notify_cc(&CongestionEvent::Loss { now, in_flight, already_reduced: false });
        self.ecn.on_reduced(self.snd.nxt());
    }

    /// Restarts the timers of RACK and of tail loss probes. While they run, they replace the
    /// retransmission timer (RFC 8985 §8).
    pub(crate) fn rearm_loss_timers(&mut self, now: Instant, advanced: bool) {
        if self.snd.board.is_empty() {
            self.timers.stop_reorder();
        } else if self.timers.reorder_runs() {
            self.timers.stop_rto();
        } else {
            self.timers.start_rto(now, &self.rtt);
        }
        self.rearm_loss_probe(now, advanced);
    }

    /// Handles the reordering timer: overtaken segments did not arrive.
    #[cold]
    #[inline(never)]
    pub(crate) fn reordering_timeout(&mut self, now: Instant) {
        self.snd.episode.hold_retransmissions(false);
        let lost = self.rack_detect_losses(now, 0);
        self.note_lost_segments(now);
        let target = self.cc.as_ref().map_or(0, |cc| cc.cwnd());
        let in_flight = self.snd.board.pipe();
        let mss = u64::from(self.snd.mss());
        if let Some(prr) = self.snd.prr_mut().filter(|_| lost.bytes > 0) {
            prr.on_timer(in_flight, target, mss);
        }
        if !self.timers.reorder_runs() && !self.snd.board.is_empty() {
            self.timers.arm_rto(now, &self.rtt);
        }
    }

    /// Reports the newly lost segments to a control that counts losses.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_lost_segments(&mut self, now: Instant) {
        let Some(rate) = &mut self.snd.rate else { return };
        let mark = |(start, end, lost)| rate.on_marked(start, end, lost);
        let newly: Vec<_> = self.snd.board.loss_marks().filter_map(mark).collect();
        for segment in newly {
            self.notify_cc(&CongestionEvent::SegmentLost { now, segment });
        }
    }

    /// Begins a PRR reduction after ECN reduced the window; the ACK delivered `delivered_bytes`.
    /// After a timeout, and with nothing in flight, there is nothing to spread.
    #[inline(never)]
    pub(crate) fn begin_ecn_reduction(&mut self, delivered_bytes: u64) {
        let spreads = self.reduction() == Reduction::Prr
            && !self.snd.episode.in_recovery()
            && !self.snd.board.is_empty();
        if !spreads {
            return;
        }
        let (until, mss) = (self.snd.nxt(), u64::from(self.snd.mss()));
        let board = &self.snd.board;
        let recover_fs = board.flight_size() - board.sacked() + delivered_bytes;
        if let Some(ext) = &mut self.snd.recovery_ext {
            ext.prr = Some(match &ext.prr {
                Some(prr) => prr.restart(recover_fs, Some(until), mss),
                None => Prr::begin(recover_fs, Some(until)),
            });
        }
    }

    /// Updates PRR for an ACK. [`PrrAck`] describes `safe`.
    #[inline(never)]
    pub(crate) fn update_prr(
        &mut self,
        acked_bytes: u64,
        delivered_bytes: u64,
        duplicate: bool,
        safe: bool,
    ) {
        let mss = u64::from(self.snd.mss());
        let Some(prr) = self.snd.recovery_ext.as_mut().and_then(|e| e.prr.as_mut()) else { return };
        let board = &self.snd.board;
        // With SACK, NewReno recovery also has a scoreboard, whose count is more accurate.
        let counting = !self.sack_ok && self.snd.episode.in_newreno_recovery();
        let delivered = if counting {
            prr.delivered_without_sack(acked_bytes, duplicate, board.flight_size(), mss)
        } else {
            delivered_bytes
        };
        prr.on_ack(&PrrAck {
            delivered,
            in_flight: board.pipe().saturating_sub(prr.dupack_delivered()),
            target: self.cc.as_ref().map_or(0, |cc| cc.cwnd()),
            safe,
            mss,
        });
    }

    /// The current limit on bytes in flight.
    pub(crate) fn send_window(&self, in_flight: u64) -> u64 {
        match (self.snd.prr(), &self.cc) {
            (Some(prr), _) => in_flight + prr.budget(),
            (None, Some(cc)) => cc.cwnd() + self.snd.episode.inflation,
            (None, None) => 0,
        }
    }
}
