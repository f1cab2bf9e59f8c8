//! FreeBSD 15 by its sources and sysctls, set up for DCTCP; its defaults are CUBIC for `cc` and
//! passive for `ecn`.
//!
//! Revisions: 2d614aa2 is a 15-CURRENT (fel1x-developer/freebsd-src), 028e385e and 050e0884 are
//! later ones (Dr-Deep/HardenedBSD-src), a64dbec9 is an earlier one of freebsd/freebsd-src.
//!
//! A scheme on top of it replaces the switches that the scheme sets: `dctcp` replaces the ECT of
//! every packet, `ecn` or `sack` the congestion control. The switches cannot express: ECN
//! reductions by PRR keep the RecoverFS of the first one (`tcp_do_prr_ack`); each timeout in a row
//! reduces ssthresh of DCTCP again; after idle ssthresh is at least 3/4 of cwnd
//! (`newreno_cc_after_idle`); connecting ends after 75 s (`keepinit`); a server's ISN is random.
//! The receive buffer is fixed at its maximum; `buffer-tuning = "auto"` grows it as it does.

use super::{Assignment, Profile, set};

/// Registration.
pub static ENTRY: Profile =
    Profile { name: "freebsd", summary: "FreeBSD 15, set up for DCTCP", settings: SETTINGS };

const SETTINGS: &[Assignment] = &[
    set("cc", "dctcp", "cc_dctcp.ko; net.inet.tcp.cc.algorithm is cubic by default"),
    set("ecn", "rfc3168", "net.inet.tcp.ecn.enable = 1; 2 (passive) by default"),
    set("ecn-fallback", "true", "tcp_ecn_output_syn_sent @2d614aa2: but after two lost SYNs"),
    set("feedback", "freebsd", "dctcp_ack_received: one MSS less at a flip"),
    set("ect", "data", "tcp_ecn_output_established"),
    set("cwr", "after-reduction", "TF2_ECN_SND_CWR"),
    set("cut", "per-window", "cc_cong_signal: not before snd_recover"),
    set("recut", "past-point", "cc_cong_signal: snd_recover is snd_max + 1"),
    set("cut-from", "cwnd", "dctcp_cong_signal @2d614aa2: CC_ECN"),
    set("loss-from", "cwnd", "newreno_cc_cong_signal @a64dbec9; a timeout: min(cwnd, rwnd)"),
    set("freeze-growth", "off", "dctcp_ack_received leaves congestion recovery; else `round`"),
    set("growth-when", "below-rwnd", "cc_ack_received @028e385e: CCF_CWND_LIMITED"),
    set("growth-counts", "bytes", "cc_ack_received @028e385e: t_bytes_acked, without L"),
    set("window-floor", "2", "dctcp_cong_signal: max(..., 2 * mss)"),
    set("ssthresh-floor", "2", "dctcp_cong_signal @2d614aa2: max(..., 2 * mss)"),
    set("initial-window", "rfc6928", "net.inet.tcp.initcwnd_segments = 10"),
    set("restart-window", "initial", "newreno_cc_after_idle @a64dbec9: tcp_compute_initwnd"),
    set("initial-ssthresh", "none", "tcp_newtcpcb @050e0884: TCP_MAXWIN << TCP_MAX_WINSHIFT"),
    set("abc-limit", "2", "net.inet.tcp.abc_l_var = 2"),
    set("idle-restart", "true", "tcp_default_output @2d614aa2: or nothing received for t_rxtcur"),
    set("recovery", "sack", "net.inet.tcp.sack.revised = 1 (rfc6675_pipe)"),
    set("dup-thresh", "3", "tcprexmtthresh @2d614aa2"),
    set("reduction", "prr", "tcp_do_segment @028e385e: tcp_do_prr_ack after a loss and after ECE"),
    set("tail-loss-probe", "off", "tcp_timer.c @2d614aa2 has no such timer"),
    set("handshake-rtt", "timestamps", "tcp_do_segment @2d614aa2: to_tsecr of the SYN-ACK"),
    set("undo", "eifel-rto", "tcp_do_segment @028e385e: CC_RTO_ERR, t_badrxtwin"),
    set("limited-transmit", "true", "net.inet.tcp.rfc3042 = 1"),
    set("nagle", "true", "tcp_default_output @2d614aa2: idle or TF_NODELAY"),
    set("rto-initial", "1 s", "net.inet.tcp.rexmit_initial = 1000"),
    set("rto-min", "30 ms", "TCPTV_MIN, tcp_timer.h @2d614aa2; net.inet.tcp.rexmit_min = 30"),
    set("rto-min-applies", "timeout", "TCP_REXMTVAL, tcp_var.h @2d614aa2: max(t_rttmin, ...)"),
    set("rto-slop", "200 ms", "TCPT_RANGESET @2d614aa2; net.inet.tcp.rexmit_slop = 200"),
    set("rto-max", "64 s", "TCPTV_REXMTMAX"),
    set("rto-granularity", "1 ms", "kern.hz = 1000: t_rxtcur counts ticks"),
    set("rtt-granularity", "1 ms", "kern.hz = 1000: t_rtttime and timestamps count ticks"),
    set("rtt-ticks", "first-plus-one", "tcp_xmit_timer @2d614aa2: d + 1, then d"),
    set("rtt-gains", "freebsd", "tcp_xmit_timer @2d614aa2: TCP_RTT_SHIFT, TCP_RTTVAR_SHIFT"),
    set("syn-retries", "6", "keepinit of 75 s: after 1, 2.2, 4.2, 8.2, 16.2 and 32.2 s"),
    set("syn-linear-timeouts", "0", "tcp_timer_rexmt @2d614aa2: tcp_backoff for a SYN too"),
    set("syn-ack-retries", "3", "SYNCACHE_MAXREXMTS @2d614aa2"),
    set("retries", "12", "TCP_MAXRXTSHIFT"),
    set("send-buffer", "2 MiB", "net.inet.tcp.sendbuf_max"),
    set("ack", "dctcp", "dctcp_ecnpkt_handler"),
    set("delack-segments", "2", "tcp_do_segment: DELAY_ACK"),
    set("delack-timer", "40 ms", "TCPTV_DELACK; 100 ms until FreeBSD 12"),
    set("initial-quick-acks", "0 B", "DELAY_ACK @2d614aa2"),
    set("receive-buffer", "2 MiB", "net.inet.tcp.recvbuf_max"),
    set("buffer-tuning", "fixed", "as with SO_RCVBUF; net.inet.tcp.recvbuf_auto = 1 by default"),
    set("buffer-tuning-rule", "freebsd-14", "tcp_autorcvbuf @2bae602e (14-CURRENT)"),
    set("dsack", "true", "tcp_update_dsack_list"),
    set("min-mss", "216", "net.inet.tcp.minmss = 216"),
    set("timestamps", "true", "net.inet.tcp.rfc1323 = 1"),
    set("timestamp-granularity", "1 ms", "tcp_ts_getticks: milliseconds"),
    set("sack", "true", "net.inet.tcp.sack.enable = 1"),
    set("window-scaling", "true", "net.inet.tcp.rfc1323 = 1"),
    set("time-wait", "60 s", "net.inet.tcp.msl = 30000, twice"),
    set("time-wait-reset", "ignore", "tcp_twcheck"),
    set("isn", "rfc6528", "tcp_new_isn"),
    set("isn-tick", "954 ns", "tcp_new_isn @050e0884: ISN_BYTES_PER_SECOND = 2^20"),
    set("timestamp-offset", "per-connection", "net.inet.tcp.ts_offset_per_conn = 1"),
    set("rst-accept", "exact", "net.inet.tcp.insecure_rst = 0"),
    set("syn-answer", "challenge-ack", "net.inet.tcp.insecure_syn = 0"),
    set("ack-accept", "sent-window", "tcp_do_segment @028e385e: ghost ACKs; insecure_ack = 0"),
    set("challenge-ack-limit", "5", "net.inet.tcp.ack_war_cnt = 5"),
    set("challenge-ack-interval", "1 s", "net.inet.tcp.ack_war_timewindow = 1000"),
    set("ack-throttle", "challenges", "tcp_send_challenge_ack @050e0884 only"),
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
    set("dctcp.loss-cut", "half", "dctcp_cong_signal @2d614aa2: cwin / 2"),
    set("dctcp.slow-start-end", "overshoot", "newreno_ack_received: cwnd <= ssthresh"),
    set("dctcp.flip", "new-echo", "dctcp_ecnpkt_handler @2d614aa2: CCF_ACKNOW at each change"),
    set("dctcp.cwr-ack", "at-once", "tcp_ecn.c since review D22670; delayed before"),
    set("rfc3168.cwr-ack", "at-once", "tcp_ecn.c since review D22670"),
    set("rfc3168.quick-acks", "0", "tcp_ecn_input_segment @2d614aa2"),
    set("odctcp.flip", "new-echo", "as `dctcp.flip`"),
];
