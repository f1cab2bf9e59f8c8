//! One-sided DCTCP at both ends of a connection.
//!
//! It is three schemes, because the halves of one-sided DCTCP run on different hosts:
//! `odctcp-sender`, `odctcp-receiver`, and this one.

use super::Scheme;
use crate::profile::set;

/// Registration.
pub static ENTRY: Scheme = Scheme {
    name: "odctcp",
    summary: "one-sided DCTCP on both sides: CWR and the latched echo, CWR delayed as usual",
    settings: &[
        set("cc", "dctcp", "RFC 8257"),
        set("ecn", "rfc3168", "ODCTCP §2.1"),
        set("ack", "odctcp", "ODCTCP §5.2.2"),
        set("feedback", "one-sided", "ODCTCP §5.1.2"),
        set("ect", "all", "ODCTCP §4.1: ect_handler"),
        set("cwr", "after-reduction", "ODCTCP §5.1.2"),
        set("cut", "per-window", "ODCTCP §3.2: per RTT"),
        set("freeze-growth", "off", "ODCTCP §4.2.1"),
        set("sack", "true", "RFC 2018"),
    ],
};
