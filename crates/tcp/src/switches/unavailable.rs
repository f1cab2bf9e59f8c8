//! Switches of features that this version lacks. One value is accepted; the others are rejected by
//! name with the reason, so that an absent feature cannot be mistaken for a present one.

use lowtide_schema::{Value, ValueError, ValueKind};

use crate::settings::config::Config;

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
        "a probe with a garbage byte is not supported: payload comes from the driver's stream"
    )],
    "The payload of a keep-alive probe.",
    "RFC 9293 §3.8.4 (SHLD-12, MAY-6)"
);

pub(super) const USER_TIMEOUT_OPTION: Switch = unavailable!(
    "user-timeout-option",
    Side::Connection,
    "off",
    &[(
        "on",
        "the user timeout option (RFC 5482 §3) is not implemented; `user-timeout` works \
              without it"
    )],
    "Send the user timeout to the peer.",
    "RFC 5482 §3"
);

pub(super) const ACCECN_OPTION: Switch = unavailable!(
    "accecn-option",
    Side::Connection,
    "off",
    &[(
        "on",
        "the options with byte counters (kinds 172 and 174) are not implemented; AccECN counts \
         packets without them"
    )],
    "AccECN also counts bytes, in an option.",
    "RFC 9768 §3.2.3"
);

pub(super) const BUFFER_TUNING: Switch = unavailable!(
    "buffer-tuning",
    Side::Connection,
    "fixed",
    &[("auto", "automatic tuning of send and receive buffers is not implemented; set their sizes")],
    "Keep the configured buffer sizes.",
    "RFC 9293 §3.8.6"
);
