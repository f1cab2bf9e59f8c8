//! What a connection remembers of its peer being there.

use lowtide_units::Instant;

/// When the peer was heard, and since when we wait for it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Liveness {
    // In the order of use: what every segment touches stands together, what few do comes last.
    /// The last acceptable segment.
    pub(crate) last_received_at: Instant,
    /// Keep-alive probes since then, and the last of them.
    pub(crate) probes: u32,
    pub(crate) probe_due: bool,
    pub(crate) probed_at: Instant,
    /// Since when something waits for the peer without progress.
    pub(crate) waiting_since: Option<Instant>,
    /// SND.UNA then.
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

    /// An acceptable segment arrived.
    pub(crate) const fn on_segment(&mut self, now: Instant) {
        self.last_received_at = now;
        self.probes = 0;
    }
}
