//! Swift: delay targets for fabric and hosts, without help of switches.

use super::Scheme;
use crate::profile::set;

/// Registration.
pub static ENTRY: Scheme = Scheme {
    name: "swift",
    summary: "Swift: host stamps keep the delays of fabric and hosts at a target each",
    settings: &[
        set("cc", "swift", "Swift algorithm 1"),
        set("ecn", "off", "Swift §3.1: no help of switches"),
        set("ack", "rfc3168", "RFC 5681 §4.2, without delay by `delack-segments`"),
        set("delack-segments", "1", "Swift §3.6: ACKs are not delayed"),
        set("feedback", "rfc3168", "no ECN, so it has nothing to decode"),
        set("delay-option", "true", "Swift §3.1: timestamps of the NIC, by the option of DX §V-B"),
        set("delay-echo", "newest", "Swift §3.1: the delays of one packet"),
        set("freeze-growth", "off", "Swift algorithm 1: each ACK decides anew"),
        set("pacing", "off", "Swift §3.4: only below one segment, which needs no rate"),
        set("sack", "true", "Swift §3.6"),
    ],
};
