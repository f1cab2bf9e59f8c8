//! One-sided DCTCP at senders only, for receivers with classic ECN.

use super::Scheme;
use crate::profile::set;

/// Registration.
pub static ENTRY: Scheme = Scheme {
    name: "odctcp-sender",
    summary: "one-sided DCTCP sender: CWR after a cut, for receivers of classic ECN",
    settings: &[
        set("cc", "dctcp", "RFC 8257"),
        set("ecn", "rfc3168", "ODCTCP §2.1"),
        set("ack", "rfc3168", "ODCTCP §5.1: the receiver is standard ECN"),
        set("feedback", "one-sided", "ODCTCP §5.1.2"),
        set("ect", "all", "ODCTCP §4.1: ect_handler"),
        set("cwr", "after-reduction", "ODCTCP §5.1.2"),
        set("cut", "per-window", "ODCTCP §3.2: per RTT"),
        set("freeze-growth", "off", "ODCTCP §4.2.1"),
        set("sack", "true", "RFC 2018"),
    ],
};
