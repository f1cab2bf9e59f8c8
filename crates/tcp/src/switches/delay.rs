//! Switches of the measurement of queueing delay (DX).

use lowtide_schema::{Value, ValueKind};
use lowtide_units::Duration;

use super::field::{Names, name_of, names, set_bool, set_duration, set_name, span};
use super::{Side, Switch};
use crate::settings::config::DelayEchoRule;

const ECHO: Names<DelayEchoRule> =
    &[("mean", DelayEchoRule::Mean), ("newest", DelayEchoRule::Newest)];

pub(super) const DELAY: [Switch; 4] = [
    Switch {
        name: "delay-option",
        side: Side::Connection,
        kind: ValueKind::Bool,
        doc: "Offer and use the delay option: host timestamps on every segment, 16 bytes of \
              header.",
        source: "DX §V-B; RFC 6994 for its identifier",
        get: |c| Value::Bool(c.delay_option),
        set: |c, v| set_bool(&mut c.delay_option, v),
    },
    Switch {
        name: "delay-echo",
        side: Side::Receiver,
        kind: ValueKind::Name { allowed: || names(ECHO), refused: &[] },
        doc: "The one-way delay that an ACK of several segments echoes: their mean, or that of the \
              newest.",
        source: "DX §V-A: mean under LRO, newest under delayed ACK",
        get: |c| name_of(ECHO, c.delay_echo),
        set: |c, v| set_name(&mut c.delay_echo, ECHO, v),
    },
    Switch {
        name: "delay-slack",
        side: Side::Sender,
        kind: span(Duration::ZERO, Duration::from_ms(1)),
        doc: "An RTT up to this much above the minimum still counts as the minimum and renews it.",
        source: "lowtide; DX §III: \"re-observe the current minimum\"",
        get: |c| Value::Duration(c.delay_slack),
        set: |c, v| set_duration(&mut c.delay_slack, v),
    },
    Switch {
        name: "delay-lifetime",
        side: Side::Sender,
        kind: span(Duration::ZERO, Duration::from_secs(3600)),
        doc: "A minimum RTT not seen for this long is discarded; 0 s keeps it forever.",
        source: "lowtide; DX §III keeps it",
        get: |c| Value::Duration(c.delay_lifetime),
        set: |c, v| set_duration(&mut c.delay_lifetime, v),
    },
];
