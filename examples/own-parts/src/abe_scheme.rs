//! The scheme `abe`: classic ECN whose sender keeps 0.8 of its window at a mark.

use lowtide_tcp::profile::set;
use lowtide_tcp::scheme::Scheme;

/// Registration.
pub(crate) static ENTRY: Scheme = Scheme {
    name: "abe",
    summary: "NewReno with classic ECN that keeps 0.8 of its window at a mark",
    settings: &[
        set("cc", "abe", "RFC 8511 §3"),
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
