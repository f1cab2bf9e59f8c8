//! Liveness state of a connection.

use lowtide_units::Instant;

/// Time of the last segment from the peer, and start of the current wait for it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Liveness {
    // Fields in the order of use: first those that every segment touches.
    /// Arrival time of the last acceptable segment.
    pub(super) last_received_at: Instant,
    /// Keep-alive probes sent since then.
    pub(super) probes: u32,
    pub(super) probe_due: bool,
    pub(super) probed_at: Instant,
    /// Start of the wait for an ACK without progress.
    pub(super) waiting_since: Option<Instant>,
    /// SND.UNA at that time.
    pub(super) una: u64,
}

impl Liveness {
    pub(crate) const NEW: Self = Self {
        last_received_at: Instant::ZERO,
        probes: 0,
        probed_at: Instant::ZERO,
        probe_due: false,
        waiting_since: None,
        una: 0,
    };

    /// Records an acceptable segment.
    pub(crate) const fn on_segment(&mut self, now: Instant) {
        self.last_received_at = now;
        self.probes = 0;
    }

    /// Returns whether a keep-alive probe must be sent.
    #[inline]
    pub(crate) const fn probe_is_due(&self) -> bool {
        self.probe_due
    }

    /// Takes the keep-alive probe that is due. Returns whether there is one.
    pub(crate) const fn take_probe(&mut self) -> bool {
        core::mem::replace(&mut self.probe_due, false)
    }
}
