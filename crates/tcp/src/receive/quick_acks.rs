//! ACKs that are not delayed at the start of a connection (switches `initial-quick-acks` and
//! `initial-quick-ack-count`).
//!
//! A sender with a small initial window would otherwise wait for the delayed-ACK timer. It wraps
//! the policy, so that connections without it pay nothing for each segment.

use alloc::boxed::Box;

use lowtide_units::Instant;

use crate::ack::{AckAction, AckPolicy, CeSample, RxSample};

/// A policy whose ACKs are not delayed below an offset of the stream, nor the first of them.
#[derive(Debug)]
pub(crate) struct InitialQuickAcks {
    policy: Box<dyn AckPolicy>,
    /// Segments that start below this offset are acknowledged at once.
    until: u64,
    /// ACKs of data left that are not delayed.
    left: u32,
    /// Data from `until` on has arrived: in Linux the window that grows until then adds as many
    /// quick ACKs as it takes (`tcp_grow_window`, `quick |= 1`).
    counts: bool,
    /// This end answers, and delays.
    answers: bool,
}

impl InitialQuickAcks {
    /// `policy` with immediate ACKs for the first `until` bytes and the first `left` ACKs; the
    /// policy itself if both are zero.
    pub(crate) fn wrap(policy: Box<dyn AckPolicy>, until: u64, left: u32) -> Box<dyn AckPolicy> {
        if until == 0 && left == 0 {
            policy
        } else {
            Box::new(Self { policy, until, left, counts: false, answers: false })
        }
    }
}

impl AckPolicy for InitialQuickAcks {
    fn on_data(&mut self, rx: &RxSample) -> AckAction {
        self.counts = rx.prior_rcv_nxt >= self.until;
        let quick = !self.answers && (rx.prior_rcv_nxt < self.until || self.left > 0);
        match self.policy.on_data(rx) {
            AckAction::Delay(_) if quick => AckAction::Now,
            action => action,
        }
    }

    fn on_ce_sample(&mut self, rx: &CeSample) -> bool {
        self.policy.on_ce_sample(rx)
    }

    fn on_ack_sent(&mut self, now: Instant) {
        self.left = self.left.saturating_sub(u32::from(self.counts));
        self.policy.on_ack_sent(now);
    }

    fn on_pingpong(&mut self, answers: bool) {
        self.answers = answers;
        self.policy.on_pingpong(answers);
    }

    fn echo(&self) -> bool {
        self.policy.echo()
    }
}
