//! TDCTCP: DCTCP with a larger increase and an adaptive delayed-ACK timer.

use super::Scheme;
use crate::profile::set;

/// Registration.
pub static ENTRY: Scheme = Scheme {
    name: "tdctcp",
    summary: "TDCTCP: DCTCP with a larger increase, alpha reset, and a delayed-ACK timer that adapts",
    settings: &[
        set("cc", "tdctcp", "TDCTCP §IV-A, §IV-B"),
        set("ecn", "rfc3168", "TDCTCP §III"),
        set("ack", "tdctcp", "TDCTCP §IV-C"),
        set("feedback", "dctcp", "TDCTCP §III: the sender reconstructs the run of marks"),
        set("ect", "all", "RFC 8257 §3.6, as `dctcp`"),
        set("cwr", "after-reduction", "RFC 3168 §6.1.2"),
        set("cut", "per-marked-ack", "TDCTCP algorithm 1; §III: \"whenever it receives an ACK\""),
        set("freeze-growth", "ece-acks", "TDCTCP algorithm 1: grows when ECE = 0"),
        set("window-floor", "1", "TDCTCP §IV-C: the window was reduced to 1 segment"),
        set("tdctcp.flip", "new-echo", "TDCTCP §III: one immediate ACK whenever the state changes"),
        set("delack-timer", "200 ms", "TDCTCP §IV-C: the upper bound"),
        set("sack", "true", "RFC 2018"),
    ],
};
