//! BBR version 1, which sends at the bandwidth that it measures.

use super::Scheme;
use crate::profile::set;

/// Registration.
pub static ENTRY: Scheme = Scheme {
    name: "bbr1",
    summary: "BBR version 1 as in Linux, paced, no ECN",
    settings: &[
        set("cc", "bbr1", "Linux tcp_bbr.c"),
        set("pacing", "control", "Linux tcp_bbr.c: SK_PACING_NEEDED"),
        set("ecn", "off", "Linux tcp_bbr.c has no reaction to ECN"),
        set("ack", "rfc3168", "RFC 5681 §4.2: delayed ACKs"),
        set("feedback", "rfc3168", "no ECN, so it has nothing to decode"),
        set("sack", "true", "RFC 2018"),
    ],
};
