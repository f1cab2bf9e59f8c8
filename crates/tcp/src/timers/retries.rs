//! Attempts without success, for the retry limits (R2 of RFC 9293 §3.8.3).

/// Attempts of the sender without progress or without any answer.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Retries {
    /// Consecutive timeouts without progress.
    timeouts: u32,
    /// Consecutive timeouts and window probes without any answer.
    unanswered: u32,
}

impl Retries {
    /// Records an ACK of new data.
    #[inline]
    pub(crate) const fn on_progress(&mut self) {
        self.timeouts = 0;
        self.unanswered = 0;
    }

    /// Records an answer of the peer, with or without progress.
    #[inline]
    pub(crate) const fn on_answer(&mut self) {
        self.unanswered = 0;
    }

    /// Records a retransmission timeout. Returns whether it is the first for its data.
    pub(crate) const fn on_rto(&mut self) -> bool {
        self.timeouts += 1;
        self.unanswered += 1;
        self.timeouts == 1
    }

    /// Records a window probe.
    pub(crate) const fn on_window_probe(&mut self) {
        self.unanswered += 1;
    }

    /// Consecutive timeouts without progress.
    pub(crate) const fn timeouts(self) -> u32 {
        self.timeouts
    }

    /// Consecutive timeouts and window probes without any answer.
    pub(crate) const fn unanswered(self) -> u32 {
        self.unanswered
    }

    /// Returns whether nothing has failed since the last progress.
    pub(crate) const fn is_clear(self) -> bool {
        self.timeouts == 0 && self.unanswered == 0
    }
}
