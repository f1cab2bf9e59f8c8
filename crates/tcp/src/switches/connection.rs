//! Switches of the whole connection.

use lowtide_schema::{Value, ValueKind};
use lowtide_units::Duration;

use super::field::{FLAG, Field, choice, number, span, switches, variants};
use super::{Side, Switch};
use crate::settings::config::{AccEcnOptionRule, AccEcnRules, EcnNegotiation};

variants! {
    EcnNegotiation {
        "off" Off, "rfc3168" Rfc3168, "passive" Passive, "accecn" AccEcn,
        "accecn-passive" AccEcnPassive, "accecn-rfc3168" AccEcnRfc3168,
    }
    AccEcnOptionRule {
        "disabled" Disabled, "recommended" Recommended, "minimum" Minimum, "full" Full,
        "persist" Persist,
    }
    AccEcnRules { "rfc9768" Rfc9768, "linux" Linux }
}

pub(super) const CONNECTION: &[Switch] = switches! {
    "mtu", Connection, (mtu: number(68, 65_535)),
        "Largest IP packet, in bytes; the MSS follows from it.",
        "RFC 791 (68 B at least), RFC 9293 §3.7.1";
    "min-mss", Connection, (min_mss: number(28, 65_535)),
        "The minimum MSS, in bytes with TCP options, that the peer's SYN or a path MTU report \
         can set; never above what `mtu` allows.",
        "CVE-2019-11479; RFC 9293 §3.7.1 has no floor, an MTU of 68 B (RFC 791) makes 28 B";
    "ecn", Connection, (ecn: choice::<EcnNegotiation>()),
        "ECN is requested and accepted, only accepted (passive), or neither; AccECN or as in \
         RFC 3168. `accecn-rfc3168` accepts AccECN and requests RFC 3168.",
        "RFC 3168 §6.1.1, RFC 9768 §3.1; Linux net.ipv4.tcp_ecn = 0, 1, 2, 3, 5, 4";
    "ecn-fallback", Connection, (ecn_fallback: FLAG),
        "After one lost SYN (two that request AccECN, two AccECN SYN-ACKs) the next is sent \
         without ECN: a middlebox may drop them.",
        "RFC 3168 §6.1.1.1, RFC 9768 §3.1.4.1 and §3.2.3.2.2";
    "timestamps", Connection, (timestamps: FLAG),
        "Offer and use timestamps, with PAWS.",
        "RFC 7323 §3, §5";
    "timestamps-required", Connection, (timestamps_required: FLAG),
        "Drop a segment without timestamps once they are negotiated.",
        "RFC 7323 §3.2: SHOULD; Linux tcp_validate_incoming takes it";
    "timestamp-granularity", Connection,
        (timestamp_granularity: span(Duration::from_ns(1), Duration::from_secs(1))),
        "The tick of TSval. Below 59 ns the clock wraps within the lifetime of a segment.",
        "RFC 7323 §5.4: 1 ms to 1 s; Linux offers 1 us";
    "sack", Connection, (sack: FLAG),
        "Offer and use selective acknowledgements.",
        "RFC 2018";
    "window-scaling", Connection, (window_scaling: FLAG),
        "Offer and use window scaling; without it the maximum window is 65535 B.",
        "RFC 7323 §2";
    "time-wait", Connection, (time_wait: span(Duration::ZERO, Duration::from_secs(3600))),
        "The duration of TIME-WAIT (2 MSL).",
        "RFC 9293 §3.6.1";
    "accecn-option", Connection, (accecn_option: choice::<AccEcnOptionRule>()),
        "The segments with the byte counters of Accurate ECN: none; ACKs after a counter has \
         changed; ACKs after the ECN field has changed and three per round trip; all, as long as \
         they arrive; all. The last three only if the peer's options arrive.",
        "RFC 9768 §3.2.3; Linux net.ipv4.tcp_ecn_option = 0, -, 1, 2, 3";
    "accecn-rules", Connection, (accecn_rules: choice::<AccEcnRules>()),
        "Rules of Accurate ECN where Linux differs: answers to a late SYN, ACE fields on ACKs of \
         no data, ACKs at once after any change of the ECN field.",
        "RFC 9768 §3.1.5, §3.2.2.2, §3.2.2.5.1; Linux tcp_validate_incoming, tcp_ecn.h";
};
