//! Proportional rate reduction: how fast the window comes down to its target (RFC 9937).
//!
//! Decides how many bytes may go out after each ACK while a reduction lasts; what they are (a
//! retransmission, new data) and where the target lies are decided elsewhere. The same rule spreads
//! the cut after a loss and the cut for ECN over the round trip, as Linux does.
//!
//! Deviation from RFC 9937 §6.2: what may have been sent by now is rounded up to whole segments, as
//! in the figures of RFC 6937 §3.1 and in Linux, which count segments. In bytes the first half
//! segment that may go would wait for the second half. And it does not know a cut before the last one is
//! through; see [`Prr::again`].

/// One reduction under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prr {
    /// `RecoverFS`: bytes whose delivery makes the round, at least one.
    recover_fs: u64,
    /// `prr_delivered`.
    delivered: u64,
    /// `prr_out`.
    out: u64,
    /// Bytes of this round's share that the rounding of the last cut let go already.
    rounding_debt: u64,
    /// This round's share so far, before rounding.
    share: u64,
    /// What is left of `SndCnt`.
    budget: u64,
    /// Something left since the first cut: nothing is forced out any more.
    sent: bool,
    /// Without SACK: bytes that duplicate ACKs have counted as delivered already.
    dupack_delivered: u64,
    /// The reduction ends when SND.UNA reaches this; `None` for the end of fast recovery.
    until: Option<u64>,
}

/// What one ACK says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrrAck {
    /// `DeliveredData`, bytes.
    pub(crate) delivered: u64,
    /// Bytes believed to be in the network after this ACK.
    pub(crate) in_flight: u64,
    /// The window at the end of the reduction (ssthresh), bytes.
    pub(crate) target: u64,
    /// `SafeACK`: SND.UNA advanced and no further loss was found.
    pub(crate) safe: bool,
    /// Payload bytes of a full segment.
    pub(crate) mss: u64,
}

impl Prr {
    /// A reduction begins; `recover_fs` is FlightSize without what was SACKed before this ACK
    /// (RFC 9937 §6.1). Only the forced segment may go before the first [`Self::on_ack`].
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

    /// Recovery began without SACK, at the ACK that made `bytes` of duplicates in all.
    pub(crate) const fn with_dupacks(mut self, bytes: u64) -> Self {
        self.dupack_delivered = bytes;
        self
    }

    /// Another cut for ECN before this one was through, as with a cut for every marked ACK: a new round
    /// from here. What was not used is forfeited, it belonged to a wider target; what went out ahead by
    /// rounding is owed, or each cut would let a segment go.
    pub(crate) fn restart(&self, recover_fs: u64, until: u64, mss: u64) -> Self {
        Self {
            rounding_debt: (self.rounding_debt + self.out).saturating_sub(self.share).min(mss),
            sent: self.sent,
            ..Self::begin(recover_fs, Some(until))
        }
    }

    /// Of a cut for ECN: its window of data is acknowledged.
    pub(crate) fn is_over(&self, snd_una: u64) -> bool {
        self.until.is_some_and(|point| snd_una >= point)
    }

    /// Bytes that may go out now.
    pub(crate) const fn budget(&self) -> u64 {
        self.budget
    }

    /// Bytes that left the network unseen by the scoreboard, for want of SACK.
    pub(crate) const fn dupack_delivered(&self) -> u64 {
        self.dupack_delivered
    }

    /// `DeliveredData` without SACK (RFC 9937 §6.2): a segment for a duplicate, and for an advance
    /// what the duplicates before it did not count. The hole itself is no duplicate.
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
        // One duplicate for each segment in flight but the missing one: no more can be true. And in all no
        // more than was in flight when recovery began, else duplicates of new data would let go new data
        // without end (RFC 9937 §6.2).
        let believed = self.delivered.saturating_add(mss) <= self.recover_fs;
        if duplicate && believed && self.dupack_delivered + 2 * mss <= flight_size {
            self.dupack_delivered += mss;
            return mss;
        }
        0
    }

    /// RFC 9937 §6.2.
    pub(crate) fn on_ack(&mut self, step: &PrrAck) {
        if step.delivered == 0 {
            return;
        }
        let mss = step.mss.max(1);
        self.delivered = self.delivered.saturating_add(step.delivered);
        self.budget = if step.in_flight > step.target {
            let share = u128::from(self.delivered) * u128::from(step.target);
            let share = share.div_ceil(u128::from(self.recover_fs));
            self.share = u64::try_from(share).unwrap_or(u64::MAX);
            let segments = self.share.saturating_sub(self.rounding_debt).div_ceil(mss);
            segments.saturating_mul(mss).saturating_sub(self.out)
        } else {
            self.share = self.rounding_debt + self.out;
            // The reduction bound: conservative, and one segment more when recovery goes well.
            let limit = self.delivered.saturating_sub(self.out).max(step.delivered);
            let limit = if step.safe { limit.saturating_add(mss) } else { limit };
            limit.min(step.target - step.in_flight)
        };
        self.force(mss);
    }

    /// Nothing was sent yet and nothing may go: one segment goes, the fast retransmission.
    fn force(&mut self, mss: u64) {
        if !self.sent && self.budget == 0 {
            self.budget = mss;
        }
    }

    /// A timer and no ACK found losses: one segment of them may go, if the target has room for it.
    pub(crate) fn on_timer(&mut self, in_flight: u64, target: u64, mss: u64) {
        if in_flight.saturating_add(mss) <= target {
            self.budget = self.budget.max(mss);
        }
        self.force(mss);
    }

    /// Data left, new or again.
    pub(crate) const fn on_sent(&mut self, bytes: u64) {
        self.sent = true;
        self.out = self.out.saturating_add(bytes);
        self.budget = self.budget.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests;
