//! DX: the window follows the queueing delay, without help of switches.

use super::Scheme;
use crate::profile::set;

/// Registration.
pub static ENTRY: Scheme = Scheme {
    name: "dx",
    summary: "DX: the window follows the queueing delay that host stamps measure",
    settings: &[
        set("cc", "dx", "DX §IV-B"),
        set("ecn", "off", "DX §I: no help of switches"),
        set("ack", "rfc3168", "RFC 5681 §4.2: delayed ACKs"),
        set("feedback", "rfc3168", "no ECN, so it has nothing to decode"),
        set("delay-option", "true", "DX §V-B"),
        set("delay-echo", "mean", "DX §V-A"),
        set(
            "window-floor",
            "2",
            "DX eq. 1 has none; one segment would wait for the delayed-ACK timer",
        ),
        set("freeze-growth", "off", "DX eq. 1: each round trip decides anew"),
        set("sack", "true", "RFC 2018"),
    ],
};
