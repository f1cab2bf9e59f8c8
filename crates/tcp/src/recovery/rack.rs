//! Loss detection by time (RACK, RFC 8985 §5, §6): what was sent last of all that arrived, and how
//! much later than that something may still come.
//!
//! Judges nothing by itself: [`Scoreboard::lose_overdue`](super::Scoreboard::lose_overdue) does with
//! what this remembers.
//!
//! Deviations from RFC 8985: a DSACK for a tail loss probe does not widen the reordering window (as
//! in Linux: the probe was no reordering); `RACK.min_RTT` is the least of the connection's life.

use lowtide_units::{Duration, Instant};

use super::InOrderAck;

/// Segments above a hole that make a loss while no reordering was seen (RFC 8985 §6.2 step 4).
const DUP_THRESH: u32 = 3;
/// Recoveries after which a widened reordering window shrinks again (RFC 8985 §6.2 step 4).
const PERSIST: u32 = 16;

/// When a segment was sent, and its end where two were sent at once (`RACK_sent_after`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct SendOrder {
    pub(crate) at: Instant,
    pub(crate) end: u64,
}

/// What one ACK delivered, as far as time and order tell. The scoreboard fills it in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RackSample {
    /// A retransmission sent after this cannot be what was delivered: the echoed timestamp is older,
    /// or the round trip would be shorter than any before (RFC 8985 §6.2 step 2).
    latest_send_time: Instant,
    /// `RACK.fack` before this ACK.
    fack: u64,
    /// The last sent of all that arrived.
    last: Option<SendOrder>,
    /// The highest end that arrived.
    highest: u64,
    /// Something arrived below what had arrived before, and it was sent only once.
    reordered: bool,
}

impl RackSample {
    /// A segment arrived; `again` when it was sent more than once.
    pub(crate) fn on_delivered(&mut self, sending: SendOrder, again: bool) {
        self.highest = self.highest.max(sending.end);
        self.reordered |= !again && sending.end < self.fack;
        let counts = !again || sending.at <= self.latest_send_time;
        if counts {
            self.last = self.last.max(Some(sending));
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
    /// The round in which a DSACK came ends when SND.UNA reaches this.
    dsack_round: Option<u64>,
    reo_wnd_mult: u32,
    reo_wnd_persist: u32,
}

/// What the reordering window depends on beside the state of RACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReoWndInput {
    /// In fast recovery or after a timeout.
    pub(crate) in_recovery: bool,
    /// Segments that are SACKed at present.
    pub(crate) segs_sacked: u32,
    /// The least round trip.
    pub(crate) min_rtt: Duration,
    /// The smoothed round trip.
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

    /// An ACK arrives; retransmissions after `plausible` cannot have caused it.
    pub(crate) const fn begin_sample(&self, plausible: Instant) -> RackSample {
        RackSample {
            latest_send_time: plausible,
            fack: self.fack,
            last: None,
            highest: self.fack,
            reordered: false,
        }
    }

    /// Steps 2 and 3 of RFC 8985 §6.2.
    pub(crate) fn on_sample(&mut self, now: Instant, arrivals: &RackSample) {
        self.fack = arrivals.highest;
        self.reordering_seen |= arrivals.reordered;
        if let Some(last) = arrivals.last {
            self.rtt = now.saturating_since(last.at);
            self.newest = self.newest.max(Some(last));
        }
    }

    /// The same of what arrived in order, was sent only once, and before which nothing arrived that was
    /// sent later ([`Self::is_ahead_of`]).
    #[inline]
    pub(crate) fn on_in_order(&mut self, now: Instant, arrived: &InOrderAck) {
        self.reordering_seen |= arrived.first_end < self.fack;
        self.fack = self.fack.max(arrived.last.end);
        self.rtt = now.saturating_since(arrived.last.at);
        self.newest = Some(arrived.last);
    }

    /// Something has arrived that was sent later than `first`.
    #[inline]
    pub(crate) fn newest_sent_after(&self, first: SendOrder) -> bool {
        self.newest.is_some_and(|newest| newest > first)
    }

    /// The first half of step 4: a DSACK widens the window by a quarter of the least round trip, once
    /// per round; it shrinks again after 16 recoveries without one.
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
    fn reordering_window(&self, path: &ReoWndInput) -> Duration {
        if !self.reordering_seen && (path.in_recovery || path.segs_sacked >= DUP_THRESH) {
            return Duration::ZERO;
        }
        (path.min_rtt / 4 * u64::from(self.reo_wnd_mult)).min(path.srtt)
    }

    /// How long after it was sent a segment counts as lost, if something sent later has arrived.
    pub(crate) fn loss_delay(&self, path: &ReoWndInput) -> Duration {
        self.rtt + self.reordering_window(path)
    }

    /// The last sent of all that ever arrived.
    pub(crate) const fn newest(&self) -> Option<SendOrder> {
        self.newest
    }
}

#[cfg(test)]
mod tests;
