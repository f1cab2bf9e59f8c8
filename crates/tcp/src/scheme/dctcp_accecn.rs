//! DCTCP over Accurate ECN: the feedback is negotiated instead of assumed.

use super::Scheme;
use crate::profile::set;

/// Registration.
pub static ENTRY: Scheme = Scheme {
    name: "dctcp-accecn",
    summary: "DCTCP over Accurate ECN: its feedback is negotiated; over RFC 3168 it meets the latch",
    settings: &[
        set("cc", "dctcp", "RFC 8257"),
        set("ecn", "accecn", "RFC 9768 §3.1.1"),
        set("ack", "accecn", "RFC 9768 §3.2.2.5.1; over RFC 3168 its own policy"),
        set("feedback", "accecn", "RFC 9768 §3.2.2; over RFC 3168 its own decoder"),
        set("ect", "all", "RFC 8257 §3.6; RFC 9768 §2.5 reports control packets, too"),
        set("cwr", "after-reduction", "RFC 3168 §6.1.2, over RFC 3168"),
        set("cut", "per-window", "RFC 8257 §3.3"),
        set("freeze-growth", "off", "RFC 8257 §3.4: grows as usual"),
        set("sack", "true", "RFC 9768 §3.1.1: recommended, and so is DSACK"),
    ],
};
