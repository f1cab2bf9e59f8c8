//! ns-2.35 with the DCTCP patch of 2012, as the patch's own script sets it up: the TCP of DCTCP
//! fig. 12 and of most of DX.
//!
//! **Not checked against the tool**: the values were read in its sources
//! (docs/evidence/tools/ns2.md). P is the patch, K the copy of KAIST INA, S the script, as that
//! page names them with revisions. The scripts of the papers are not public, so S is the best
//! evidence.
//!
//! A scheme on top of it replaces the switches that it sets: `dctcp` replaces `freeze-growth =
//! "first-ece"` and the ECT of the SYN. The switches cannot express: a slow start that adds a whole
//! packet past ssthresh; a timer that is backed off by ECE at a window of one packet; ECT on the
//! SYN-ACK but not on the SYN.

use super::{Assignment, Profile, set};

/// Registration.
pub static ENTRY: Profile = Profile {
    name: "ns-2",
    summary: "ns-2.35 with the DCTCP patch, from its sources; checked without the patch (benches/tools)",
    settings: SETTINGS,
};

const SETTINGS: &[Assignment] = &[
    set("cc", "dctcp", "P: dctcp_ of TcpAgent"),
    set("ecn", "rfc3168", "P sendpacket: ECT once both ends agreed"),
    set("feedback", "dctcp", "P update_dctcp_alpha: bytes of the ACKs with ECE"),
    set("ect", "all-but-syn", "P sendpacket: pure ACKs and retransmissions too; the SYN not"),
    set("cwr", "after-reduction", "K tcp-full.cc foutput; the DCTCP receiver ignores it"),
    set("cut", "per-window", "K tcp.cc ecn: not before recover_"),
    set("recut", "past-point", "K tcp.cc ecn: seqno > recover_ = maxseq_"),
    set("cut-from", "window", "P slowdown; K windowd: min(cwnd, window_)"),
    set("loss-from", "window", "K slowdown, windowd: min(cwnd, window_)"),
    set("freeze-growth", "first-ece", "P hunk 2297: ecn_burst_"),
    set(
        "growth-when",
        "below-rwnd",
        "K tcp-full.cc recv, prediction branch: not while cwnd >= window_; one-way agents always",
    ),
    set("growth-counts", "acks", "K opencwnd: windowOption_ counts ACKs"),
    set("window-floor", "1", "P slowdown: cwnd >= 1; K has no floor"),
    set("ssthresh-floor", "2", "K slowdown"),
    set("initial-window", "2", "ns-default.tcl windowInit_ 2; K initial_window"),
    set("initial-ssthresh", "1833760", "K TcpAgent::reset: window_, in S 1256 packets of 1460 B"),
    set("abc-limit", "1", "K opencwnd: a packet per ACK"),
    set("idle-restart", "false", "S; on in ns-default.tcl"),
    set("recovery", "sack", "ns-default.tcl: FullTcp/Sack"),
    set("dup-thresh", "3", "ns-default.tcl"),
    set("reduction", "one-step", "P hunk 2874, K slowdown"),
    set("limited-transmit", "false", "K tcp-full.cc has no code for singledup_; one-way agents do"),
    set("nagle", "true", "ns-default.tcl nodelay_ false, as S leaves it; K and PIAS turn it off"),
    set("rto-initial", "3 s", "ns-default.tcl rtxcur_init_"),
    set("rto-min", "200 ms", "ns-default.tcl and S: minrto_"),
    set("rto-min-applies", "timeout", "K rtt_timeout"),
    set("rto-max", "60 s", "ns-default.tcl maxrto_"),
    set("rto-granularity", "10 ms", "S tcpTick_; 1 us in K and PIAS"),
    set("rtt-granularity", "10 ms", "S tcpTick_; 1 us in K and PIAS"),
    set("rtt-ticks", "at-least-one", "K rtt_update: t_rtt_ of at least one tick"),
    set("ack", "dctcp", "P, both recv paths: the state is CE of the newest ECT segment"),
    set("delack-segments", "1", "S segsperack_ 1; DCTCP §3.1 describes m"),
    set("delack-timer", "40 ms", "S interval_ 0.04; ns-default.tcl 100 ms"),
    set("initial-quick-acks", "2920 B", "S spa_thresh_ 3000, with the SYN: two segments"),
    set("receive-buffer", "1833760 B", "S window_ 1256 packets of 1460 B; 180 in K, 20 by default"),
    set("dsack", "false", "ns-default.tcl"),
    set("mtu", "1500", "S packetSize_ 1460, and 40 B of headers (P foutput)"),
    set("timestamps", "false", "ns-default.tcl timestamps_ false"),
    set("sack", "true", "ns-default.tcl: FullTcp/Sack"),
    set("window-scaling", "true", "no option: window_ counts packets without a limit of 16 bits"),
    set("dctcp.shift-g", "4", "P: g is set by the script, 1/16"),
    set("dctcp.initial-alpha", "0", "P, hunk of ns-default.tcl; also in the patch of ns-2.34"),
    set("dctcp.arithmetic", "q20", "P: real numbers"),
    set("dctcp.order", "estimate-first", "P update_dctcp_alpha at the head of recv"),
    set("dctcp.after-idle", "keep", "P: no code for it"),
    set("dctcp.grow-with-cut", "true", "P hunk 2297: each later ECE ACK of a run grows"),
    set("dctcp.loss-from", "flight", "so that `loss-from` decides"),
    set("dctcp.loss-cut", "half", "P hunk 2874: a loss halves even with DCTCP"),
    set("dctcp.flip", "old-echo", "P, both recv paths; equal to `split` with m = 1"),
];
