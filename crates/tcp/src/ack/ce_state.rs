//! The two states of a DCTCP receiver, and the ways to acknowledge a flip.

use super::{AckAction, AckSetup, DelayedAck, RxSample};
use crate::params::{Param, Params};
use crate::value::{Value, ValueKind};

const RULES: &[&str] = &["split", "new-echo", "when-waiting"];

/// How a flip is acknowledged: the old echo for what waits and then the new one at once; one ACK at
/// once with the new echo; or that only where something waits, else with the usual delay.
pub const FLIP: Param = Param {
    name: "flip",
    kind: ValueKind::Name { allowed: || RULES.to_vec(), refused: &[] },
    default: "split",
    doc: "ACK of a flip: old echo, then new (split); new echo at once; or so only where one waits.",
    source: "DCTCP paper, SIGCOMM 2010, figure 10 (split); RFC 8257 §3.2 (new-echo); FreeBSD",
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FlipRule {
    Split,
    NewEcho,
    WhenWaiting,
}

/// DCTCP.CE of RFC 8257 §3.2, and the count of delayed ACKs beside it.
#[derive(Debug)]
pub struct CeState {
    /// Delayed ACKs as usual.
    pub delayed: DelayedAck,
    ecn: bool,
    ce: bool,
    rule: FlipRule,
}

impl CeState {
    /// Clean so far; `owner` is the policy that has the parameter [`FLIP`].
    pub fn new(owner: &str, params: &Params, setup: &AckSetup) -> Self {
        let rule = match params.get(owner, FLIP.name).and_then(Value::name) {
            Some("new-echo") => FlipRule::NewEcho,
            Some("when-waiting") => FlipRule::WhenWaiting,
            _ => FlipRule::Split,
        };
        Self { delayed: DelayedAck::new(setup), ecn: setup.ecn, ce: false, rule }
    }
    /// Takes the mark of a segment in; true when the state flips.
    ///
    /// A segment that is not ECN-capable (a retransmission, where only new data carries ECT) says
    /// nothing about the queue and leaves the state alone, and so does a duplicate.
    pub fn update(&mut self, rx: &RxSample) -> bool {
        let flips = self.ecn && rx.ect && !rx.duplicate && rx.ce != self.ce;
        self.ce ^= flips;
        flips
    }
    /// The answer to a flip.
    pub fn action(&mut self, rx: &RxSample) -> AckAction {
        match self.rule {
            FlipRule::Split if rx.ack_pending => {
                AckAction::SplitAt { prior_rcv_nxt: rx.prior_rcv_nxt }
            }
            FlipRule::WhenWaiting if !rx.ack_pending => self.delayed.on_data(rx),
            _ => AckAction::Now,
        }
    }
    /// The ECE flag of the next ACK.
    pub const fn echo(&self) -> bool {
        self.ce
    }
}
