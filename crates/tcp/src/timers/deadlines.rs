//! The timers of one connection: deadlines that are polled, without callbacks.

use lowtide_units::Instant;

/// Deadlines; [`Instant::FAR_FUTURE`] means off. The receiver holds the delayed-ACK deadline, the
/// sender the pacing deadline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timers {
    /// Retransmission, of data or of SYN.
    pub(crate) retransmit: Instant,
    /// Zero-window probe (RFC 9293 §3.8.6.1).
    pub(crate) persist: Instant,
    /// Reordering timer: an overtaken segment may still arrive (RFC 8985 §6.2).
    pub(crate) reorder: Instant,
    /// Tail loss probe (RFC 8985 §7.2).
    pub(crate) loss_probe: Instant,
    /// The end of TIME-WAIT.
    pub(crate) time_wait: Instant,
}

impl Timers {
    pub(crate) const OFF: Self = Self {
        retransmit: Instant::FAR_FUTURE,
        persist: Instant::FAR_FUTURE,
        reorder: Instant::FAR_FUTURE,
        loss_probe: Instant::FAR_FUTURE,
        time_wait: Instant::FAR_FUTURE,
    };

    #[inline]
    pub(crate) fn next(&self) -> Instant {
        let losses = self.reorder.min(self.loss_probe);
        self.retransmit.min(self.persist).min(self.time_wait).min(losses)
    }
}
