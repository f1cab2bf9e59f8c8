//! TCP Vegas, which measures queueing by round-trip times.

use super::Scheme;
use crate::profile::set;

/// Registration.
pub static ENTRY: Scheme = Scheme {
    name: "vegas",
    summary: "TCP Vegas with the values of ns-2, no ECN",
    settings: &[
        set("cc", "vegas", "Brakmo and Peterson 1995"),
        set("vegas.alpha", "1", "ns-2, DX fig. 7"),
        set("vegas.beta", "3", "ns-2, DX fig. 7"),
        set("vegas.gamma", "1", "ns-2"),
        set("ecn", "off", "Brakmo and Peterson 1995: before ECN"),
        set("ack", "rfc3168", "RFC 5681 §4.2: delayed ACKs"),
        set("feedback", "rfc3168", "no ECN, so it has nothing to decode"),
        set("sack", "true", "RFC 2018"),
    ],
};
