//! Switches of features that this version does not have: one value works, the others are refused
//! by name with the reason, so that nobody takes an absent feature for a present one.

use crate::config::Config;
use crate::value::{Kind, Value, ValueError};

use super::{Side, Switch};

/// A switch whose only accepted value is `$only`.
macro_rules! later {
    ($name:literal, $side:expr, $only:literal, $refused:expr, $doc:literal, $source:literal) => {
        Switch {
            name: $name,
            side: $side,
            kind: Kind::Name { allowed: || alloc::vec![$only], refused: $refused },
            doc: $doc,
            source: $source,
            get: |_| Value::Name($only),
            set: accept,
        }
    };
}

/// The kind has refused everything but the only value.
#[expect(clippy::unnecessary_wraps, reason = "the signature of every switch")]
fn accept(_: &mut Config, _: &Value) -> Result<(), ValueError> {
    Ok(())
}

pub(super) const KEEP_ALIVE: Switch = later!(
    "keep-alive",
    Side::Connection,
    "off",
    &[("on", "keep-alive probes (RFC 9293 §3.8.4) come later")],
    "Whether an idle connection is probed.",
    "RFC 9293 §3.8.4"
);

pub(super) const USER_TIMEOUT: Switch = later!(
    "user-timeout",
    Side::Connection,
    "off",
    &[("on", "the user timeout and its option (RFC 5482) come later")],
    "Whether unacknowledged data ends the connection after a time that the user sets.",
    "RFC 5482"
);

pub(super) const BLIND_ATTACK_CHECKS: Switch = later!(
    "blind-attack-checks",
    Side::Connection,
    "rfc9293",
    &[("rfc5961", "the stricter checks and challenge-ACK limits of RFC 5961 come later")],
    "How RST, SYN and ACK that do not fit the window are judged.",
    "RFC 9293 §3.10.7.4"
);

pub(super) const ISN: Switch = later!(
    "isn",
    Side::Connection,
    "random",
    &[("rfc6528", "the keyed hash of RFC 6528 comes later; the run's seed draws the number")],
    "How the initial sequence number is chosen.",
    "RFC 9293 §3.4.1"
);

pub(super) const BUFFER_TUNING: Switch = later!(
    "buffer-tuning",
    Side::Connection,
    "fixed",
    &[("auto", "automatic tuning of send and receive buffers comes later; set their sizes")],
    "Whether buffers keep the size that was set.",
    "RFC 9293 §3.8.6"
);
