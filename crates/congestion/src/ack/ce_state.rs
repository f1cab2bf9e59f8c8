//! CE state of a DCTCP receiver, and the rules for acknowledging its change.

use lowtide_schema::{DefaultValue, Param, ValueKind, Values};

use super::{AckAction, AckSetup, DelayedAck, RxSample};

const RULES: &[&str] = &["split", "old-echo", "new-echo", "when-waiting"];

/// Rule for acknowledging a change of the CE state. `split`: with an ACK pending, two ACKs at once,
/// the old echo for the waiting segments, then the new one; else one with the new echo. `old-echo`:
/// with an ACK pending, one with the old echo, and the segment that changed the state is the first
/// of the next m; else the usual delay. `new-echo`: always one immediate ACK with the new echo.
/// `when-waiting`: as `new-echo` with an ACK pending, else the usual delay.
pub const FLIP: Param = Param {
    name: "flip",
    kind: ValueKind::Choice(RULES),
    default: DefaultValue::Is("split"),
    doc: "ACK of a flip: old echo, then new (split); old echo for waiting data only; new echo at once; or that only if an ACK waits.",
    source: "DCTCP paper, SIGCOMM 2010, figure 10 (old-echo); Linux (split); RFC 8257 §3.2, FreeBSD 15 (new-echo); FreeBSD 11 (when-waiting)",
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FlipRule {
    Split,
    OldEcho,
    NewEcho,
    WhenWaiting,
}

/// DCTCP.CE of RFC 8257 §3.2, with the counter of delayed ACKs.
#[derive(Debug)]
pub struct CeState {
    /// The usual delayed-ACK counter.
    pub delayed: DelayedAck,
    ecn: bool,
    ce: bool,
    rule: FlipRule,
}

impl CeState {
    /// A clean state; `values` are those of a policy with the parameter [`FLIP`].
    pub fn new(values: &Values, setup: &AckSetup) -> Self {
        let rule = match values.name(FLIP.name) {
            "old-echo" => FlipRule::OldEcho,
            "new-echo" => FlipRule::NewEcho,
            "when-waiting" => FlipRule::WhenWaiting,
            _ => FlipRule::Split,
        };
        Self { delayed: DelayedAck::new(setup), ecn: setup.ecn, ce: false, rule }
    }

    /// Updates the state from a segment; true if it changes.
    ///
    /// A segment that is not ECN-capable (a retransmission if only new data carries ECT) says
    /// nothing about the queue and leaves the state unchanged. A duplicate leaves it unchanged too
    /// (RFC 3168 §6.1.5).
    pub fn update(&mut self, rx: &RxSample) -> bool {
        let flips = self.ecn && rx.ect && !rx.duplicate && rx.ce != self.ce;
        self.ce ^= flips;
        flips
    }

    /// The acknowledgement of a change, after [`Self::update`] returned true.
    pub fn action(&mut self, rx: &RxSample) -> AckAction {
        match self.rule {
            FlipRule::Split if rx.ack_pending => {
                AckAction::SplitAt { prior_rcv_nxt: rx.prior_rcv_nxt }
            }
            FlipRule::OldEcho => self.old_echo(rx),
            FlipRule::WhenWaiting if !rx.ack_pending => self.delayed.on_data(rx),
            _ => AckAction::Now,
        }
    }

    /// Acknowledges the waiting segments; this one starts a new count of delayed ACKs.
    fn old_echo(&mut self, rx: &RxSample) -> AckAction {
        let prior_rcv_nxt = rx.prior_rcv_nxt;
        if rx.ack_pending {
            self.delayed.on_ack_sent();
        }
        match self.delayed.on_data(rx) {
            AckAction::Delay(wait) if rx.ack_pending => AckAction::OldEcho { prior_rcv_nxt, wait },
            AckAction::Now if rx.ack_pending => AckAction::SplitAt { prior_rcv_nxt },
            other => other,
        }
    }

    /// The ECE flag of the next ACK.
    pub const fn echo(&self) -> bool {
        self.ce
    }
}
