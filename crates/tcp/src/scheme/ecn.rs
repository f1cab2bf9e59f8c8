//! NewReno with classic ECN (RFC 3168).

use super::Scheme;
use crate::profile::set;

/// Registration.
pub static ENTRY: Scheme = Scheme {
    name: "ecn",
    summary: "NewReno with classic ECN: halve once per window of marks",
    settings: &[
        set("cc", "newreno", "RFC 5681"),
        set("ecn", "rfc3168", "RFC 3168 §6.1.1"),
        set("ack", "rfc3168", "RFC 3168 §6.1.3"),
        set("feedback", "rfc3168", "RFC 3168 §6.1.2"),
        set("ect", "data", "RFC 3168 §6.1.4 to §6.1.6"),
        set("cwr", "after-reduction", "RFC 3168 §6.1.2"),
        set("cut", "per-window", "RFC 3168 §6.1.2"),
        set("freeze-growth", "ece-acks", "RFC 3168 §6.1.2"),
        set("sack", "true", "RFC 2018"),
    ],
};
