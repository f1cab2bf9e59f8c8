//! Effects of an ACK on the sender, in steps: decode, scoreboard, loss, sample, reaction. Each step
//! returns facts for the steps after it.

mod decode;
mod loss;
mod reaction;
mod sample;
mod scoreboard;

use core::hint::cold_path;

use lowtide_units::Instant;
use lowtide_wire::{Flags, Segment};

use crate::connection::Connection;
use crate::event::SegmentError;
use crate::loss::recovery::Acked;
use decode::DecodedAck;
use loss::LossUpdate;
use scoreboard::Delivery;

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
        let upto = self.snd.offset(seg.ack);
        if let Some(end) = self.snd.window_probe_end {
            self.on_window_probe_acked(now, upto, end);
        }
        if upto > self.snd.nxt as i64 {
            cold_path();
            self.rcv.schedule_ack_now();
            return Err(SegmentError::AckOfUnsent);
        }
        if upto < self.snd.una as i64 {
            // Old and reordered. Its payload may be new, and its SACK blocks too.
            if self.sack_ok && !seg.options.sack.is_empty() && !self.snd.board.is_empty() {
                cold_path();
                self.handle_old_ack(now, seg);
            }
            return Ok(());
        }
        let upto = upto as u64;
        let window_changed = self.update_window(seg, upto > self.snd.una);
        let ece = seg.flags.contains(Flags::ECE);
        if self.snd.nxt == 0 && self.receive_only && !ece && seg.options.sack.is_empty() {
            // Nothing was sent yet, so this ACK acknowledges nothing. It may answer an empty probe
            // of a window that was closed from the start.
            self.retries.on_answer();
            self.snd.on_no_ece();
        } else {
            self.handle_ack(now, seg, upto, newer_timestamp, window_changed);
        }
        Ok(())
    }

    /// Processes an ACK up to `upto` that is not older than the last one.
    #[inline(never)]
    fn handle_ack(
        &mut self,
        now: Instant,
        seg: &Segment,
        upto: u64,
        newer_timestamp: bool,
        window_changed: bool,
    ) {
        let mut ack =
            DecodedAck::new(now, seg, self.snd.una, upto, newer_timestamp, window_changed);
        ack.duplicates = self.counted_duplicates();
        if ack.advanced && !ack.has_sack && self.on_fast_path() {
            return self.handle_ack_in_order(now, seg, upto);
        }
        self.note_cwnd_usage();
        // Filled in place: a return value of this size would be copied.
        let mut acked = Acked::default();
        let delivery = self.update_scoreboard(now, seg, ack, &mut acked);
        let feedback = self.decode_feedback(seg, ack, &acked);
        self.undo_if_spurious(now, seg, ack, &acked, feedback.congested);
        self.on_progress(now, ack, &acked);
        let loss = self.update_loss_recovery(now, seg, ack, delivery, &acked);
        let sample = self.ack_sample(seg, ack, delivery, &acked, &feedback, &loss);
        self.snd.last_ece = ack.ece;
        self.react(&sample, &acked);
        let head_sent_at = self.snd.board.first_sent_at();
        let from_before = acked.first_sacked.is_some_and(|at| Some(at) < head_sent_at);
        if from_before && self.config.resend_restarts_rto {
            self.timers.arm_rto(now, &self.rtt);
        }
        self.rearm_after_ack(now, seg, &acked, &loss);
    }

    /// Processes the SACK blocks of an ACK below SND.UNA, as in Linux (`tcp_ack`, `old_ack`): they
    /// mark data as delivered and show losses. Its ECN flags and its window are older than those
    /// known, and the congestion control is not notified.
    #[inline(never)]
    fn handle_old_ack(&mut self, now: Instant, seg: &Segment) {
        let una = self.snd.una;
        let ack = DecodedAck::new(now, seg, una, una, false, false);
        let mut acked = Acked::default();
        let delivery = self.update_scoreboard(now, seg, ack, &mut acked);
        if delivery.newly_sacked {
            if let Some(rate) = &mut self.snd.rate {
                let _ = rate.on_ack(now, una, acked.delivered_bytes, acked.newest, None);
            }
            self.on_progress(now, ack, &acked);
            let loss = self.update_loss_recovery(now, seg, ack, delivery, &acked);
            self.rearm_after_ack(now, seg, &acked, &loss);
        }
    }

    /// [`Self::handle_ack`] on the fast path ([`Self::on_fast_path`]) for an ACK of new data
    /// without SACK blocks: without the steps that have no effect there.
    #[inline(never)]
    pub(crate) fn handle_ack_in_order(&mut self, now: Instant, seg: &Segment, upto: u64) {
        // An ACK of new data is the newest, and its window does not matter.
        let ack = DecodedAck {
            at: now,
            upto,
            advanced: true,
            window_changed: false,
            newer_timestamp: false,
            has_sack: false,
            ece: seg.flags.contains(Flags::ECE),
            duplicates: self.counted_duplicates(),
        };
        self.note_cwnd_usage();
        let in_flight = self.snd.board.flight_size();
        let delivery = Delivery {
            newly_sacked: false,
            prior_in_flight: in_flight,
            prior_flight_size: in_flight,
            was_reducing: self.snd.prr().is_some(),
        };
        let mut acked = Acked::default();
        self.ack_fast_path(now, upto, &mut acked);
        let feedback = self.decode_feedback(seg, ack, &acked);
        self.on_progress(now, ack, &acked);
        let loss = LossUpdate::in_order(delivery);
        let sample = self.ack_sample(seg, ack, delivery, &acked, &feedback, &loss);
        self.snd.last_ece = ack.ece;
        self.react(&sample, &acked);
        self.rearm_in_order(now, &acked);
    }
}
