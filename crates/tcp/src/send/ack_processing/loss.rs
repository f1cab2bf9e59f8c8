//! Loss step: losses that an ACK reveals, begin and end of recovery, undo of a spurious one.

use core::hint::cold_path;

use lowtide_units::{Duration, Instant};
use lowtide_wire::{Flags, Segment};

use super::decode::DecodedAck;
use super::scoreboard::Delivery;
use crate::cc::CongestionEvent;
use crate::connection::Connection;
use crate::loss::detection::AckSummary;
use crate::loss::recovery::{Acked, EifelAck, EifelVerdict, FRtoAck, Lost, is_dsack};
use crate::send::sender::LimitedBy;
use crate::settings::config::UndoRule;

/// The effect of an ACK on loss recovery.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossUpdate {
    /// The facts by which loss recovery decided.
    pub(super) summary: AckSummary,
    pub(super) lost: Lost,
    /// Fast recovery was in progress before or after it.
    pub(super) recovering: bool,
    /// A reduction by PRR was in progress before it.
    pub(super) was_reducing: bool,
    /// A timeout was being repaired before it.
    pub(super) after_rto: bool,
}

impl LossUpdate {
    /// The effect of an ACK of new data on the fast path.
    pub(super) const fn in_order(delivery: Delivery) -> Self {
        Self {
            summary: AckSummary {
                advanced: true,
                duplicate: false,
                window_changed: false,
                sacked: false,
                dsack: None,
            },
            lost: Lost::NONE,
            recovering: false,
            was_reducing: delivery.was_reducing,
            after_rto: false,
        }
    }
}

impl Connection {
    /// Detects losses and moves loss recovery on.
    #[inline]
    pub(super) fn update_loss_recovery(
        &mut self,
        now: Instant,
        seg: &Segment,
        ack: DecodedAck,
        delivery: Delivery,
        acked: &Acked,
    ) -> LossUpdate {
        let duplicate = !ack.advanced
            && !ack.window_changed
            && delivery.prior_flight_size > 0
            && seg.payload_len == 0
            && !seg.flags.intersects(Flags::SYN | Flags::FIN);
        // Without PRR, RACK and probes their cost is avoided.
        let has_ext = self.snd.recovery_ext.is_some();
        // The undo of a recovery may have ended the reduction.
        let was_reducing = self.snd.prr().is_some();
        let was_recovering = self.snd.episode.in_fast_recovery();
        let after_rto = self.snd.episode.after_timeout();
        let summary = AckSummary {
            advanced: ack.advanced,
            duplicate,
            window_changed: ack.window_changed,
            sacked: delivery.newly_sacked,
            dsack: if has_ext { self.dsack_of(seg) } else { None },
        };
        // With nothing in flight nothing can be lost.
        let lost = if has_ext || delivery.prior_flight_size > 0 {
            self.advance_recovery(now, acked, &summary)
        } else {
            Lost::NONE
        };
        if lost.bytes > 0 {
            self.note_lost_segments(now);
        }
        LossUpdate {
            summary,
            lost,
            recovering: was_recovering || self.snd.episode.in_fast_recovery(),
            was_reducing,
            after_rto,
        }
    }

    /// Undoes the loss reaction if this ACK shows that it was spurious.
    #[inline]
    pub(super) fn undo_if_spurious(
        &mut self,
        now: Instant,
        seg: &Segment,
        ack: DecodedAck,
        acked: &Acked,
        marked: bool,
    ) {
        self.snd.episode.hold_retransmissions(false);
        if self.snd.episode.frto_runs() {
            cold_path();
            if self.config.undo == UndoRule::Timestamps
                && self.undo_by_original(now, seg, ack, acked, marked)
            {
                return;
            }
            return self.undo_by_frto(now, seg, ack, marked);
        }
        if self.ts.is_some() && (ack.has_sack || self.snd.episode.in_recovery()) {
            self.undo_spurious(now, seg, ack, acked, marked);
        }
    }

    /// Undoes the reaction to a timeout because data arrived that it did not retransmit, or by
    /// timestamps; returns whether it did. F-RTO with SACK as in Linux (`tcp_process_loss`,
    /// `FLAG_ORIG_SACK_ACKED`; RFC 5682 §3.1 step 3.b asks for data after the retransmission).
    #[inline(never)]
    fn undo_by_original(
        &mut self,
        now: Instant,
        seg: &Segment,
        ack: DecodedAck,
        acked: &Acked,
        marked: bool,
    ) -> bool {
        let timeout_at = self.snd.recovery_ext.as_ref().map(|ext| ext.last_reaction_at());
        let original = acked.newest.as_ref().zip(timeout_at).is_some_and(|(n, at)| n.at < at);
        if original && !marked {
            self.undo_reaction(now);
        } else if self.ts.is_some() {
            self.undo_spurious(now, seg, ack, acked, marked);
        }
        !self.snd.episode.after_timeout()
    }

    /// Undoes the reaction to a timeout that F-RTO finds spurious (RFC 5682 §2.1, §3).
    ///
    /// An ACK that is not a duplicate and acknowledges nothing new does not count. An ACK with
    /// marks ends the detection, as [`Self::undo_spurious`] undoes nothing then.
    #[inline(never)]
    fn undo_by_frto(&mut self, now: Instant, seg: &Segment, ack: DecodedAck, marked: bool) {
        let duplicate = !ack.window_changed && seg.payload_len == 0;
        if !ack.advanced && !ack.has_sack && !duplicate {
            return;
        }
        let ready = self.snd.available().min(u64::from(self.snd.mss));
        let spurious = self.snd.episode.frto_on_ack(FRtoAck {
            advanced: ack.advanced && !marked,
            acks_all: self.snd.episode.recovery_point().is_none_or(|point| ack.upto >= point),
            new_data: ready > 0 && self.snd.usable_window() >= ready,
        });
        if spurious {
            self.undo_reaction(now);
        }
    }

    /// Undoes a spurious loss reaction (RFC 3522, RFC 4015; switch `undo`).
    ///
    /// Segments marked lost count as in flight again, so new data is sent next (RFC 4015 step 7).
    /// While originals arrive late and a retransmission is in flight, nothing is retransmitted.
    /// Deviations: if the decoder reports congestion (`marked`), nothing is undone, while step 8
    /// keeps the congestion state only; cwnd is restored to its old value, as in Linux, not to the
    /// data in flight; the round-trip estimate uses the late sample as any other.
    #[inline(never)]
    fn undo_spurious(
        &mut self,
        now: Instant,
        seg: &Segment,
        ack: DecodedAck,
        acked: &Acked,
        marked: bool,
    ) {
        let Some(option) = seg.options.timestamps else { return };
        let dsack = is_dsack(seg.options.sack.as_slice(), seg.ack);
        if dsack {
            self.snd.eifel.on_dsack();
        }
        // A SACK within the minimum RTT of a retransmission is for the original (RFC 8985 §6.2).
        let min_rtt = self.rtt.min().unwrap_or(Duration::ZERO);
        if acked.resent_at.is_some_and(|at| at + min_rtt <= now) {
            self.snd.eifel.on_repair();
        }
        if !ack.advanced || !self.snd.episode.in_recovery() {
            return;
        }
        let over = self.snd.episode.is_over(ack.upto);
        let at_once = self.config.undo == UndoRule::Timestamps;
        let verdict = self.snd.eifel.on_ack(EifelAck {
            echo: option.echo,
            dsack: dsack && !at_once,
            acks_all: self.snd.board.is_empty() && !at_once,
            // Beyond the end of the episode, a retransmission belongs to the next one.
            retransmission_in_flight: !(over || at_once && self.snd.episode.after_timeout())
                && self.snd.board.has_retransmission_in_flight(),
        });
        match self.config.undo {
            UndoRule::Eifel | UndoRule::Timestamps => {}
            UndoRule::EifelRto if self.snd.episode.after_timeout() => {}
            _ => return,
        }
        match verdict {
            EifelVerdict::Spurious if !marked => self.undo_reaction(now),
            EifelVerdict::Undecided => self.snd.episode.hold_retransmissions(true),
            EifelVerdict::Spurious | EifelVerdict::NoUndo => {}
        }
    }

    /// Restores the state before the loss reaction.
    #[inline(never)]
    fn undo_reaction(&mut self, now: Instant) {
        let in_flight = self.snd.board.len();
        if !self.snd.eifel.may_undo(self.snd.una, self.snd.nxt, in_flight) {
            return;
        }
        // Beyond the recovery point the marks belong to the next episode.
        if !self.snd.episode.is_over(self.snd.una) {
            self.snd.board.undo_losses();
        }
        let reordered = self.snd.episode.in_fast_recovery();
        if let Some(ext) = &mut self.snd.recovery_ext {
            ext.on_undo(reordered);
        }
        // The sender was limited by the reduced window, which is gone: no growth for it.
        self.snd.limited_by = LimitedBy::Application;
        self.snd.episode.undo(self.sack_ok);
        self.ecn.on_undone();
        self.counters.undos += 1;
        self.notify_cc(&CongestionEvent::Undo { now });
    }
}
