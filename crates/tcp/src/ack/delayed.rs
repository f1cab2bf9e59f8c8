//! The counting half of delayed acknowledgement (RFC 9293 §3.8.6.3, RFC 5681 §4.2).

use super::{AckAction, AckSetup, RxSample};

/// Counts segments since the last ACK and says when one is due.
#[derive(Clone, Copy, Debug)]
pub struct DelayedAck {
    setup: AckSetup,
    unacked: u32,
}

impl DelayedAck {
    /// Nothing received yet.
    pub const fn new(setup: &AckSetup) -> Self {
        Self { setup: *setup, unacked: 0 }
    }
    /// Takes a segment in: `Now` with the m-th one, else a delay.
    pub fn on_data(&mut self, rx: &RxSample) -> AckAction {
        self.unacked = self.unacked.saturating_add(rx.segments);
        if self.unacked >= self.setup.segments {
            AckAction::Now
        } else {
            AckAction::Delay(self.setup.timer)
        }
    }
    /// An ACK went out: the count starts again.
    pub const fn on_ack_sent(&mut self) {
        self.unacked = 0;
    }
}
