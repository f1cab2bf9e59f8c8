//! Reaction step: progress and events, the answer of the congestion control, and the timers.

use lowtide_units::Instant;
use lowtide_wire::Segment;

use super::decode::DecodedAck;
use super::loss::LossUpdate;
use crate::cc::{AckSample, CongestionEvent, Reaction};
use crate::connection::Connection;
use crate::event::EventKind;
use crate::loss::detection::AckSummary;
use crate::loss::recovery::Acked;

impl Connection {
    /// Records progress: the attempts counted against the retry limits, space in the send buffer,
    /// and the time of the last delivery.
    #[inline]
    pub(super) fn on_progress(&mut self, now: Instant, ack: DecodedAck, acked: &Acked) {
        if ack.advanced {
            self.retries.on_progress();
            let unacked = self.snd.write_seq.saturating_sub(ack.upto);
            if self.snd.nospace && unacked < self.snd.buffer {
                self.snd.nospace = false;
                self.pending.note(EventKind::Writable);
            }
        }
        if acked.delivered_bytes > 0 {
            self.snd.delivered_at = now;
        }
    }

    /// Passes the sample to the congestion control. A reduction because of ECN makes CWR due and
    /// begins a reduction by PRR.
    #[inline]
    pub(super) fn react(&mut self, sample: &AckSample, acked: &Acked) {
        let reaction = self.cc.as_mut().map_or(Reaction::None, |cc| cc.on_ack(sample));
        if reaction == Reaction::Reduced && sample.ece {
            self.counters.ecn_reductions += 1;
            self.ecn.on_cut(self.snd.nxt);
            self.begin_ecn_reduction(acked.delivered_bytes);
        } else if reaction == Reaction::Reduced {
            // A delay-based control computes its window in one step and owes no CWR.
            self.counters.delay_reductions += 1;
        }
    }

    /// Restarts the timers of the sender; updates PRR and the tail loss probe.
    #[inline]
    pub(super) fn rearm_after_ack(
        &mut self,
        now: Instant,
        seg: &Segment,
        acked: &Acked,
        loss: &LossUpdate,
    ) {
        let AckSummary { advanced, duplicate, .. } = loss.summary;
        self.rearm_rto(now, advanced);
        if self.snd.recovery_ext.is_none() {
            return;
        }
        if self.snd.prr().is_some() {
            let (acked, delivered) = (acked.acked_bytes, acked.delivered_bytes);
            self.update_prr(acked, delivered, duplicate, advanced && loss.lost.bytes == 0);
        }
        self.on_loss_probe_acked(now, seg, &loss.summary);
        self.rearm_loss_timers(now, advanced);
    }

    /// [`Self::rearm_after_ack`] on the fast path.
    #[inline]
    pub(super) fn rearm_in_order(&mut self, now: Instant, acked: &Acked) {
        self.rearm_rto(now, true);
        if self.snd.recovery_ext.is_none() {
            return;
        }
        if self.snd.prr().is_some() {
            self.update_prr(acked.acked_bytes, acked.delivered_bytes, false, true);
        }
        self.rearm_loss_probe(now, true);
    }

    pub(crate) fn notify_cc(&mut self, event: &CongestionEvent) {
        if let Some(cc) = self.cc.as_mut() {
            cc.on_event(event);
        }
    }

    /// RFC 6298 §5.2, §5.3: stops the timer when everything is acknowledged, else restarts it. It
    /// restarts at every partial ACK ("slow but steady" of RFC 6582 §4, as in Linux and FreeBSD),
    /// not only at the first.
    fn rearm_rto(&mut self, now: Instant, advanced: bool) {
        if self.snd.board.is_empty() {
            self.timers.stop_rto();
        } else if advanced {
            self.timers.arm_rto(now, &self.rtt);
        }
    }
}
