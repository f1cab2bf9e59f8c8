//! DCTCP as specified in RFC 8257; all other values are those of `rfc`.

use super::{Assignment, Profile, set};

/// Registration.
pub static ENTRY: Profile =
    Profile { name: "rfc8257", summary: "DCTCP as RFC 8257 specifies it", settings: SETTINGS };

const SETTINGS: &[Assignment] = &[
    set("cc", "dctcp", "RFC 8257 §3"),
    set("ecn", "rfc3168", "RFC 8257 §3: negotiated as classic ECN"),
    set("feedback", "dctcp", "RFC 8257 §3.3"),
    set("ect", "all", "RFC 8257 §3.6: SYN, SYN-ACK and RST too"),
    set("cwr", "after-reduction", "RFC 8257 §3.3: as RFC 3168, for classic receivers"),
    set("cut", "per-window", "RFC 8257 §3.3"),
    set("freeze-growth", "off", "RFC 8257 §3.4"),
    set("ack", "dctcp", "RFC 8257 §3.2"),
    set("dctcp.flip", "new-echo", "RFC 8257 §3.2, figure 1: one immediate ACK"),
    set("dctcp.cwr-ack", "as-usual", "RFC 8257 §3.2 is silent"),
    set("dctcp.shift-g", "4", "RFC 8257 §4.2: g = 1/16"),
    set("dctcp.initial-alpha", "1024", "RFC 8257 §3.3: DCTCP.Alpha is 1 at the start"),
    set("dctcp.arithmetic", "q20", "RFC 8257 §3.3; §4.2 warns of coarse fixed point"),
    set("dctcp.order", "estimate-first", "RFC 8257 §3.3: steps 1 to 9, then the cut"),
    set("dctcp.after-idle", "keep", "RFC 8257 is silent"),
    set("dctcp.loss-after-cut", "once", "RFC 8257 §3.5: as any TCP, RFC 3168 §6.1.2"),
];
