//! Switches for the detection of a dead peer.

use lowtide_schema::{Value, ValueKind};
use lowtide_units::Duration;

use super::field::{FLAG, Field, number, span, switches};
use super::{Side, Switch};

/// The maximum idle time and timeout: one week.
const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

pub(super) const LIVENESS: &[Switch] = switches! {
    "keep-alive", Connection, (keep_alive: FLAG),
        "Send keep-alive probes on an idle connection.",
        "RFC 9293 §3.8.4 (MUST-25: off by default)";
    "keep-alive-idle", Connection, (keep_alive_idle: span(Duration::from_us(1), WEEK)),
        "The idle time before the first keep-alive probe.",
        "RFC 9293 §3.8.4 (MUST-28: 2 h by default at least)";
    "keep-alive-interval", Connection, (keep_alive_interval: span(Duration::from_us(1), WEEK)),
        "The interval between keep-alive probes.",
        "4.4BSD: 75 s; no RFC";
    "keep-alive-count", Connection, (keep_alive_count: number(1, 1000)),
        "Unanswered keep-alive probes before the connection is closed; a user timeout \
         replaces this count.",
        "RFC 9293 §3.8.4 (MUST-29: one is never enough); Linux has 9";
    "keep-alive-probe", Connection,
        (only "empty", not (
            "one-byte",
            "a probe with a garbage byte is not supported: payload comes from the driver's stream"
        )),
        "The payload of a keep-alive probe.",
        "RFC 9293 §3.8.4 (SHLD-12, MAY-6)";
    "user-timeout", Connection, (user_timeout: span(Duration::ZERO, WEEK)),
        "The time that data may stay unacknowledged, or wait for a closed window, before the \
         connection is closed; 0 s until the retries are exhausted.",
        "RFC 5482 §2, RFC 9293 §3.10.8; Linux TCP_USER_TIMEOUT";
    "user-timeout-option", Connection,
        (only "off", not (
            "on",
            "the user timeout option (RFC 5482 §3) is not implemented; `user-timeout` works \
             without it"
        )),
        "Send the user timeout to the peer.",
        "RFC 5482 §3";
};
