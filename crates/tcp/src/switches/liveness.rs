//! Switches for the detection of a dead peer.

use lowtide_schema::{Value, ValueKind};
use lowtide_units::Duration;

use super::field::{number, set_bool, set_count, set_duration, span};
use super::{Side, Switch, unavailable};

/// The maximum idle time and timeout: one week.
const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

pub(super) const LIVENESS: [Switch; 7] = [
    Switch {
        name: "keep-alive",
        side: Side::Connection,
        kind: ValueKind::Bool,
        doc: "Send keep-alive probes on an idle connection.",
        source: "RFC 9293 §3.8.4 (MUST-25: off by default)",
        get: |c| Value::Bool(c.keep_alive),
        set: |c, v| set_bool(&mut c.keep_alive, v),
    },
    Switch {
        name: "keep-alive-idle",
        side: Side::Connection,
        kind: span(Duration::from_us(1), WEEK),
        doc: "The idle time before the first keep-alive probe.",
        source: "RFC 9293 §3.8.4 (MUST-28: 2 h by default at least)",
        get: |c| Value::Duration(c.keep_alive_idle),
        set: |c, v| set_duration(&mut c.keep_alive_idle, v),
    },
    Switch {
        name: "keep-alive-interval",
        side: Side::Connection,
        kind: span(Duration::from_us(1), WEEK),
        doc: "The interval between keep-alive probes.",
        source: "4.4BSD: 75 s; no RFC",
        get: |c| Value::Duration(c.keep_alive_interval),
        set: |c, v| set_duration(&mut c.keep_alive_interval, v),
    },
    Switch {
        name: "keep-alive-count",
        side: Side::Connection,
        kind: number(1, 1000),
        doc: "Unanswered keep-alive probes before the connection is closed; a user timeout \
              replaces this count.",
        source: "RFC 9293 §3.8.4 (MUST-29: one is never enough); Linux has 9",
        get: |c| Value::Count(u64::from(c.keep_alive_count)),
        set: |c, v| set_count(&mut c.keep_alive_count, v),
    },
    unavailable::KEEP_ALIVE_PROBE,
    Switch {
        name: "user-timeout",
        side: Side::Connection,
        kind: span(Duration::ZERO, WEEK),
        doc: "The time that data may stay unacknowledged, or wait for a closed window, before the \
              connection is closed; 0 s until the retries are exhausted.",
        source: "RFC 5482 §2, RFC 9293 §3.10.8; Linux TCP_USER_TIMEOUT",
        get: |c| Value::Duration(c.user_timeout),
        set: |c, v| set_duration(&mut c.user_timeout, v),
    },
    unavailable::USER_TIMEOUT_OPTION,
];
