//! Scoreboard step: the data that an ACK newly acknowledges and SACKs.

use lowtide_units::Instant;
use lowtide_wire::Segment;

use super::decode::DecodedAck;
use crate::connection::Connection;
use crate::loss::detection::LossDetector;
use crate::loss::recovery::Acked;

/// The effect of an ACK on the scoreboard, beside the data that it delivered ([`Acked`]).
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    /// Its SACK blocks newly cover data.
    pub(super) newly_sacked: bool,
    /// Pipe before it, bytes (RFC 6675).
    pub(super) prior_in_flight: u64,
    /// FlightSize before it, bytes (RFC 5681).
    pub(super) prior_flight_size: u64,
    /// A reduction by PRR was in progress before it.
    pub(super) was_reducing: bool,
}

impl Connection {
    /// Removes acknowledged data from the scoreboard, marks SACKed data, and advances SND.UNA.
    /// Writes the newly delivered data to `acked`.
    #[inline]
    pub(super) fn update_scoreboard(
        &mut self,
        now: Instant,
        seg: &Segment,
        ack: DecodedAck,
        acked: &mut Acked,
    ) -> Delivery {
        let (prior_in_flight, prior_flight_size) =
            (self.snd.board.pipe(), self.snd.board.flight_size());
        let was_reducing = self.snd.prr().is_some();
        let newly_sacked = self.ack_slow_path(now, seg, ack.upto, acked);
        Delivery { newly_sacked, prior_in_flight, prior_flight_size, was_reducing }
    }

    /// No loss is suspected or being repaired and the scoreboard is plain: an ACK that advances
    /// SND.UNA only acknowledges data.
    #[inline]
    pub(crate) fn on_fast_path(&self) -> bool {
        let first = self.snd.board.first_send_order();
        self.snd.board.is_plain(self.snd.una)
            && !self.snd.episode.in_recovery()
            && !self.timers.reorder_runs()
            && self.snd.recovery_ext.as_deref().is_none_or(|ext| ext.is_in_order(first))
    }

    /// Processes an ACK up to `ack` without SACK blocks on the fast path: [`Self::ack_slow_path`]
    /// and [`Self::advance_recovery`] without the steps that have no effect here.
    #[inline]
    pub(super) fn ack_fast_path(&mut self, now: Instant, ack: u64, acked: &mut Acked) {
        let arrived = self.snd.board.ack_in_order(ack, acked);
        self.snd.una = ack;
        self.snd.episode.end_duplicates();
        self.snd.end_limited_transmit();
        let by_time = self.loss_detector() == LossDetector::Rack;
        let Some(ext) = &mut self.snd.recovery_ext else { return };
        ext.end_reduction_at(ack);
        if let Some(arrived) = arrived.filter(|_| by_time) {
            ext.on_in_order(now, &arrived);
        }
    }

    /// Processes an ACK up to `ack`, in order or not. True if its SACK blocks are new.
    #[inline(never)]
    fn ack_slow_path(&mut self, now: Instant, seg: &Segment, ack: u64, acked: &mut Acked) -> bool {
        if self.snd.recovery_ext.is_some() {
            acked.rack_sample = self.rack_sample(now, seg, ack);
        }
        self.snd.board.ack(ack, acked);
        self.snd.una = ack;
        self.sack_ok && !seg.options.sack.is_empty() && self.mark_sacked(seg, acked)
    }

    /// The peer accepted the byte of a window probe: it now counts as sent.
    #[cold]
    #[inline(never)]
    pub(super) fn on_window_probe_acked(&mut self, now: Instant, ack: i64, end: u64) {
        if ack > self.snd.nxt as i64 && ack <= end as i64 {
            self.snd.prepare_recovery(&self.config);
            let start = self.snd.nxt;
            if let Some(rate) = &mut self.snd.rate {
                let in_flight = self.snd.board.pipe() + (end - start);
                rate.on_sent(now, end, in_flight, self.snd.board.is_empty());
            }
            self.snd.board.push(start, (end - start) as u32, now);
            self.snd.board.mark_ambiguous();
            self.snd.nxt = end;
            self.snd.window_probe_end = None;
        }
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
}
