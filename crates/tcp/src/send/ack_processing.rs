//! Effects of an ACK on the sender: scoreboard, recovery, round-trip time, ECN, window.

use core::hint::cold_path;

use lowtide_units::{Duration, Instant};
use lowtide_wire::{Flags, Segment};

use super::sender::{LimitedBy, RecoveryExt};
use crate::cc::{AckSample, CongestionEvent, Reaction};
use crate::connection::Connection;
use crate::event::{EventKind, SegmentError};
use crate::feedback::{AckView, CeFeedback};
use crate::loss::detection::{AckSummary, LossDetector};
use crate::loss::recovery::{Acked, EifelAck, is_dsack};
use crate::settings::config::UndoRule;
use crate::timers::rtt::{elapsed_ticks, round_to_ticks};

impl Connection {
    /// The fifth check of RFC 9293 §3.10.7.4 in the synchronised states. `newer_timestamp`: its
    /// timestamp is newer than all before.
    #[expect(clippy::inline_always, reason = "every segment takes this path")]
    #[inline(always)]
    pub(crate) fn process_ack(
        &mut self,
        now: Instant,
        seg: &Segment,
        newer_timestamp: bool,
    ) -> Result<(), SegmentError> {
        let ack = self.snd.offset(seg.ack);
        if let Some(end) = self.snd.window_probe_end {
            self.on_window_probe_acked(now, ack, end);
        }
        if ack > self.snd.nxt as i64 {
            cold_path();
            self.rcv.schedule_ack_now();
            return Err(SegmentError::AckOfUnsent);
        }
        if ack < self.snd.una as i64 {
            // Old and reordered. Deviation: its SACK blocks are ignored
            // (docs/reference/deviations.md). Its payload may be new.
            return Ok(());
        }
        let ack = ack as u64;
        let window_moved = self.update_window(seg, ack > self.snd.una);
        let ece = seg.flags.contains(Flags::ECE);
        if self.snd.nxt == 0 && self.receive_only && !ece && seg.options.sack.is_empty() {
            // Nothing was sent yet, so this ACK acknowledges nothing.
            self.snd.last_ece = false;
        } else {
            self.handle_ack(now, seg, ack, newer_timestamp, window_moved);
        }
        Ok(())
    }

    /// Processes an ACK up to `ack` that is not older than the last one.
    #[inline(never)]
    fn handle_ack(
        &mut self,
        now: Instant,
        seg: &Segment,
        ack: u64,
        newer_timestamp: bool,
        window_moved: bool,
    ) {
        let advanced = ack > self.snd.una;
        let ece = seg.flags.contains(Flags::ECE);
        let prior_in_flight = self.snd.board.pipe();
        let prior_flight_size = self.snd.board.flight_size();
        let mut acked = Acked::default();
        let plain = advanced && seg.options.sack.is_empty() && self.on_fast_path();
        let reduced = self.snd.prr().is_some();
        let sack_news = if plain {
            self.ack_fast_path(now, ack, &mut acked);
            false
        } else {
            self.ack_slow_path(now, seg, ack, &mut acked)
        };
        self.snd.una = ack;
        let feedback = self.decode_feedback(seg, &acked, advanced || newer_timestamp);
        if !plain
            && self.ts.is_some()
            && (!seg.options.sack.is_empty() || self.snd.episode.in_recovery())
        {
            self.undo_spurious(now, seg, advanced, feedback.congested);
        }
        if advanced {
            self.timeouts = 0;
            self.unanswered = 0;
            let unacked = self.snd.write_seq.saturating_sub(ack);
            if self.snd.nospace && unacked < self.snd.buffer {
                self.snd.nospace = false;
                self.pending.note(EventKind::Writable);
            }
        }
        self.snd.delivered += acked.delivered_bytes;
        if acked.delivered_bytes > 0 {
            self.snd.delivered_at = now;
        }

        let duplicate = !advanced
            && !window_moved
            && prior_flight_size > 0
            && seg.payload_len == 0
            && !seg.flags.intersects(Flags::SYN | Flags::FIN);
        // Without PRR, RACK and probes their cost is avoided.
        let has_ext = self.snd.recovery_ext.is_some();
        let was_reducing = if plain { reduced } else { self.snd.prr().is_some() };
        let was_frozen_by_recovery = self.snd.episode.in_fast_recovery();
        let after_rto = self.snd.episode.after_timeout();
        let dsack = if has_ext && !plain { self.dsack_of(seg) } else { None };
        let news = AckSummary {
            advanced,
            duplicate,
            window_changed: window_moved,
            sacked: sack_news,
            dsack,
        };
        // With nothing in flight nothing can be lost, and on the fast path nothing is.
        let (lost_bytes, lost_segments) = if !plain && (has_ext || prior_flight_size > 0) {
            self.advance_recovery(now, &acked, &news)
        } else {
            (0, 0)
        };

        let rtt = self.measure_rtt(now, seg, &acked, advanced);
        let measured = match &mut self.delay {
            None => None,
            Some(delay) => delay.on_ack(now, seg),
        };
        self.counters.delivered_ce_bytes += feedback.ce_bytes;
        self.counters.delivered_ce_segs += u64::from(feedback.ce_segments);
        let round_ended = advanced && ack >= self.snd.round_end;
        if round_ended {
            self.snd.round_end = self.snd.nxt;
            self.snd.board.trim();
        }
        let recovering = was_frozen_by_recovery || self.snd.episode.in_fast_recovery();
        let may_reduce = feedback.congested && !recovering && self.ecn.may_reduce(ack);
        let sample = AckSample {
            now,
            snd_una: ack,
            snd_nxt: self.snd.nxt,
            acked_bytes: acked.acked_bytes,
            acked_segments: acked.acked_segments,
            sacked_bytes: acked.sacked_bytes,
            sacked_segments: acked.sacked_segments,
            delivered_bytes: acked.delivered_bytes,
            delivered_segments: acked.delivered_segments,
            lost_bytes,
            lost_segments,
            ce_bytes: feedback.ce_bytes,
            ce_segments: feedback.ce_segments,
            ece: feedback.congested,
            rtt,
            queueing_delay: measured.map(|m| m.queueing),
            base_rtt: measured.map(|m| m.base_rtt),
            in_flight: self.snd.board.pipe(),
            prior_in_flight,
            rate_sample: self.rate_sample(now, &acked),
            app_limited: self.snd.limited_by != LimitedBy::Cwnd,
            round_ended,
            may_reduce,
            may_grow: advanced
                && !recovering
                && !was_reducing
                && self.snd.limited_by == LimitedBy::Cwnd
                && !self.ecn.frozen(ack, feedback.congested),
            after_rto,
            delack_suspected: self.delack_suspected(seg, &acked, rtt),
            delack_timeout: seg.rx.delack_timeout,
        };
        self.snd.last_ece = ece;
        let reaction = self.cc.as_mut().map_or(Reaction::None, |cc| cc.on_ack(&sample));
        if reaction == Reaction::Reduced && sample.ece {
            self.counters.ecn_reductions += 1;
            self.ecn.on_cut(self.snd.nxt);
            self.begin_ecn_reduction(&acked);
        } else if reaction == Reaction::Reduced {
            // A delay-based control computes its window in one step and owes no CWR.
            self.counters.delay_reductions += 1;
        }
        self.rearm_rto(now, advanced);
        if has_ext {
            if self.snd.prr().is_some() {
                self.update_prr(&acked, &news, lost_bytes == 0);
            }
            if plain {
                self.rearm_loss_probe(now, true);
            } else {
                self.on_loss_probe_acked(now, seg, &news);
                self.rearm_loss_timers(now, advanced);
            }
        }
    }

    /// No loss is suspected or being repaired and the scoreboard is plain: an ACK that advances
    /// SND.UNA only acknowledges data.
    #[inline]
    fn on_fast_path(&self) -> bool {
        let first = self.snd.board.first_send_order();
        // After SACK reneging, a segment sent later has already arrived.
        let quiet = |ext: &RecoveryExt| {
            ext.tlp.end_seq().is_none()
                && first.is_some_and(|first| !ext.rack.newest_sent_after(first))
        };
        self.snd.board.is_plain(self.snd.una)
            && !self.snd.episode.in_recovery()
            && self.timers.reorder == Instant::FAR_FUTURE
            && self.snd.recovery_ext.as_deref().is_none_or(quiet)
    }

    /// Processes an ACK up to `ack` without SACK blocks on the fast path: [`Self::ack_slow_path`]
    /// and [`Self::recover`] without the steps that have no effect here.
    fn ack_fast_path(&mut self, now: Instant, ack: u64, acked: &mut Acked) {
        let arrived = self.snd.board.ack_in_order(ack, acked);
        self.snd.episode.dup_acks = 0;
        self.snd.limited_transmit_bytes = 0;
        let by_time = self.loss_detector() == LossDetector::Rack;
        let Some(ext) = &mut self.snd.recovery_ext else { return };
        if ext.prr.as_ref().is_some_and(|prr| prr.is_over(ack)) {
            ext.prr = None;
        }
        if let Some(arrived) = arrived.filter(|_| by_time) {
            ext.rack.on_in_order(now, &arrived);
        }
    }

    /// Processes an ACK up to `ack`, in order or not. True if its SACK blocks are new.
    #[inline(never)]
    fn ack_slow_path(&mut self, now: Instant, seg: &Segment, ack: u64, acked: &mut Acked) -> bool {
        if self.snd.recovery_ext.is_some() {
            acked.rack_sample = self.rack_sample(now, seg);
        }
        self.snd.board.ack(ack, acked);
        self.snd.una = ack;
        self.sack_ok && !seg.options.sack.is_empty() && self.mark_sacked(seg, acked)
    }

    /// The peer accepted the byte of a window probe: it now counts as sent.
    #[cold]
    #[inline(never)]
    fn on_window_probe_acked(&mut self, now: Instant, ack: i64, end: u64) {
        if ack > self.snd.nxt as i64 && ack <= end as i64 {
            let (start, delivered, at) = (self.snd.nxt, self.snd.delivered, self.snd.delivered_at);
            self.snd.board.push(start, (end - start) as u32, now, delivered, at, true);
            self.snd.board.mark_ambiguous();
            self.snd.nxt = end;
            self.snd.window_probe_end = None;
        }
    }

    /// Updates SND.WND from a segment that is not older than the last one used. True if it changed.
    ///
    /// RFC 9293 §3.10.7.4 calls a segment newer by its sequence number. By that rule a
    /// retransmission could acknowledge new data without updating the window. The old window would
    /// then count from the new SND.UNA, beyond the peer's offer. Therefore an ACK of new data is
    /// always newer, as in Linux (`tcp_may_update_window`).
    #[expect(clippy::inline_always, reason = "every segment takes this path")]
    #[inline(always)]
    pub(crate) fn update_window(&mut self, seg: &Segment, advances: bool) -> bool {
        let newer = advances
            || self.snd.wl1.before(seg.seq)
            || (self.snd.wl1 == seg.seq && !seg.ack.before(self.snd.wl2));
        if !newer {
            return false;
        }
        let wnd = u64::from(seg.window) << self.snd.snd_wscale;
        let moved = wnd != self.snd.wnd;
        self.snd.set_window(wnd, seg.seq, seg.ack);
        if moved {
            // An opened window ends probing; a window that is still closed was an answer to the
            // probe.
            self.timers.persist = Instant::FAR_FUTURE;
        }
        self.unanswered = 0;
        moved
    }

    /// Marks the SACKed segments. Impossible blocks are ignored (RFC 2018 §5). So is the DSACK,
    /// which is at or below SND.UNA or inside the second block (RFC 2883 §4).
    #[inline(never)]
    fn mark_sacked(&mut self, seg: &Segment, acked: &mut Acked) -> bool {
        let mut news = false;
        for &(start, end) in seg.options.sack.as_slice() {
            let (start, end) = (self.snd.offset(start), self.snd.offset(end));
            let sane = start < end && start >= self.snd.una as i64 && end <= self.snd.nxt as i64;
            if sane {
                news |= self.snd.board.sack(start as u64, end as u64, acked);
            }
        }
        news
    }

    /// Undoes a spurious loss reaction (RFC 3522, RFC 4015; switch `undo`).
    ///
    /// Segments marked lost are in flight again, so new data is sent next (RFC 4015 step 7).
    /// Deviations: if the decoder reports congestion (`marked`), nothing is undone, while step 8
    /// keeps the congestion state only; cwnd is restored to its old
    /// value, as in Linux, not to the data in flight; the round-trip estimate uses the late sample
    /// as any other.
    #[inline(never)]
    fn undo_spurious(&mut self, now: Instant, seg: &Segment, advanced: bool, marked: bool) {
        let Some(option) = seg.options.timestamps else { return };
        let dsack = is_dsack(seg.options.sack.as_slice(), seg.ack);
        if dsack {
            self.snd.eifel.on_dsack();
        }
        if !advanced || !self.snd.episode.in_recovery() {
            return;
        }
        let answer = EifelAck { echo: option.echo, dsack, acks_all: self.snd.board.is_empty() };
        if !self.snd.eifel.is_spurious(answer) || marked || self.config.undo == UndoRule::Off {
            return;
        }
        let in_flight = self.snd.board.len();
        if !self.snd.eifel.may_undo(self.snd.una, self.snd.nxt, in_flight) {
            return;
        }
        self.snd.board.undo_losses();
        if let Some(ext) = &mut self.snd.recovery_ext {
            ext.prr = None;
        }
        // The sender was limited by the reduced window, which is gone: no growth for it.
        self.snd.limited_by = LimitedBy::Application;
        self.snd.episode.undo(self.sack_ok);
        self.ecn.on_undone();
        self.counters.undos += 1;
        self.notify_cc(&CongestionEvent::Undo { now });
    }

    pub(crate) fn notify_cc(&mut self, event: &CongestionEvent) {
        if let Some(cc) = self.cc.as_mut() {
            cc.on_event(event);
        }
    }

    /// Takes one sample per ACK: from the newest segment sent only once, unless it waited for a
    /// retransmission. Otherwise from the timestamps (RFC 7323 §4), which also time
    /// retransmissions.
    fn measure_rtt(
        &mut self,
        now: Instant,
        seg: &Segment,
        acked: &Acked,
        advanced: bool,
    ) -> Option<Duration> {
        let clean = acked.newest.as_ref().filter(|_| !acked.filled_hole);
        let sample = match (clean, &self.ts, seg.options.timestamps) {
            (Some(newest), _, _) => {
                Some(elapsed_ticks(newest.at, now, self.config.rtt_granularity))
            }
            (None, Some(ts), Some(option)) if advanced => {
                let tick = self.config.rtt_granularity;
                ts.rtt(now, option.echo).map(|rtt| round_to_ticks(rtt, tick))
            }
            _ => None,
        };
        match sample {
            Some(rtt) => {
                self.rtt.sample(&self.config, rtt);
                if let Some(ext) = &mut self.snd.recovery_ext {
                    ext.tlp.on_rtt_sample();
                }
            }
            None if advanced => self.rtt.reset_backoff(),
            None => {}
        }
        sample
    }

    /// Decodes the ECN flags. `newest`: the ACK cannot have been sent before one already processed.
    fn decode_feedback(&mut self, seg: &Segment, acked: &Acked, newest: bool) -> CeFeedback {
        let Some(decoder) = self.decoder.as_mut() else { return CeFeedback::default() };
        let newest = newest || acked.delivered_segments > 0;
        decoder.on_ack(&AckView {
            ece: seg.flags.contains(Flags::ECE),
            ace_delta: self.ecn.ace_delta(seg.flags, newest, acked.delivered_segments),
            delivered_bytes: acked.delivered_bytes,
            delivered_segments: acked.delivered_segments,
            acked_bytes: acked.acked_bytes,
            mss: self.snd.mss,
        })
    }

    /// Computes [`AckSample::delack_suspected`].
    fn delack_suspected(&self, seg: &Segment, acked: &Acked, rtt: Option<Duration>) -> bool {
        (1..self.config.delack_segments).contains(&acked.acked_segments)
            && self.snd.board.is_empty()
            && self.snd.last_ece == seg.flags.contains(Flags::ECE)
            && rtt
                .zip(self.rtt.min())
                .is_some_and(|(r, min)| r >= min + self.config.rto_granularity)
    }

    /// Computes [`AckSample::rate_sample`].
    fn rate_sample(&self, now: Instant, acked: &Acked) -> Option<(u64, Duration)> {
        let newest = acked.newest.as_ref().filter(|n| !n.app_limited)?;
        let bytes = self.snd.delivered.saturating_sub(newest.delivered);
        Some((bytes, now.saturating_since(newest.delivered_at)))
    }

    /// RFC 6298 §5.2, §5.3: stops the timer when everything is acknowledged, else restarts it. It
    /// restarts at every partial ACK ("slow but steady" of RFC 3782 §4, as in Linux and FreeBSD),
    /// not only at the first.
    fn rearm_rto(&mut self, now: Instant, advanced: bool) {
        if self.snd.board.is_empty() {
            self.timers.retransmit = Instant::FAR_FUTURE;
        } else if advanced {
            self.timers.retransmit = now + self.rtt.rto();
        }
    }
}
