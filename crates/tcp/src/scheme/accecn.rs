//! NewReno with Accurate ECN (RFC 9768).

use super::Scheme;
use crate::profile::set;

/// Registration.
pub static ENTRY: Scheme = Scheme {
    name: "accecn",
    summary: "NewReno with Accurate ECN: halve once per window of marks, no latch, no CWR",
    settings: &[
        set("cc", "newreno", "RFC 5681"),
        set("ecn", "accecn", "RFC 9768 §3.1.1"),
        set("ack", "accecn", "RFC 9768 §3.2.2.5.1; over RFC 3168 its own policy"),
        set("feedback", "accecn", "RFC 9768 §3.2.2; over RFC 3168 its own decoder"),
        set("ect", "data", "RFC 3168 §6.1.4 to §6.1.6, which RFC 9768 §4 keeps"),
        set("cwr", "after-reduction", "RFC 3168 §6.1.2, over RFC 3168"),
        set("cut", "per-window", "RFC 3168 §6.1.2, which RFC 9768 §4 keeps"),
        set("freeze-growth", "ece-acks", "RFC 3168 §6.1.2"),
        set("sack", "true", "RFC 9768 §3.1.1: recommended, and so is DSACK"),
    ],
};
