//! Time-based loss detection (RACK, RFC 8985 §5, §6): the most recently sent segment that was
//! delivered, and the reordering window.
//!
//! Marks no segment lost; [`Scoreboard::mark_overdue_lost`](super::Scoreboard::mark_overdue_lost)
//! does, from this state.
//!
//! Deviations from RFC 8985: a DSACK for a tail loss probe does not widen the reordering window (as
//! in Linux: the probe is no reordering). `RACK.min_RTT` is the minimum over the connection's life.

use lowtide_units::{Duration, Instant};

use super::{InOrderAck, SendOrder};

/// SACKed segments that indicate a loss while no reordering was seen (RFC 8985 §6.2 step 4).
const DUP_THRESH: u32 = 3;
/// Recoveries after which a widened reordering window is reset (RFC 8985 §6.2 step 4).
const PERSIST: u32 = 16;

/// Send times and order of the segments that one ACK delivered. The scoreboard fills it in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RackSample {
    /// A retransmission sent after this time cannot be the delivered copy: the echoed timestamp is
    /// older, or the round trip would be shorter than any before (RFC 8985 §6.2 step 2).
    latest_send_time: Instant,
    /// `RACK.fack` before this ACK.
    fack: u64,
    /// The most recently sent of the delivered segments.
    last: Option<SendOrder>,
    /// SND.UNA, if the segment processed last gives the RTT.
    una: Option<u64>,
    /// The segment processed last: the highest below SND.UNA, else the highest SACKed one.
    processed: Option<SendOrder>,
    /// The highest delivered end.
    highest: u64,
    /// A segment that was sent only once arrived below the highest delivered end.
    reordered: bool,
}

impl RackSample {
    /// Adds a delivered segment; `again` if it was sent more than once.
    pub(crate) fn on_delivered(&mut self, order: SendOrder, again: bool) {
        self.highest = self.highest.max(order.end);
        self.reordered |= !again && order.end < self.fack;
        let counts = !again || order.at <= self.latest_send_time;
        if counts {
            self.last = self.last.max(Some(order));
            self.note_processed(order);
        }
    }
}

impl RackSample {
    /// The segment processed last gives the RTT; `una` is SND.UNA after the ACK.
    pub(crate) const fn by_processing(mut self, una: u64) -> Self {
        self.una = Some(una);
        self
    }

    fn note_processed(&mut self, order: SendOrder) {
        let Some(una) = self.una else { return };
        let rank = |order: SendOrder| (order.end <= una, order.end);
        if self.processed.is_none_or(|before| rank(before) < rank(order)) {
            self.processed = Some(order);
        }
    }
}

/// The state of RFC 8985 §5.3.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rack {
    /// `RACK.xmit_ts` and `RACK.end_seq`.
    newest: Option<SendOrder>,
    /// `RACK.rtt`.
    rtt: Duration,
    fack: u64,
    reordering_seen: bool,
    /// The round in which a DSACK arrived ends when SND.UNA reaches this offset.
    dsack_round: Option<u64>,
    reo_wnd_mult: u32,
    reo_wnd_persist: u32,
}

/// Inputs of the reordering window outside of the RACK state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReoWndInput {
    /// In fast recovery or in recovery after a timeout.
    pub(crate) in_recovery: bool,
    /// Segments currently SACKed.
    pub(crate) segs_sacked: u32,
    /// The minimum RTT.
    pub(crate) min_rtt: Duration,
    /// The smoothed RTT.
    pub(crate) srtt: Duration,
}

impl Rack {
    pub(crate) const fn new() -> Self {
        Self {
            newest: None,
            rtt: Duration::ZERO,
            fack: 0,
            reordering_seen: false,
            dsack_round: None,
            reo_wnd_mult: 1,
            reo_wnd_persist: PERSIST,
        }
    }

    /// Begins the sample of an ACK, which no retransmission sent after `latest_send_time` can have
    /// caused.
    pub(crate) const fn begin_sample(&self, latest_send_time: Instant) -> RackSample {
        RackSample {
            latest_send_time,
            una: None,
            processed: None,
            fack: self.fack,
            last: None,
            highest: self.fack,
            reordered: false,
        }
    }

    /// Applies steps 2 and 3 of RFC 8985 §6.2.
    pub(crate) fn on_sample(&mut self, now: Instant, sample: &RackSample) {
        self.fack = sample.highest;
        self.reordering_seen |= sample.reordered;
        if let Some(last) = sample.last {
            self.rtt = now.saturating_since(sample.processed.unwrap_or(last).at);
            self.newest = self.newest.max(Some(last));
        }
    }

    /// [`Self::on_sample`] for segments that arrived in order, were sent only once, and were not
    /// preceded by a segment sent later ([`Self::newest_sent_after`]).
    #[inline]
    pub(crate) fn on_in_order(&mut self, now: Instant, arrived: &InOrderAck) {
        self.reordering_seen |= arrived.first_end < self.fack;
        self.fack = self.fack.max(arrived.last.end);
        self.rtt = now.saturating_since(arrived.last.at);
        self.newest = Some(arrived.last);
    }

    /// Reordering was found by other means (`RACK.reordering_seen`).
    pub(crate) const fn on_reordering(&mut self) {
        self.reordering_seen = true;
    }

    /// Returns whether a segment sent later than `first` was delivered.
    #[inline]
    pub(crate) fn newest_sent_after(&self, first: SendOrder) -> bool {
        self.newest.is_some_and(|newest| newest > first)
    }

    /// The first half of step 4. A DSACK widens the window by a quarter of the minimum RTT, once
    /// per round; the window is reset after 16 recoveries without a DSACK.
    pub(crate) fn update_reo_wnd(
        &mut self,
        snd_una: u64,
        snd_nxt: u64,
        dsack: bool,
        recovered: bool,
    ) {
        if self.dsack_round.is_some_and(|round| snd_una >= round) {
            self.dsack_round = None;
        }
        if dsack && self.dsack_round.is_none() {
            self.dsack_round = Some(snd_nxt);
            self.reo_wnd_mult = self.reo_wnd_mult.saturating_add(1);
            self.reo_wnd_persist = PERSIST;
        } else if recovered {
            self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
            if self.reo_wnd_persist == 0 {
                self.reo_wnd_mult = 1;
            }
        }
    }

    /// `RACK.reo_wnd`, the second half of step 4.
    fn reordering_window(&self, input: &ReoWndInput) -> Duration {
        if !self.reordering_seen && (input.in_recovery || input.segs_sacked >= DUP_THRESH) {
            return Duration::ZERO;
        }
        (input.min_rtt / 4 * u64::from(self.reo_wnd_mult)).min(input.srtt)
    }

    /// Time after its transmission when a segment counts as lost, if a segment sent later was
    /// delivered.
    pub(crate) fn loss_delay(&self, input: &ReoWndInput) -> Duration {
        self.rtt + self.reordering_window(input)
    }

    /// The most recently sent segment that was delivered (`RACK.segment`).
    pub(crate) const fn newest(&self) -> Option<SendOrder> {
        self.newest
    }
}

#[cfg(test)]
mod tests;
