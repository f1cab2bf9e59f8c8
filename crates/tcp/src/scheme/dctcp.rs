//! DCTCP as RFC 8257 specifies it.

use super::Scheme;
use crate::profile::set;

/// Registration.
pub static ENTRY: Scheme = Scheme {
    name: "dctcp",
    summary: "DCTCP: cut in proportion to the marked share, exact echo",
    settings: &[
        set("cc", "dctcp", "RFC 8257"),
        set("ecn", "rfc3168", "RFC 8257 §3: negotiated as classic ECN"),
        set("ack", "dctcp", "RFC 8257 §3.2"),
        set("feedback", "dctcp", "RFC 8257 §3.3"),
        set("ect", "all", "RFC 8257 §3.6"),
        set("cwr", "after-reduction", "RFC 8257 §3.3"),
        set("cut", "per-window", "RFC 8257 §3.3"),
        set("freeze-growth", "off", "RFC 8257 §3.4: grows as usual"),
        set("sack", "true", "RFC 2018"),
    ],
};
