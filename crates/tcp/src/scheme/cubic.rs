//! CUBIC without ECN: the default of Linux, FreeBSD and Windows.

use super::Scheme;
use crate::profile::set;

/// Registration.
pub static ENTRY: Scheme = Scheme {
    name: "cubic",
    summary: "CUBIC with HyStart++ and SACK, losses found as the profile does, no ECN",
    settings: &[
        set("cc", "cubic", "RFC 9438"),
        set("ecn", "off", "RFC 3168 §6.1.1: not asked for"),
        set("ack", "rfc3168", "RFC 5681 §4.2: delayed ACKs"),
        set("feedback", "rfc3168", "no ECN, so it has nothing to decode"),
        set("sack", "true", "RFC 2018"),
    ],
};
