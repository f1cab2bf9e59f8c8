//! Parameter for immediate ACKs of segments with CWR.

use lowtide_schema::{DefaultValue, Param, ValueKind, Values};

use super::{AckAction, RxSample};

const ANSWERS: &[&str] = &["as-usual", "at-once"];

/// Acknowledgement of a segment with CWR.
pub const CWR_ACK: Param = Param {
    name: "cwr-ack",
    kind: ValueKind::Choice(ANSWERS),
    default: DefaultValue::Is("as-usual"),
    doc: "Data with CWR is acknowledged as usual, or at once: its sender's window may be small.",
    source: "RFC 3168 §6.1.3 is silent; Linux tcp_ecn_accept_cwr (at-once)",
};

/// Returns whether [`CWR_ACK`] is `at-once`.
pub fn acks_cwr_at_once(values: &Values) -> bool {
    values.name(CWR_ACK.name) == "at-once"
}

/// Returns `action`, or an immediate ACK if the segment carries CWR and `answers` is set.
pub const fn expedite(action: AckAction, rx: &RxSample, answers: bool) -> AckAction {
    match action {
        AckAction::Delay(_) if answers && rx.cwr && rx.payload > 0 => AckAction::Now,
        AckAction::OldEcho { prior_rcv_nxt, .. } if answers && rx.cwr && rx.payload > 0 => {
            AckAction::SplitAt { prior_rcv_nxt }
        }
        other => other,
    }
}
