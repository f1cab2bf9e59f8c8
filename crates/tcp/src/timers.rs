//! The timers of one connection: deadlines that are polled, never callbacks.

use lowtide_units::Instant;

/// Deadlines; [`Instant::FAR_FUTURE`] means off. The delayed ACK's is the receiver's, the pacer's is
/// the sender's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timers {
    /// Retransmission, of data or of SYN.
    pub(crate) retransmit: Instant,
    /// Zero-window probe (RFC 9293 §3.8.6.1).
    pub(crate) persist: Instant,
    /// Something was overtaken and may still come (RFC 8985 §6.2).
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
