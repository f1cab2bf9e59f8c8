//! Linux 3.13 with default sysctls and CONFIG_HZ = 250: the TCP of DX's testbed.
//!
//! **Not checked against the tool**: no source of 3.13 was read
//! (docs/evidence/tools/dx-testbed.md). "From memory" and "unchecked" mark what that page marks so;
//! the other values were read in other versions. 3.13 has no DCTCP. The paper compares with a patch
//! that it does not name, so the parameters of `dctcp` are those of the version merged for 3.18.
//!
//! The switches cannot express: buffer tuning, whose rule then was another (here the final values);
//! congestion avoidance that
//! counts ACKs beside a slow start that counts segments; undo by DSACK. Segmentation offload,
//! pacing and TCP small queues are settings of the host.

use super::{Assignment, Profile, set};

/// Registration.
pub static ENTRY: Profile = Profile {
    name: "linux-3.13",
    summary: "Linux 3.13, mostly from later sources; not checked against the tool",
    settings: SETTINGS,
};

const SETTINGS: &[Assignment] = &[
    set("cc", "cubic", "Kconfig DEFAULT_TCP_CONG (from memory)"),
    set("ecn", "passive", "net.ipv4.tcp_ecn = 2 (from memory)"),
    set("freeze-growth", "round", "CA_CWR, as `linux` (unchecked in 3.13)"),
    set("recut", "past-point", "CA_CWR, as `linux` (unchecked in 3.13)"),
    set("growth-when", "cwnd-limited", "tcp_is_cwnd_limited before 3.16 is close (from memory)"),
    set("window-floor", "2", "tcp_reno_ssthresh: max(cwnd / 2, 2) (from memory)"),
    set("initial-window", "10", "TCP_INIT_CWND since 2.6.39 (from memory)"),
    set("abc-limit", "none", "tcp_slow_start: all acknowledged segments (from memory)"),
    set("idle-restart", "true", "sysctl_tcp_slow_start_after_idle = 1, file 10879525559"),
    set("recovery", "sack", "RACK came with 4.4 (from memory)"),
    set("dup-thresh", "3", "TCP_FASTRETRANS_THRESH (from memory)"),
    set("reduction", "prr", "tcp_cwnd_reduction, since 3.2 (from memory)"),
    set("tail-loss-probe", "on", "since 3.10 (from memory)"),
    set("loss-from", "cwnd", "tcp_reno_ssthresh, bictcp_recalc_ssthresh: snd_cwnd"),
    set("undo", "eifel", "tcp_packet_delayed (from memory)"),
    set("idle-decay", "per-rto", "tcp_cwnd_restart (from memory)"),
    set("nagle-rule", "minshall", "tcp_minshall_check, since 2.4 (from memory)"),
    set("timestamps-required", "false", "tcp_validate_incoming (from memory)"),
    set("limited-transmit", "true", "tcp_input.c (from memory)"),
    set("nagle", "true", "on without TCP_NODELAY; full segments only in DX §VI-B"),
    set("rto-initial", "1 s", "TCP_TIMEOUT_INIT, include/net/tcp.h, file 4226935"),
    set("rto-min", "200 ms", "TCP_RTO_MIN: HZ/5, file 4226935"),
    set("rto-min-applies", "variance", "tcp_rtt_estimator (from memory)"),
    set("rto-max", "120 s", "TCP_RTO_MAX, file 4226935"),
    set("rto-granularity", "4 ms", "one jiffy at CONFIG_HZ = 250 (unchecked)"),
    set("syn-retries", "6", "TCP_SYN_RETRIES, file 4226935"),
    set("syn-ack-retries", "5", "TCP_SYNACK_RETRIES, file 4226935"),
    set("retries", "15", "TCP_RETR2 (from memory)"),
    set("send-buffer", "4 MiB", "net.ipv4.tcp_wmem, third value (from memory)"),
    set("delack-segments", "2", "__tcp_ack_snd_check (from memory)"),
    set("delack-timer", "40 ms", "TCP_DELACK_MIN: HZ/25, file 4226935; at most 200 ms"),
    set(
        "initial-quick-acks",
        "23168 B",
        "tcp_enter_quickack_mode: up to 16 segments (from memory), of 1448 B",
    ),
    set("receive-buffer", "6 MB", "net.ipv4.tcp_rmem, third value (from memory)"),
    set("dsack", "true", "net.ipv4.tcp_dsack = 1 (from memory)"),
    set("timestamps", "true", "tcp(7)"),
    set("sack", "true", "tcp(7)"),
    set("window-scaling", "true", "tcp(7)"),
    set("dctcp.arithmetic", "linux", "tcp_dctcp.c of 3.18; the patch of DX is unknown"),
    set("dctcp.initial-alpha", "1024", "tcp_dctcp.c of 3.18; the patch of DX is unknown"),
    set("dctcp.loss-from", "cwnd", "tcp_dctcp.c of 3.18; the patch of DX is unknown"),
    set("dctcp.flip", "split", "tcp_dctcp.c of 3.18; the patch of DX is unknown"),
];
