//! What the standards say, and where they leave it open the choice and why.

use super::{Assignment, Profile};

pub(super) static PROFILE: Profile = Profile {
    name: "rfc",
    summary: "what the RFCs ask for, data-centre buffers apart",
    settings: &[
        set("cc", "newreno", "RFC 5681"),
        set(
            "dctcp.arithmetic",
            "q20",
            "RFC 8257 §3.3: alpha is a fraction, not rounded to segments",
        ),
        set("feedback", "rfc3168", "RFC 3168 §6.1.2"),
        set("ect", "data", "RFC 3168 §6.1.4 to §6.1.6: not on SYN, pure ACKs, retransmissions"),
        set("cwr", "after-reduction", "RFC 3168 §6.1.2"),
        set("cut", "per-window", "RFC 3168 §6.1.2"),
        set(
            "recut",
            "past-point",
            "RFC 3168 §6.1.2: the ACK that reaches it reports the window already cut for",
        ),
        set("freeze-growth", "ece-acks", "RFC 3168 §6.1.2: no increase on an ECN-Echo ACK"),
        set("window-floor", "2", "RFC 5681 §3.1 eq. 4"),
        set("initial-window", "rfc6928", "RFC 6928 §2"),
        set("abc-limit", "2", "RFC 3465 §2.3: L = 2 SMSS"),
        set("idle-restart", "true", "RFC 5681 §4.1"),
        set("recovery", "sack", "RFC 6675"),
        set("undo", "off", "RFC 6298 and RFC 6675 know none; RFC 3522 is experimental"),
        set("limited-transmit", "true", "RFC 5681 §3.2 step 1, RFC 3042"),
        set("nagle", "true", "RFC 9293 §3.7.4: SHOULD"),
        set("rto-initial", "1 s", "RFC 6298 §2.1"),
        set("rto-min", "1 s", "RFC 6298 §2.4"),
        set("rto-min-applies", "timeout", "RFC 6298 §2.4"),
        set("rto-max", "60 s", "RFC 6298 §2.5: at least 60 s"),
        set("rto-granularity", "1 ms", "RFC 6298 §4: finer than 100 ms is good"),
        set("syn-retries", "6", "RFC 9293 §3.8.3: R2 of a SYN is at least 3 minutes"),
        set("retries", "15", "RFC 9293 §3.8.3: R2 is at least 100 s"),
        set("send-buffer", "4 MB", "lowtide: 3 ms at 10 Gbit/s, so that no buffer is the limit"),
        set("tso-segments", "1", "lowtide: no segmentation offload"),
        set("ack", "rfc3168", "RFC 3168 §6.1.3"),
        set("delack-segments", "2", "RFC 9293 §3.8.6.3"),
        set(
            "delack-timer",
            "200 ms",
            "RFC 9293 §3.8.6.3 asks for less than 500 ms; BSD has 200 ms",
        ),
        set("receive-buffer", "4 MB", "lowtide: as the send buffer"),
        set("dsack", "true", "RFC 2883"),
        set("mtu", "1500", "Ethernet"),
        set("ecn", "off", "RFC 3168 leaves it to the user"),
        set("ecn-fallback", "true", "RFC 3168 §6.1.1.1: MAY"),
        set("timestamps", "true", "RFC 7323 §3"),
        set("timestamp-granularity", "1 ms", "RFC 7323 §5.4"),
        set("sack", "true", "RFC 2018"),
        set("window-scaling", "true", "RFC 7323 §2"),
        set("time-wait", "60 s", "RFC 9293 §3.6.1 asks for 2 MSL; 30 s for MSL as most stacks"),
    ],
};

const fn set(switch: &'static str, value: &'static str, source: &'static str) -> Assignment {
    Assignment { switch, value, source }
}
