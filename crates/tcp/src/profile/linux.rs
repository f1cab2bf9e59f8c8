//! Linux 6.18 as it comes, default sysctls, a kernel built with 250 ticks per second.
//!
//! What the switches cannot say yet: reductions are spread over the round by PRR, losses are found
//! by RACK with tail loss probes, the first segments are acknowledged at once (quick ACKs), buffers
//! are tuned (the values here are where tuning ends), SYN-ACKs are repeated 5 times and not 6, and
//! slow start after a timeout counts every acknowledged byte (here one segment per ACK).

use super::{Assignment, Profile};

pub(super) static PROFILE: Profile = Profile {
    name: "linux",
    summary: "Linux 6.18 as it comes",
    settings: &[
        set("cc", "cubic", "Kconfig DEFAULT_TCP_CONG"),
        set("feedback", "rfc3168", "tcp_input.c, ECE in CA_CWR"),
        set("dctcp.arithmetic", "linux", "tcp_dctcp.c: whole segments, alpha of 10 bits"),
        set("ect", "data", "INET_ECN_xmit on new data only, unless the control needs ECN"),
        set("cwr", "after-reduction", "tcp_ecn_send: with the next new data"),
        set("cut", "per-window", "tcp_enter_cwr: not while in CA_CWR"),
        set("recut", "past-point", "tcp_fastretrans_alert: CA_CWR ends when high_seq is passed"),
        set("freeze-growth", "round", "CA_CWR: no cong_avoid until high_seq is passed"),
        set("window-floor", "2", "tcp_reno_ssthresh: max(cwnd / 2, 2)"),
        set("initial-window", "10", "TCP_INIT_CWND, in segments whatever their size"),
        set("abc-limit", "none", "tcp_slow_start counts every acknowledged segment"),
        set("idle-restart", "true", "net.ipv4.tcp_slow_start_after_idle = 1"),
        set("recovery", "sack", "net.ipv4.tcp_sack = 1; RACK comes later here"),
        set("undo", "eifel", "tcp_packet_delayed; Linux undoes by DSACK as well"),
        set("limited-transmit", "true", "tcp_limited_transmit in tcp_input.c"),
        set("nagle", "true", "on without TCP_NODELAY"),
        set("rto-initial", "1 s", "TCP_TIMEOUT_INIT"),
        set("rto-min", "200 ms", "net.ipv4.tcp_rto_min_us = 200000"),
        set("rto-min-applies", "variance", "tcp_rtt_estimator: the minimum bounds mdev_max"),
        set("rto-max", "120 s", "net.ipv4.tcp_rto_max_ms = 120000"),
        set("rto-granularity", "4 ms", "one jiffy at CONFIG_HZ = 250 (1 ms at 1000)"),
        set("syn-retries", "6", "net.ipv4.tcp_syn_retries = 6"),
        set("retries", "15", "net.ipv4.tcp_retries2 = 15"),
        set("send-buffer", "4 MiB", "net.ipv4.tcp_wmem, third value"),
        set("ack", "rfc3168", "tcp_ecn_check_ce, TCP_ECN_DEMAND_CWR"),
        set("delack-segments", "2", "__tcp_ack_snd_check: more than one full segment"),
        set("delack-timer", "40 ms", "TCP_DELACK_MIN; the maximum is 200 ms"),
        set("receive-buffer", "16 MiB", "net.ipv4.tcp_rmem, third value, half of it as window"),
        set("dsack", "true", "net.ipv4.tcp_dsack = 1"),
        set("mtu", "1500", "Ethernet"),
        set("ecn", "passive", "net.ipv4.tcp_ecn = 2"),
        set("ecn-fallback", "true", "net.ipv4.tcp_ecn_fallback = 1"),
        set("timestamps", "true", "net.ipv4.tcp_timestamps = 1"),
        set("timestamp-granularity", "1 ms", "TCP_TS_HZ = 1000"),
        set("sack", "true", "net.ipv4.tcp_sack = 1"),
        set("window-scaling", "true", "net.ipv4.tcp_window_scaling = 1"),
        set("time-wait", "60 s", "TCP_TIMEWAIT_LEN"),
    ],
};

const fn set(switch: &'static str, value: &'static str, source: &'static str) -> Assignment {
    Assignment { switch, value, source }
}
