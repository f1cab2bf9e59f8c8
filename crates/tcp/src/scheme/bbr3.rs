//! BBR version 3, which sends at the bandwidth that it measures, within bounds that losses set.

use super::Scheme;
use crate::profile::set;

/// Registration.
pub static ENTRY: Scheme = Scheme {
    name: "bbr3",
    summary: "BBR version 3 by its draft, paced, no ECN",
    settings: &[
        set("cc", "bbr3", "draft-ietf-ccwg-bbr-06"),
        set("pacing", "control", "draft-ietf-ccwg-bbr-06 §5.6.2"),
        set("ecn", "off", "draft-ietf-ccwg-bbr-06 §3.6 has no reaction to ECN"),
        set("ack", "rfc3168", "RFC 5681 §4.2: delayed ACKs"),
        set("feedback", "rfc3168", "no ECN, so it has nothing to decode"),
        set("sack", "true", "draft-ietf-ccwg-bbr-06 §2.2, C.has_selective_acks"),
    ],
};
