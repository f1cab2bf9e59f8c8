//! DCTCP exactly as in its paper (SIGCOMM 2010, §3): no CWR.
//!
//! Values that the paper leaves open are those of `rfc`. The sender never sets CWR, so against an
//! RFC 3168 receiver the echo never ends and the window stays at its floor (ODCTCP §5.1.1).

use super::{Assignment, Profile, set};

/// Registration.
pub static ENTRY: Profile = Profile {
    name: "sigcomm10",
    summary: "DCTCP as its paper describes it, without CWR",
    settings: SETTINGS,
};

const SETTINGS: &[Assignment] = &[
    set("cc", "dctcp", "DCTCP §3.1 (3)"),
    set("ecn", "rfc3168", "DCTCP §3.1: uses the mechanism of RFC 3168"),
    set("feedback", "dctcp", "DCTCP §3.1 (3): the sender reconstructs the runs of marks"),
    set("ect", "data", "DCTCP §3 is silent; RFC 3168 §6.1.4 to §6.1.6"),
    set("cwr", "never", "DCTCP §3.1 (2): the echo ends without CWR, so nothing is confirmed"),
    set("cut", "per-window", "DCTCP §3.1 (3): as TCP, once per window of data"),
    set("freeze-growth", "off", "DCTCP §3.1 (3): all else of TCP is left unchanged"),
    set("ack", "dctcp", "DCTCP §3.1 (2), figure 10"),
    set("dctcp.flip", "old-echo", "DCTCP figure 10: one ACK at a change, with the previous echo"),
    set("dctcp.shift-g", "4", "DCTCP §4: g = 1/16"),
    set("dctcp.initial-alpha", "1024", "DCTCP §3 is silent; RFC 8257 §3.3"),
    set("dctcp.arithmetic", "q20", "DCTCP eq. 1 has real numbers"),
    set("dctcp.order", "estimate-first", "DCTCP §3.1 (3): eq. 1, then eq. 2"),
];
