//! Proportional rate reduction (PRR, RFC 9937): spreads a window reduction over a round trip.
//!
//! Decides how many bytes may be sent after each ACK during a reduction. The caller decides which
//! bytes (a retransmission or new data) and sets the target. One rule spreads the reduction after a
//! loss and the reduction for ECN, as in Linux.
//!
//! Deviations from RFC 9937 §6.2: the bytes that may have been sent by now are rounded up to whole
//! segments, as in the figures of RFC 6937 §3.1 and in Linux, which count segments. In bytes, the
//! first half segment would wait for the second half. A reduction may begin before the last one has
//! ended; see [`Prr::restart`].

/// One reduction in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prr {
    /// `RecoverFS`: bytes whose delivery completes the round, at least one.
    recover_fs: u64,
    /// `prr_delivered`.
    delivered: u64,
    /// `prr_out`.
    out: u64,
    /// Bytes of this round's share that were already sent because the last reduction rounded up.
    rounding_debt: u64,
    /// This round's share so far, before rounding, bytes.
    share: u64,
    /// Remaining bytes of `SndCnt`.
    budget: u64,
    /// Data was sent since the first reduction: no segment is forced any more.
    sent: bool,
    /// Without SACK: bytes that duplicate ACKs have already counted as delivered.
    dupack_delivered: u64,
    /// The reduction ends when SND.UNA reaches this offset; `None`: at the end of fast recovery.
    until: Option<u64>,
}

/// The inputs from one ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrrAck {
    /// `DeliveredData`, bytes.
    pub(crate) delivered: u64,
    /// Bytes estimated to be in the network after this ACK.
    pub(crate) in_flight: u64,
    /// The window at the end of the reduction (ssthresh), bytes.
    pub(crate) target: u64,
    /// `SafeACK`: SND.UNA advanced and no further loss was detected.
    pub(crate) safe: bool,
    /// Payload bytes of a full segment.
    pub(crate) mss: u64,
}

impl Prr {
    /// Begins a reduction. `recover_fs` is FlightSize without the bytes SACKed before this ACK (RFC
    /// 9937 §6.1). Until the first [`Self::on_ack`], only the forced segment may be sent.
    pub(crate) fn begin(recover_fs: u64, until: Option<u64>) -> Self {
        Self {
            recover_fs: recover_fs.max(1),
            delivered: 0,
            out: 0,
            rounding_debt: 0,
            share: 0,
            budget: 0,
            sent: false,
            dupack_delivered: 0,
            until,
        }
    }

    /// Sets the bytes of duplicate ACKs that began recovery without SACK.
    pub(crate) const fn with_dupacks(mut self, bytes: u64) -> Self {
        self.dupack_delivered = bytes;
        self
    }

    /// Returns the state for another reduction that begins before this one has ended: a reduction
    /// per marked ACK, or a loss after a mark. A new round begins. Unused budget is discarded
    /// because it belonged to a larger target. Bytes sent ahead by rounding become a debt;
    /// otherwise each reduction would release a segment.
    pub(crate) fn restart(&self, recover_fs: u64, until: Option<u64>, mss: u64) -> Self {
        Self {
            rounding_debt: (self.rounding_debt + self.out).saturating_sub(self.share).min(mss),
            sent: self.sent,
            ..Self::begin(recover_fs, until)
        }
    }

    /// Returns whether an ECN reduction has ended: its window of data is acknowledged.
    pub(crate) fn is_over(&self, snd_una: u64) -> bool {
        self.until.is_some_and(|point| snd_una >= point)
    }

    /// Bytes that may be sent now.
    pub(crate) const fn budget(&self) -> u64 {
        self.budget
    }

    /// Bytes that left the network without the scoreboard's knowledge, because there is no SACK.
    pub(crate) const fn dupack_delivered(&self) -> u64 {
        self.dupack_delivered
    }

    /// Returns `DeliveredData` without SACK (RFC 9937 §6.2): one segment for a duplicate ACK; for
    /// an advance, the bytes that the earlier duplicates did not count. The hole itself is no
    /// duplicate.
    pub(crate) fn delivered_without_sack(
        &mut self,
        acked: u64,
        duplicate: bool,
        flight_size: u64,
        mss: u64,
    ) -> u64 {
        if acked > 0 {
            let hole = acked.min(mss);
            let counted = (acked - hole).min(self.dupack_delivered);
            self.dupack_delivered -= counted;
            return acked - counted;
        }
        // At most one duplicate for each segment in flight except the missing one. In total, at
        // most the bytes in flight when recovery began: otherwise duplicates caused by new data
        // would release new data without limit (RFC 9937 §6.2).
        let plausible = self.delivered.saturating_add(mss) <= self.recover_fs;
        if duplicate && plausible && self.dupack_delivered + 2 * mss <= flight_size {
            self.dupack_delivered += mss;
            return mss;
        }
        0
    }

    /// Updates the budget (RFC 9937 §6.2).
    pub(crate) fn on_ack(&mut self, ack: &PrrAck) {
        if ack.delivered == 0 {
            return;
        }
        let mss = ack.mss.max(1);
        self.delivered = self.delivered.saturating_add(ack.delivered);
        self.budget = if ack.in_flight > ack.target {
            let share = u128::from(self.delivered) * u128::from(ack.target);
            let share = share.div_ceil(u128::from(self.recover_fs));
            self.share = u64::try_from(share).unwrap_or(u64::MAX);
            let segments = self.share.saturating_sub(self.rounding_debt).div_ceil(mss);
            segments.saturating_mul(mss).saturating_sub(self.out)
        } else {
            self.share = self.rounding_debt + self.out;
            // The reduction bound: conservative, plus one segment when recovery makes progress.
            let limit = self.delivered.saturating_sub(self.out).max(ack.delivered);
            let limit = if ack.safe { limit.saturating_add(mss) } else { limit };
            limit.min(ack.target - ack.in_flight)
        };
        self.force(mss);
    }

    /// Allows one segment, the fast retransmission, if nothing was sent and the budget is zero.
    fn force(&mut self, mss: u64) {
        if !self.sent && self.budget == 0 {
            self.budget = mss;
        }
    }

    /// Allows one segment after a timer detected losses, if the target has room.
    pub(crate) fn on_timer(&mut self, in_flight: u64, target: u64, mss: u64) {
        if in_flight.saturating_add(mss) <= target {
            self.budget = self.budget.max(mss);
        }
        self.force(mss);
    }

    /// Records bytes sent or retransmitted.
    pub(crate) const fn on_sent(&mut self, bytes: u64) {
        self.sent = true;
        self.out = self.out.saturating_add(bytes);
        self.budget = self.budget.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests;
