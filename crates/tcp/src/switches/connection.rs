//! Switches of the whole connection.

use lowtide_schema::{Value, ValueKind};
use lowtide_units::Duration;

use super::field::{FLAG, Field, choice, number, span, switches, variants};
use super::{Side, Switch};
use crate::settings::config::EcnNegotiation;

variants! {
    EcnNegotiation {
        "off" Off, "rfc3168" Rfc3168, "passive" Passive, "accecn" AccEcn, "accecn-passive"
        AccEcnPassive
    }
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
         RFC 3168.",
        "RFC 3168 §6.1.1, RFC 9768 §3.1";
    "ecn-fallback", Connection, (ecn_fallback: FLAG),
        "After one lost SYN (two that request AccECN, two AccECN SYN-ACKs) the next is sent \
         without ECN: a middlebox may drop them.",
        "RFC 3168 §6.1.1.1, RFC 9768 §3.1.4.1 and §3.2.3.2.2";
    "timestamps", Connection, (timestamps: FLAG),
        "Offer and use timestamps, with PAWS.",
        "RFC 7323 §3, §5";
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
    "accecn-option", Connection,
        (only "off", not (
            "on",
            "the options with byte counters (kinds 172 and 174) are not implemented; AccECN counts \
             packets without them"
        )),
        "AccECN also counts bytes, in an option.",
        "RFC 9768 §3.2.3";
};
