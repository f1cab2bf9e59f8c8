//! The timers of one connection: deadlines that are polled, without callbacks.

use lowtide_units::Instant;

use super::rtt::RttEstimator;

/// Deadlines; [`Instant::FAR_FUTURE`] means off. The receiver holds the delayed-ACK deadline, the
/// sender the pacing deadline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timers {
    /// Retransmission, of data or of SYN.
    pub(super) retransmit: Instant,
    /// Zero-window probe (RFC 9293 §3.8.6.1).
    pub(super) persist: Instant,
    /// Reordering timer: an overtaken segment may still arrive (RFC 8985 §6.2).
    pub(super) reorder: Instant,
    /// Tail loss probe (RFC 8985 §7.2).
    pub(super) loss_probe: Instant,
    /// The end of TIME-WAIT.
    pub(super) time_wait: Instant,
    /// No deadline is earlier. Stopping or restarting a timer later leaves it unchanged.
    earliest: Instant,
}

impl Timers {
    pub(crate) const OFF: Self = Self {
        retransmit: Instant::FAR_FUTURE,
        persist: Instant::FAR_FUTURE,
        reorder: Instant::FAR_FUTURE,
        loss_probe: Instant::FAR_FUTURE,
        time_wait: Instant::FAR_FUTURE,
        earliest: Instant::FAR_FUTURE,
    };

    /// The earliest deadline.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        let losses = self.reorder.min(self.loss_probe);
        self.retransmit.min(self.persist).min(self.time_wait).min(losses)
    }

    /// Returns whether a deadline may be earlier than `at`.
    #[inline]
    pub(crate) fn may_precede(&self, at: Instant) -> bool {
        self.earliest < at
    }

    /// Makes [`Self::may_precede`] exact.
    pub(crate) fn update_earliest(&mut self) {
        self.earliest = self.next();
    }

    /// Stops all timers.
    pub(crate) const fn stop_all(&mut self) {
        *self = Self::OFF;
    }

    /// Restarts the retransmission timer.
    #[inline]
    pub(crate) fn arm_rto(&mut self, now: Instant, rtt: &RttEstimator) {
        self.retransmit = now + rtt.rto();
        self.earliest = self.earliest.min(self.retransmit);
    }

    /// Starts the retransmission timer unless it runs (RFC 6298 §5.1).
    #[inline]
    pub(crate) fn start_rto(&mut self, now: Instant, rtt: &RttEstimator) {
        if self.retransmit == Instant::FAR_FUTURE {
            self.arm_rto(now, rtt);
        }
    }

    /// Stops the retransmission timer (RFC 6298 §5.2).
    #[inline]
    pub(crate) const fn stop_rto(&mut self) {
        self.retransmit = Instant::FAR_FUTURE;
    }

    /// Starts the persist timer unless it runs: it then fires at `at`.
    pub(crate) fn start_persist(&mut self, at: Instant) {
        if self.persist == Instant::FAR_FUTURE {
            self.restart_persist(at);
        }
    }

    /// Restarts the persist timer.
    pub(crate) fn restart_persist(&mut self, at: Instant) {
        self.persist = at;
        self.earliest = self.earliest.min(at);
    }

    /// Stops the persist timer.
    #[inline]
    pub(crate) const fn stop_persist(&mut self) {
        self.persist = Instant::FAR_FUTURE;
    }

    /// Restarts the reordering timer.
    pub(crate) fn arm_reorder(&mut self, at: Instant) {
        self.reorder = at;
        self.earliest = self.earliest.min(at);
    }

    /// Stops the reordering timer.
    pub(crate) const fn stop_reorder(&mut self) {
        self.reorder = Instant::FAR_FUTURE;
    }

    /// Returns whether the reordering timer runs.
    #[inline]
    pub(crate) fn reorder_runs(&self) -> bool {
        self.reorder < Instant::FAR_FUTURE
    }

    /// Restarts the timer of the tail loss probe. It fires not later than the retransmission timer,
    /// which restarts when the probe is due.
    pub(crate) fn arm_loss_probe(&mut self, at: Instant) {
        self.loss_probe = at.min(self.retransmit);
        self.earliest = self.earliest.min(self.loss_probe);
    }

    /// Stops the timer of the tail loss probe.
    pub(crate) const fn stop_loss_probe(&mut self) {
        self.loss_probe = Instant::FAR_FUTURE;
    }

    /// Restarts TIME-WAIT.
    pub(crate) fn arm_time_wait(&mut self, until: Instant) {
        self.time_wait = until;
        self.earliest = self.earliest.min(until);
    }

    /// The end of TIME-WAIT; far future in other states.
    pub(crate) const fn time_wait_ends(&self) -> Instant {
        self.time_wait
    }
}
