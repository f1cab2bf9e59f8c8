//! HULL's end host: DCTCP with a pacer.
//!
//! Its other half is the phantom queue of a switch.

use super::Scheme;
use crate::profile::set;

/// Registration.
pub static ENTRY: Scheme = Scheme {
    name: "hull",
    summary: "HULL at the host: DCTCP whose data is paced; the switch marks by a phantom queue",
    settings: &[
        set("cc", "hull", "HULL (NSDI 2012) §4"),
        set("pacing", "control", "HULL (NSDI 2012) §4.3"),
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
