//! Common settings of the two implementations that the ODCTCP thesis compares: the FreeBSD of its
//! time.
//!
//! The initial alpha is 0 as in figures 4.2 and 4.4; figure 4.3 is `dctcp.initial-alpha = 1024`.
//!
//! Deviation: the thesis states only the sysctls of §6.5; the other values are those of FreeBSD 10.
//! Some differ from its sources (docs/evidence/tools), because recorded results were run so: the
//! timeout (30 ms of `rexmit_min` are left out), its initial value (3 s in FreeBSD 10), DSACK (none
//! there), and the initial window (3 segments by RFC 3390). Profile `freebsd-10` follows the
//! sources.

use super::{Assignment, set};

const COMMON: [Assignment; 36] = [
    set("cc", "dctcp", "ODCTCP §4.1"),
    set("ecn", "rfc3168", "ODCTCP §2.1"),
    set("feedback", "freebsd", "cc_dctcp.c of 2014: one MSS less at a flip"),
    set("ect", "all", "ODCTCP §4.1: ect_handler sets ECT on all outgoing packets"),
    set("cut", "per-window", "ODCTCP eq. 3.1: per RTT"),
    set("recut", "past-point", "cc_cong_signal: snd_recover"),
    set("window-floor", "2", "ODCTCP §5.1.1: two segments at least"),
    set("initial-window", "4", "ODCTCP fig. 4.4; §6.5: initcwnd10 off in the emulated network"),
    set("abc-limit", "2", "ODCTCP §5.2.1: RFC 3465"),
    set("idle-restart", "true", "ODCTCP §4.2.3"),
    set("recovery", "sack", "ODCTCP §7.1 compares with SACK TCP"),
    set("reduction", "one-step", "dctcp_cong_signal: cwnd = ssthresh"),
    set("nagle", "false", "ODCTCP §6.5"),
    set("rto-min", "200 ms", "net.inet.tcp.rexmit_slop = 200; 30 ms of rexmit_min are left out"),
    set("rto-min-applies", "variance", "nearest to the sum of TCPT_RANGESET when it was set"),
    set("rto-max", "64 s", "TCPTV_REXMTMAX"),
    set("rtt-granularity", "1 ms", "ODCTCP §6.2: the least that the kernel can express"),
    set("retries", "12", "TCP_MAXRXTSHIFT"),
    set("ack", "dctcp", "ODCTCP §3.3, §4.1: ecnpkt_handler"),
    set("delack-segments", "2", "ODCTCP §3.3"),
    set("delack-timer", "100 ms", "net.inet.tcp.delacktime = 100"),
    set("buffer-tuning-rule", "freebsd-10", "ODCTCP §4.2.3; tcp_do_segment of 11-CURRENT"),
    set("min-mss", "216", "net.inet.tcp.minmss = 216"),
    set("newreno.slow-start-end", "overshoot", "newreno_ack_received: cwnd <= ssthresh"),
    set("dctcp.shift-g", "4", "ODCTCP §3.2: g = 1/16"),
    set("dctcp.initial-alpha", "0", "ODCTCP fig. 4.1, 4.2 and 4.4"),
    set("dctcp.arithmetic", "freebsd", "cc_dctcp.c: bytes, alpha of 10 bits"),
    set("dctcp.order", "cut-first", "tcp_do_segment: cc_cong_signal, then cc_ack_received"),
    set("dctcp.slowstart", "false", "BSD slides: slowstart = 0"),
    set("dctcp.loss-from", "cwnd", "dctcp_cong_signal: cwnd / 2"),
    set("dctcp.loss-after-cut", "once", "dctcp_cong_signal: from snd_cwnd_prev"),
    set("dctcp.slow-start-end", "overshoot", "newreno_ack_received: cwnd <= ssthresh"),
    set("dctcp.flip", "new-echo", "ODCTCP §4.1, §5.2.1: no delay for the packet of the flip"),
    set("dctcp.cwr-ack", "as-usual", "cc_dctcp.c of 2014"),
    set("rfc3168.cwr-ack", "as-usual", "ODCTCP §5.2.1, figure 5.6"),
    set("odctcp.flip", "new-echo", "ODCTCP §5.2.2"),
];

/// The common settings, then those of one profile.
pub(super) const fn join(own: &[Assignment; 4]) -> [Assignment; COMMON.len() + 4] {
    let mut all = [own[0]; COMMON.len() + 4];
    let mut i = 0;
    while i < all.len() {
        all[i] = if i < COMMON.len() { COMMON[i] } else { own[i - COMMON.len()] };
        i += 1;
    }
    all
}
