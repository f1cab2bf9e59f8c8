//! Segment counter of delayed ACKs (RFC 9293 §3.8.6.3, RFC 5681 §4.2).

use super::{AckAction, AckSetup, RxSample};

/// Counts segments since the last ACK and decides when one is due.
#[derive(Clone, Copy, Debug)]
pub struct DelayedAck {
    setup: AckSetup,
    unacked: u32,
}

impl DelayedAck {
    /// A counter at zero.
    pub const fn new(setup: &AckSetup) -> Self {
        Self { setup: *setup, unacked: 0 }
    }

    /// Counts a segment: `Now` at the m-th one, else a delay.
    pub fn on_data(&mut self, rx: &RxSample) -> AckAction {
        self.unacked = self.unacked.saturating_add(rx.segments);
        if self.unacked >= self.setup.segments {
            AckAction::Now
        } else {
            AckAction::Delay(self.setup.timer)
        }
    }

    /// An ACK was sent: resets the count.
    pub const fn on_ack_sent(&mut self) {
        self.unacked = 0;
    }
}
