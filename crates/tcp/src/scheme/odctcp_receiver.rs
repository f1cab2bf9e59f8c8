//! One-sided DCTCP at receivers only, for senders with classic ECN.

use super::Scheme;
use crate::profile::set;

/// Registration.
pub static ENTRY: Scheme = Scheme {
    name: "odctcp-receiver",
    summary: "one-sided DCTCP receiver; what it sends is classic ECN",
    settings: &[
        set("cc", "newreno", "RFC 5681"),
        set("ecn", "rfc3168", "ODCTCP §2.1"),
        set("ack", "odctcp", "ODCTCP §5.2.2"),
        set("feedback", "rfc3168", "RFC 3168 §6.1.2"),
        set("ect", "data", "RFC 3168 §6.1.4 to §6.1.6"),
        set("cwr", "after-reduction", "RFC 3168 §6.1.2"),
        set("cut", "per-window", "RFC 3168 §6.1.2"),
        set("freeze-growth", "ece-acks", "RFC 3168 §6.1.2"),
        set("sack", "true", "RFC 2018"),
    ],
};
