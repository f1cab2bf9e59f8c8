//! Liveness state of a connection.

use lowtide_units::Instant;

/// Time of the last segment from the peer, and start of the current wait for it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Liveness {
    // Fields in the order of use: first those that every segment touches.
    /// Arrival time of the last acceptable segment.
    pub(crate) last_received_at: Instant,
    /// Keep-alive probes sent since then.
    pub(crate) probes: u32,
    pub(crate) probe_due: bool,
    pub(crate) probed_at: Instant,
    /// Start of the wait for an ACK without progress.
    pub(crate) waiting_since: Option<Instant>,
    /// SND.UNA at that time.
    pub(crate) una: u64,
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
}
