//! Switches of the whole connection.

use lowtide_schema::{Value, ValueKind};
use lowtide_units::Duration;

use super::field::{
    Names, name_of, names, number, set_bool, set_count, set_duration, set_name, span,
};
use super::{Side, Switch, unavailable};
use crate::settings::config::EcnNegotiation;

const ECN: Names<EcnNegotiation> = &[
    ("off", EcnNegotiation::Off),
    ("rfc3168", EcnNegotiation::Rfc3168),
    ("passive", EcnNegotiation::Passive),
    ("accecn", EcnNegotiation::AccEcn),
    ("accecn-passive", EcnNegotiation::AccEcnPassive),
];

pub(super) const CONNECTION: [Switch; 11] = [
    Switch {
        name: "mtu",
        side: Side::Connection,
        kind: number(68, 65_535),
        doc: "Largest IP packet, in bytes; the MSS follows from it.",
        source: "RFC 791 (68 B at least), RFC 9293 §3.7.1",
        get: |c| Value::Count(u64::from(c.mtu)),
        set: |c, v| set_count(&mut c.mtu, v),
    },
    Switch {
        name: "min-mss",
        side: Side::Connection,
        kind: number(28, 65_535),
        doc: "The minimum MSS, in bytes with TCP options, that the peer's SYN or a path MTU report \
              can set; never above what `mtu` allows.",
        source: "CVE-2019-11479; RFC 9293 §3.7.1 has no floor, an MTU of 68 B (RFC 791) makes 28 B",
        get: |c| Value::Count(u64::from(c.min_mss)),
        set: |c, v| set_count(&mut c.min_mss, v),
    },
    Switch {
        name: "ecn",
        side: Side::Connection,
        kind: ValueKind::Name { allowed: || names(ECN), refused: &[] },
        doc: "ECN is requested and accepted, only accepted (passive), or neither; AccECN or as in \
              RFC 3168.",
        source: "RFC 3168 §6.1.1, RFC 9768 §3.1",
        get: |c| name_of(ECN, c.ecn),
        set: |c, v| set_name(&mut c.ecn, ECN, v),
    },
    Switch {
        name: "ecn-fallback",
        side: Side::Connection,
        kind: ValueKind::Bool,
        doc: "After one lost SYN (two that request AccECN, two AccECN SYN-ACKs) the next is sent \
              without ECN: a middlebox may drop them.",
        source: "RFC 3168 §6.1.1.1, RFC 9768 §3.1.4.1 and §3.2.3.2.2",
        get: |c| Value::Bool(c.ecn_fallback),
        set: |c, v| set_bool(&mut c.ecn_fallback, v),
    },
    Switch {
        name: "timestamps",
        side: Side::Connection,
        kind: ValueKind::Bool,
        doc: "Offer and use timestamps, with PAWS.",
        source: "RFC 7323 §3, §5",
        get: |c| Value::Bool(c.timestamps),
        set: |c, v| set_bool(&mut c.timestamps, v),
    },
    Switch {
        name: "timestamp-granularity",
        side: Side::Connection,
        kind: span(Duration::from_ns(1), Duration::from_secs(1)),
        doc: "The tick of TSval. Below 59 ns the clock wraps within the lifetime of a segment.",
        source: "RFC 7323 §5.4: 1 ms to 1 s; Linux offers 1 us",
        get: |c| Value::Duration(c.timestamp_granularity),
        set: |c, v| set_duration(&mut c.timestamp_granularity, v),
    },
    Switch {
        name: "sack",
        side: Side::Connection,
        kind: ValueKind::Bool,
        doc: "Offer and use selective acknowledgements.",
        source: "RFC 2018",
        get: |c| Value::Bool(c.sack),
        set: |c, v| set_bool(&mut c.sack, v),
    },
    Switch {
        name: "window-scaling",
        side: Side::Connection,
        kind: ValueKind::Bool,
        doc: "Offer and use window scaling; without it the maximum window is 65535 B.",
        source: "RFC 7323 §2",
        get: |c| Value::Bool(c.window_scaling),
        set: |c, v| set_bool(&mut c.window_scaling, v),
    },
    Switch {
        name: "time-wait",
        side: Side::Connection,
        kind: span(Duration::ZERO, Duration::from_secs(3600)),
        doc: "The duration of TIME-WAIT (2 MSL).",
        source: "RFC 9293 §3.6.1",
        get: |c| Value::Duration(c.time_wait),
        set: |c, v| set_duration(&mut c.time_wait, v),
    },
    unavailable::ACCECN_OPTION,
    unavailable::BUFFER_TUNING,
];
