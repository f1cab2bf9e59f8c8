//! ACKs that are not delayed at the start of a connection (switch `initial-quick-acks`).
//!
//! A sender with a small initial window would otherwise wait for the delayed-ACK timer. It wraps
//! the policy, so that connections without it pay nothing for each segment.

use alloc::boxed::Box;

use lowtide_units::Instant;

use crate::ack::{AckAction, AckPolicy, CeSample, RxSample};

/// A policy whose ACKs are not delayed below an offset of the stream.
#[derive(Debug)]
pub(crate) struct InitialQuickAcks {
    policy: Box<dyn AckPolicy>,
    /// Segments that start below this offset are acknowledged at once.
    until: u64,
}

impl InitialQuickAcks {
    /// `policy` with immediate ACKs for the first `until` bytes.
    pub(crate) fn wrap(policy: Box<dyn AckPolicy>, until: u64) -> Box<dyn AckPolicy> {
        Box::new(Self { policy, until })
    }
}

impl AckPolicy for InitialQuickAcks {
    fn on_data(&mut self, rx: &RxSample) -> AckAction {
        match self.policy.on_data(rx) {
            AckAction::Delay(_) if rx.prior_rcv_nxt < self.until => AckAction::Now,
            action => action,
        }
    }

    fn on_ce_sample(&mut self, rx: &CeSample) -> bool {
        self.policy.on_ce_sample(rx)
    }

    fn on_ack_sent(&mut self, now: Instant) {
        self.policy.on_ack_sent(now);
    }

    fn echo(&self) -> bool {
        self.policy.echo()
    }
}
