//! The two states of a DCTCP receiver, and the two ways to acknowledge a flip.

use super::{AckAction, DelayedAck, RxSample, Setup};
use crate::params::{Param, Params};
use crate::value::{Kind, Value};

const RULES: &[&str] = &["split", "new-echo"];

/// How a flip is acknowledged while an older segment waits for its ACK.
pub const FLIP: Param = Param {
    name: "flip",
    kind: Kind::Name { allowed: || RULES.to_vec(), refused: &[] },
    default: "split",
    doc: "At a flip: the old echo for what waits and then the new one, or one ACK with the new echo.",
    source: "DCTCP paper, SIGCOMM 2010, figure 10 (split); RFC 8257 §3.2 (new-echo)",
};

/// DCTCP.CE of RFC 8257 §3.2, and the count of delayed ACKs beside it.
#[derive(Debug)]
pub struct Flips {
    /// Delayed ACKs as usual.
    pub delayed: DelayedAck,
    ecn: bool,
    ce: bool,
    split: bool,
}

impl Flips {
    /// Clean so far; `owner` is the policy that has the parameter [`FLIP`].
    pub fn new(owner: &str, params: &Params, setup: &Setup) -> Self {
        let split = params.get(owner, FLIP.name).and_then(Value::name) != Some("new-echo");
        Self { delayed: DelayedAck::new(setup), ecn: setup.ecn, ce: false, split }
    }
    /// Takes the mark of a segment in; true when the state flips.
    ///
    /// A segment that is not ECN-capable (a retransmission, where only new data carries ECT) says
    /// nothing about the queue and leaves the state alone, and so does a duplicate.
    pub fn note(&mut self, rx: &RxSample) -> bool {
        let flips = self.ecn && rx.ect && !rx.duplicate && rx.ce != self.ce;
        self.ce ^= flips;
        flips
    }
    /// The answer to a flip. With nothing owed both rules acknowledge at once with the new echo.
    pub const fn answer(&self, rx: &RxSample) -> AckAction {
        if self.split && rx.ack_pending {
            AckAction::SplitAt { prior: rx.rcv_nxt_before }
        } else {
            AckAction::Now
        }
    }
    /// The ECE flag of the next ACK.
    pub const fn echo(&self) -> bool {
        self.ce
    }
}
