//! Switches of features that this version lacks. One value is accepted; the others are rejected by
//! name with the reason, so that an absent feature cannot be mistaken for a present one.

use crate::config::Config;
use crate::value::{Value, ValueError, ValueKind};

use super::{Side, Switch};

/// A switch whose only accepted value is `$only`.
macro_rules! unavailable {
    ($name:literal, $side:expr, $only:literal, $refused:expr, $doc:literal, $source:literal) => {
        Switch {
            name: $name,
            side: $side,
            kind: ValueKind::Name { allowed: || alloc::vec![$only], refused: $refused },
            doc: $doc,
            source: $source,
            get: |_| Value::Name($only),
            set: accept,
        }
    };
}

/// The kind has rejected all values but the only one.
#[expect(clippy::unnecessary_wraps, reason = "the signature of every switch")]
fn accept(_: &mut Config, _: &Value) -> Result<(), ValueError> {
    Ok(())
}

pub(super) const KEEP_ALIVE_PROBE: Switch = unavailable!(
    "keep-alive-probe",
    Side::Connection,
    "empty",
    &[(
        "one-byte",
        "a probe with a garbage byte has no place here: payload is the driver's stream"
    )],
    "What a keep-alive probe carries.",
    "RFC 9293 §3.8.4 (SHLD-12, MAY-6)"
);

pub(super) const USER_TIMEOUT_OPTION: Switch = unavailable!(
    "user-timeout-option",
    Side::Connection,
    "off",
    &[("on", "the user timeout option (RFC 5482 §3) comes later; `user-timeout` works without it")],
    "Whether the user timeout is told to the peer.",
    "RFC 5482 §3"
);

pub(super) const ACCECN_OPTION: Switch = unavailable!(
    "accecn-option",
    Side::Connection,
    "off",
    &[(
        "on",
        "the options with byte counters (kinds 172 and 174) come later; AccECN counts packets without"
    )],
    "Whether Accurate ECN also counts bytes, in an option.",
    "RFC 9768 §3.2.3"
);

pub(super) const BUFFER_TUNING: Switch = unavailable!(
    "buffer-tuning",
    Side::Connection,
    "fixed",
    &[("auto", "automatic tuning of send and receive buffers comes later; set their sizes")],
    "Whether buffers keep the size that was set.",
    "RFC 9293 §3.8.6"
);
