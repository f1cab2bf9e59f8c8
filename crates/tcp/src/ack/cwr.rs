//! Parameter for immediate ACKs of segments with CWR.

use super::{AckAction, RxSample};
use crate::settings::params::{Param, Params};
use crate::settings::value::{Value, ValueKind};

const ANSWERS: &[&str] = &["as-usual", "at-once"];

/// Acknowledgement of a segment with CWR.
pub const CWR_ACK: Param = Param {
    name: "cwr-ack",
    kind: ValueKind::Name { allowed: || ANSWERS.to_vec(), refused: &[] },
    default: "as-usual",
    doc: "Data with CWR is acknowledged as usual, or at once: its sender's window may be small.",
    source: "RFC 3168 §6.1.3 is silent; Linux tcp_ecn_accept_cwr (at-once)",
};

/// True if [`CWR_ACK`] of `owner` is `at-once`.
pub fn acks_cwr_at_once(owner: &str, params: &Params) -> bool {
    params.get(owner, CWR_ACK.name).and_then(Value::name) == Some("at-once")
}

/// Returns `action`, or an immediate ACK if the segment carries CWR and `answers` is set.
pub const fn expedite(action: AckAction, rx: &RxSample, answers: bool) -> AckAction {
    match action {
        AckAction::Delay(_) if answers && rx.cwr && rx.payload > 0 => AckAction::Now,
        other => other,
    }
}
