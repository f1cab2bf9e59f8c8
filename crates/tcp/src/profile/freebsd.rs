//! FreeBSD 15 by its sources and sysctls, set up for DCTCP; its defaults are CUBIC for `cc` and
//! passive for `ecn`.
//!
//! A scheme on top of it replaces the switches that the scheme sets: `dctcp` replaces the ECT of
//! every packet, `ecn` or `sack` the congestion control. The switches cannot express: fast recovery
//! by PRR with ECN cuts in one step (here both in one step); undo of a spurious timeout by
//! timestamps. The receive buffer is fixed at its maximum, as recorded results were run;
//! `buffer-tuning = "auto"` grows it as the kernel does.
//!
//! Deviation: the timeout is max(SRTT + 4 RTTVAR, 30 ms) + 200 ms in FreeBSD: `rto-min = "30 ms"`
//! and `rto-slop = "200 ms"`. Here 200 ms are the minimum of the variance term, 30 ms less in a
//! LAN, because recorded results were run so. Profile `freebsd-10` has the sum.

use super::{Assignment, Profile, set};

/// Registration.
pub static ENTRY: Profile =
    Profile { name: "freebsd", summary: "FreeBSD 15, set up for DCTCP", settings: SETTINGS };

const SETTINGS: &[Assignment] = &[
    set("cc", "dctcp", "cc_dctcp.ko; net.inet.tcp.cc.algorithm is cubic by default"),
    set("ecn", "rfc3168", "net.inet.tcp.ecn.enable = 1; 2 (passive) by default"),
    set("feedback", "freebsd", "dctcp_ack_received: one MSS less at a flip"),
    set("ect", "data", "tcp_ecn_output_established"),
    set("cwr", "after-reduction", "TF2_ECN_SND_CWR"),
    set("cut", "per-window", "cc_cong_signal: not before snd_recover"),
    set("recut", "past-point", "cc_cong_signal: snd_recover is snd_max + 1"),
    set("freeze-growth", "off", "dctcp_ack_received leaves congestion recovery; else `round`"),
    set("window-floor", "2", "dctcp_cong_signal: max(..., 2 * mss)"),
    set("initial-window", "rfc6928", "net.inet.tcp.initcwnd_segments = 10"),
    set("abc-limit", "2", "net.inet.tcp.abc_l_var = 2"),
    set("idle-restart", "true", "cc_after_idle"),
    set("recovery", "sack", "net.inet.tcp.rfc6675_pipe = 1"),
    set("reduction", "one-step", "dctcp_cong_signal: cwnd = ssthresh"),
    set("limited-transmit", "true", "net.inet.tcp.rfc3042 = 1"),
    set("nagle", "true", "on without TCP_NODELAY"),
    set("rto-initial", "1 s", "net.inet.tcp.rexmit_initial = 1000"),
    set("rto-min", "200 ms", "net.inet.tcp.rexmit_slop = 200; 30 ms of rexmit_min are left out"),
    set("rto-min-applies", "variance", "nearest to the sum of TCPT_RANGESET when it was set"),
    set("rto-max", "64 s", "TCPTV_REXMTMAX"),
    set("rtt-granularity", "1 ms", "kern.hz = 1000: t_rtttime and timestamps count ticks"),
    set("retries", "12", "TCP_MAXRXTSHIFT"),
    set("send-buffer", "2 MiB", "net.inet.tcp.sendbuf_max"),
    set("ack", "dctcp", "dctcp_ecnpkt_handler"),
    set("delack-segments", "2", "tcp_do_segment: DELAY_ACK"),
    set("delack-timer", "40 ms", "TCPTV_DELACK; 100 ms until FreeBSD 12"),
    set("receive-buffer", "2 MiB", "net.inet.tcp.recvbuf_max"),
    set("buffer-tuning", "fixed", "as with SO_RCVBUF; net.inet.tcp.recvbuf_auto = 1 by default"),
    set("buffer-tuning-rule", "freebsd-14", "tcp_autorcvbuf @2bae602e (14-CURRENT)"),
    set("dsack", "true", "tcp_update_dsack_list"),
    set("min-mss", "216", "net.inet.tcp.minmss = 216"),
    set("timestamps", "true", "net.inet.tcp.rfc1323 = 1"),
    set("sack", "true", "net.inet.tcp.sack.enable = 1"),
    set("window-scaling", "true", "net.inet.tcp.rfc1323 = 1"),
    set("time-wait", "60 s", "net.inet.tcp.msl = 30000, twice"),
    set("time-wait-reset", "ignore", "tcp_twcheck"),
    set("isn", "rfc6528", "tcp_new_isn"),
    set("timestamp-offset", "per-connection", "net.inet.tcp.ts_offset_per_conn = 1"),
    set("rst-accept", "exact", "net.inet.tcp.insecure_rst = 0"),
    set("syn-answer", "challenge-ack", "net.inet.tcp.insecure_syn = 0"),
    set("ack-accept", "max-window", "net.inet.tcp.insecure_ack = 0, from 15 on"),
    set("challenge-ack-limit", "5", "net.inet.tcp.ack_war_cnt = 5"),
    set("challenge-ack-interval", "1 s", "net.inet.tcp.ack_war_timewindow = 1000"),
    set("keep-alive", "true", "net.inet.tcp.always_keepalive = 1"),
    set("keep-alive-idle", "7200 s", "net.inet.tcp.keepidle"),
    set("keep-alive-interval", "75 s", "net.inet.tcp.keepintvl"),
    set("keep-alive-count", "8", "net.inet.tcp.keepcnt = 8"),
    set("user-timeout", "0 s", "net.inet.tcp.maxunacktime = 0"),
    set("newreno.slow-start-end", "overshoot", "newreno_ack_received: cwnd <= ssthresh"),
    set("dctcp.shift-g", "4", "net.inet.tcp.cc.dctcp.shift_g = 4"),
    set("dctcp.initial-alpha", "1024", "net.inet.tcp.cc.dctcp.alpha = 1024 since 2019; 0 before"),
    set("dctcp.arithmetic", "freebsd", "cc_dctcp.c: bytes, alpha of 10 bits"),
    set("dctcp.order", "cut-first", "tcp_do_segment: cc_cong_signal, then cc_ack_received"),
    set("dctcp.after-idle", "reset", "dctcp_after_idle"),
    set("dctcp.slowstart", "false", "net.inet.tcp.cc.dctcp.slowstart = 0"),
    set("dctcp.grow-with-cut", "true", "tcp_do_segment: cc_ack_received after the cut"),
    set("dctcp.loss-from", "cwnd", "dctcp_cong_signal: cwnd / 2"),
    set("dctcp.loss-after-cut", "once", "dctcp_cong_signal: from snd_cwnd_prev"),
    set("dctcp.slow-start-end", "overshoot", "newreno_ack_received: cwnd <= ssthresh"),
    set("dctcp.flip", "when-waiting", "dctcp_ecnpkt_handler: CCF_DELACK"),
    set("dctcp.cwr-ack", "at-once", "tcp_ecn.c since review D22670; delayed before"),
    set("rfc3168.cwr-ack", "at-once", "tcp_ecn.c since review D22670"),
    set("odctcp.flip", "when-waiting", "dctcp_ecnpkt_handler: CCF_DELACK"),
];
