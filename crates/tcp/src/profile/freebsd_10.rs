//! FreeBSD 10 and 11-CURRENT, set up for DCTCP as in the ODCTCP thesis.
//!
//! **Not checked against the tool**: the values were read in the sources of release 10.4
//! (`@3d3f8b11`) and in a later `cc_dctcp.c` (docs/evidence/tools/freebsd-thesis.md); the kernel of
//! the thesis was not found. The thesis profiles have recorded results and stay as they are; this
//! one follows the sources where they differ: timeout, first RTT sample, growth, restart window,
//! DSACK.
//!
//! With dummynet the thesis turns initcwnd10 off: `initial-window = "rfc3390"`. The receive buffer
//! is fixed at its maximum; `buffer-tuning = "auto"` grows it as the kernel does. The switches
//! cannot express: undo of a timeout by an early ACK; the older estimate of the pipe; delayed ACKs
//! that count segments of any size; a timeout that starts from min(cwnd, rwnd) beside a loss that
//! starts from cwnd (`dctcp.loss-from` sets both).

use super::{Assignment, Profile, set};

/// Registration.
pub static ENTRY: Profile = Profile {
    name: "freebsd-10",
    summary: "FreeBSD 10 set up for DCTCP, from its sources; not checked against the tool",
    settings: SETTINGS,
};

const SETTINGS: &[Assignment] = &[
    set("cc", "dctcp", "ODCTCP §4.1"),
    set("ecn", "rfc3168", "net.inet.tcp.ecn.enable = 1 (slides); 2 by default"),
    set("feedback", "freebsd", "cc_dctcp.c @0191e6d8: one MSS less at a flip"),
    set("ect", "all", "ODCTCP §4.1: ect_handler sets ECT on all outgoing packets"),
    set("cwr", "after-reduction", "ODCTCP §4.2.1"),
    set("cut", "per-window", "cc_cong_signal @3d3f8b11"),
    set("recut", "past-point", "cc_cong_signal @3d3f8b11: snd_recover"),
    set("cut-from", "cwnd", "dctcp_cong_signal @0191e6d8"),
    set("loss-from", "window", "cc_cong_signal @3d3f8b11: a timeout halves min(cwnd, rwnd)"),
    set("freeze-growth", "off", "dctcp_ack_received @0191e6d8 leaves congestion recovery"),
    set("growth-when", "below-rwnd", "cc_ack_received @3d3f8b11: CCF_CWND_LIMITED"),
    set("growth-counts", "limited-bytes", "cc_ack_received @3d3f8b11: L limits t_bytes_acked too"),
    set("window-floor", "2", "dctcp_cong_signal @0191e6d8: 2 MSS"),
    set("initial-window", "rfc6928", "cc_conn_init @3d3f8b11: initcwnd10; off with dummynet"),
    set("restart-window", "rfc3390", "newreno_after_idle @3d3f8b11, even with initcwnd10"),
    set("abc-limit", "2", "newreno_ack_received @3d3f8b11: V_tcp_abc_l_var"),
    set("idle-restart", "true", "tcp_output @3d3f8b11: nothing received for t_rxtcur"),
    set("recovery", "sack", "tcp_input.c @3d3f8b11; its older pipe is not expressible"),
    set("reduction", "one-step", "dctcp_cong_signal @0191e6d8: cwnd = ssthresh"),
    set("limited-transmit", "true", "tcp_do_rfc3042 @3d3f8b11"),
    set("nagle", "false", "ODCTCP §6.5"),
    set("rto-initial", "3 s", "TCPTV_RTOBASE, tcp_timer.h @3d3f8b11"),
    set("rto-min", "30 ms", "TCPTV_MIN: hz/33; t_rttmin = tcp_rexmit_min in tcp_newtcpcb"),
    set("rto-min-applies", "timeout", "TCP_REXMTVAL @3d3f8b11: max(t_rttmin, ...)"),
    set("rto-slop", "200 ms", "TCPT_RANGESET, TCPTV_CPU_VAR, tcp_timer.h @3d3f8b11"),
    set("rto-max", "64 s", "TCPTV_REXMTMAX"),
    set("rtt-granularity", "1 ms", "kern.hz = 1000, init_param1 @3d3f8b11; ODCTCP §6.2"),
    set("rtt-ticks", "first-plus-one", "tcp_xmit_timer @3d3f8b11: d + 1, then d"),
    set("rtt-gains", "freebsd", "tcp_xmit_timer @3d3f8b11: TCP_RTT_SHIFT = 5"),
    set("syn-retries", "8", "keepinit of 75 s: 3, 3, 3, 3, 3, 6, 12, 24 s, each with the slop"),
    set("syn-linear-timeouts", "4", "tcp_syn_backoff, tcp_timer.c @3d3f8b11: 1, 1, 1, 1, 1, 2, 4"),
    set("syn-ack-retries", "3", "net.inet.tcp.syncache.rexmtlimit = 3"),
    set("retries", "12", "TCP_MAXRXTSHIFT"),
    set("send-buffer", "2 MiB", "tcp_autosndbuf_max, tcp_output.c @3d3f8b11; starts at 32 KiB"),
    set("ack", "dctcp", "dctcp_ecnpkt_handler @0191e6d8"),
    set("delack-segments", "2", "DELAY_ACK, tcp_input.c @3d3f8b11"),
    set("delack-timer", "100 ms", "TCPTV_DELACK, tcp_timer.h @3d3f8b11"),
    set("receive-buffer", "2 MiB", "tcp_autorcvbuf_max, tcp_input.c @3d3f8b11; starts at 64 KiB"),
    set("buffer-tuning", "fixed", "as with SO_RCVBUF; net.inet.tcp.recvbuf_auto = 1 by default"),
    set("buffer-tuning-rule", "freebsd-10", "tcp_do_segment of 11-CURRENT, jcharbon @2d1a5402"),
    set("dsack", "false", "tcp_var.h @3d3f8b11 has no such function"),
    set("min-mss", "216", "net.inet.tcp.minmss = 216"),
    set("timestamps", "true", "net.inet.tcp.rfc1323 = 1"),
    set("timestamp-granularity", "1 ms", "kern.hz = 1000"),
    set("sack", "true", "net.inet.tcp.sack.enable = 1"),
    set("window-scaling", "true", "net.inet.tcp.rfc1323 = 1"),
    set("newreno.slow-start-end", "overshoot", "newreno_ack_received @3d3f8b11: cwnd <= ssthresh"),
    set("dctcp.shift-g", "4", "dctcp_shift_g @0191e6d8; ODCTCP §3.2"),
    set("dctcp.initial-alpha", "0", "ODCTCP fig. 4.2 and 4.4; 1024 @0191e6d8"),
    set("dctcp.arithmetic", "freebsd", "cc_dctcp.c @0191e6d8: bytes, alpha of 10 bits"),
    set("dctcp.order", "cut-first", "tcp_do_segment @3d3f8b11: cc_cong_signal, cc_ack_received"),
    set("dctcp.after-idle", "reset", "dctcp_after_idle @0191e6d8"),
    set("dctcp.slowstart", "false", "cc_dctcp.c @0191e6d8: 0 by default; slides"),
    set("dctcp.grow-with-cut", "true", "tcp_do_segment @3d3f8b11: cc_ack_received after the cut"),
    set("dctcp.loss-from", "cwnd", "dctcp_cong_signal @0191e6d8: cwnd / 2"),
    set("dctcp.loss-after-cut", "once", "dctcp_cong_signal @0191e6d8: snd_cwnd_prev"),
    set("dctcp.slow-start-end", "overshoot", "newreno_ack_received @3d3f8b11: cwnd <= ssthresh"),
    set("dctcp.flip", "when-waiting", "dctcp_ecnpkt_handler @0191e6d8; ODCTCP §5.2: new-echo"),
    set("dctcp.cwr-ack", "as-usual", "dctcp_ecnpkt_handler @0191e6d8"),
    set("rfc3168.cwr-ack", "as-usual", "ODCTCP §5.2.1, figure 5.6"),
    set("odctcp.flip", "new-echo", "ODCTCP §5.2.2"),
];
