//! Linux 6.18 with default sysctls and CONFIG_HZ = 250.
//!
//! Timers count jiffies of 4 ms: `rto-granularity` and `loss-timer-granularity` round durations up.
//! A real timer also waits for the next tick, up to one jiffy more. The host provides that tick
//! (`clock.timer-tick = "4 ms"` in a scenario), off by default.
//!
//! 6.18 has no Accurate ECN: it refuses `tcp_ecn` 3 to 5. `ecn = "accecn"` on this profile models
//! the feedback of 7.2 (`accecn-*`) with ECT on new data only; profile `linux-7.2` is that kernel.
//!
//! The receive buffer is fixed at its maximum, as recorded results were run; `buffer-tuning =
//! "auto"` grows it as the kernel does.
//!
//! The switches cannot express: undo by DSACK; the end of the first quick ACKs with the first
//! answer (`inet_csk_in_pingpong_mode`), and new ones after a pause; windows by memory instead of
//! bytes; the decay of cwnd while the application is the limit (`tcp_cwnd_application_limited`).

use super::{Profile, set};

/// Registration.
pub static ENTRY: Profile = Profile {
    name: "linux",
    summary: "Linux 6.18 with default settings",
    settings: &[
        set("cc", "cubic", "Kconfig DEFAULT_TCP_CONG"),
        set("feedback", "rfc3168", "tcp_input.c, ECE in CA_CWR"),
        set("ect", "data", "INET_ECN_xmit on new data only, unless the control needs ECN"),
        set("cwr", "after-reduction", "tcp_ecn_send: with the next new data"),
        set("cut", "per-window", "tcp_enter_cwr: not while in CA_CWR"),
        set("recut", "past-point", "tcp_fastretrans_alert: CA_CWR ends when high_seq is passed"),
        set("freeze-growth", "round", "CA_CWR: no cong_avoid until high_seq is passed"),
        set("window-floor", "2", "tcp_reno_ssthresh: max(cwnd / 2, 2)"),
        set("initial-window", "10", "TCP_INIT_CWND, in segments whatever their size"),
        set("abc-limit", "none", "tcp_slow_start counts every acknowledged segment"),
        set("growth-when", "window-usage", "tcp_is_cwnd_limited, tcp_cwnd_validate, since 3.16"),
        set("growth-counts", "delivered", "tcp_cong_avoid: acked_sacked, the delivered segments"),
        set("idle-restart", "true", "net.ipv4.tcp_slow_start_after_idle = 1"),
        set(
            "idle-decay",
            "per-rto",
            "tcp_cwnd_restart: cwnd >>= 1 per RTO, not below TCP_INIT_CWND",
        ),
        set("recovery", "rack", "net.ipv4.tcp_recovery = 1"),
        set("reduction", "prr", "tcp_cwnd_reduction, in CA_Recovery and in CA_CWR"),
        set("rack-rtt", "last-processed", "tcp_rack_advance: rack.rtt_us of each segment in turn"),
        set("resend-restarts-rto", "true", "tcp_xmit_retransmit_queue, tcp_clean_rtx_queue"),
        set("recovery-after-rto", "true", "tcp_fastretrans_alert, CA_Loss: FLAG_LOST_RETRANS"),
        set("probe-without-rtt", "1 s", "tcp_schedule_loss_probe: TCP_TIMEOUT_INIT"),
        set("tail-loss-probe", "on", "net.ipv4.tcp_early_retrans = 3"),
        set("max-ack-delay", "200 ms", "tcp_schedule_loss_probe: tcp_rto_min for a lone segment"),
        set("loss-timer-slack", "2 ms", "TCP_TIMEOUT_MIN_US, since 6.6"),
        set("loss-timer-granularity", "4 ms", "usecs_to_jiffies at CONFIG_HZ = 250 (1 ms at 1000)"),
        set(
            "handshake-rtt",
            "timestamps",
            "tcp_ack_update_rtt: the echo, where Karn leaves no sample",
        ),
        set("loss-from", "cwnd", "tcp_reno_ssthresh, cubictcp_recalc_ssthresh: tcp_snd_cwnd"),
        set("undo", "timestamps", "tcp_packet_delayed, tcp_process_loss; net.ipv4.tcp_frto = 2"),
        set("limited-transmit", "true", "tcp_limited_transmit in tcp_input.c"),
        set("nagle", "true", "on without TCP_NODELAY"),
        set("nagle-rule", "minshall", "tcp_nagle_check, tcp_minshall_check, since 2.4"),
        set("rto-initial", "1 s", "TCP_TIMEOUT_INIT"),
        set("rto-min", "200 ms", "net.ipv4.tcp_rto_min_us = 200000"),
        set("rto-min-applies", "variance", "tcp_rtt_estimator: the minimum bounds mdev_max"),
        set("rto-max", "120 s", "net.ipv4.tcp_rto_max_ms = 120000"),
        set("rto-granularity", "4 ms", "one jiffy at CONFIG_HZ = 250 (1 ms at 1000)"),
        set("syn-retries", "10", "tcp_write_timeout: tcp_syn_retries = 6 and 4 linear timeouts"),
        set("syn-ack-retries", "5", "net.ipv4.tcp_synack_retries = 5"),
        set("syn-linear-timeouts", "4", "net.ipv4.tcp_syn_linear_timeouts = 4, since 6.5"),
        set("window-probe", "empty", "tcp_write_wakeup: tcp_xmit_probe_skb"),
        set("retries", "15", "net.ipv4.tcp_retries2 = 15"),
        set("send-buffer", "4 MiB", "net.ipv4.tcp_wmem, third value"),
        set("ack", "rfc3168", "tcp_ecn_check_ce, TCP_ECN_DEMAND_CWR"),
        set("delack-segments", "2", "__tcp_ack_snd_check: more than one full segment"),
        set("delack-timer", "40 ms", "TCP_DELACK_MIN; the maximum is 200 ms"),
        set("fin-ack", "delayed", "tcp_fin: inet_csk_enter_pingpong_mode"),
        set("initial-quick-ack-count", "16", "tcp_event_data_recv: TCP_MAX_QUICKACKS"),
        set("receive-buffer", "16 MiB", "net.ipv4.tcp_rmem, third value, half of it as window"),
        set("buffer-tuning", "fixed", "net.ipv4.tcp_moderate_rcvbuf = 1; off with SO_RCVBUF"),
        set("buffer-tuning-rule", "linux", "tcp_rcv_space_adjust, tcp_rcvbuf_grow"),
        set("dsack", "true", "net.ipv4.tcp_dsack = 1"),
        set("mtu", "1500", "Ethernet"),
        set("min-mss", "48", "net.ipv4.tcp_min_snd_mss = 48"),
        set("ecn", "passive", "net.ipv4.tcp_ecn = 2"),
        set("ecn-fallback", "true", "net.ipv4.tcp_ecn_fallback = 1"),
        set("accecn-option", "full", "net.ipv4.tcp_ecn_option = 2, of 7.2"),
        set("accecn-rules", "linux", "tcp_validate_incoming, tcp_ecn.h, of 7.2"),
        set("timestamps", "true", "net.ipv4.tcp_timestamps = 1"),
        set("timestamps-required", "false", "tcp_validate_incoming: only PAWS discards"),
        set("timestamp-granularity", "1 ms", "TCP_TS_HZ = 1000"),
        set("sack", "true", "net.ipv4.tcp_sack = 1"),
        set("window-scaling", "true", "net.ipv4.tcp_window_scaling = 1"),
        set("time-wait", "60 s", "TCP_TIMEWAIT_LEN"),
        set("time-wait-reset", "end", "net.ipv4.tcp_rfc1337 = 0"),
        set("isn", "rfc6528", "secure_tcp_seq"),
        set("isn-tick", "64 ns", "seq_scale in secure_seq.c"),
        set("timestamp-offset", "per-host-pair", "secure_tcp_ts_off, net.ipv4.tcp_timestamps = 1"),
        set("rst-accept", "exact", "tcp_validate_incoming"),
        set("syn-answer", "challenge-ack", "tcp_validate_incoming"),
        set("ack-accept", "sent-window", "tcp_ack: max_window, at most bytes_acked"),
        set("challenge-ack-limit", "1", "last_oow_ack_time; tcp_challenge_ack_limit is off"),
        set("challenge-ack-interval", "500 ms", "net.ipv4.tcp_invalid_ratelimit = 500"),
        set("ack-throttle", "empty", "tcp_oow_rate_limited: data without SYN is exempt"),
        set("keep-alive", "false", "on with SO_KEEPALIVE"),
        set("keep-alive-idle", "7200 s", "net.ipv4.tcp_keepalive_time = 7200"),
        set("keep-alive-interval", "75 s", "net.ipv4.tcp_keepalive_intvl = 75"),
        set("keep-alive-count", "9", "net.ipv4.tcp_keepalive_probes = 9"),
        set("user-timeout", "0 s", "TCP_USER_TIMEOUT is not set"),
        set("cubic.variant", "linux", "tcp_cubic.c"),
        set("dctcp.shift-g", "4", "tcp_dctcp.c: dctcp_shift_g"),
        set("dctcp.initial-alpha", "1024", "tcp_dctcp.c: dctcp_alpha_on_init"),
        set("dctcp.arithmetic", "linux", "tcp_dctcp.c: whole segments, alpha of 10 bits"),
        set("dctcp.order", "estimate-first", "tcp_ack: in_ack_event before tcp_fastretrans_alert"),
        set("dctcp.after-idle", "keep", "tcp_dctcp.c: nothing on CA_EVENT_TX_START"),
        set("dctcp.loss-from", "cwnd", "dctcp_react_to_loss: max(cwnd / 2, 2)"),
        set("dctcp.loss-after-cut", "again", "dctcp_react_to_loss: the current cwnd"),
        set("dctcp.slow-start-end", "exact", "tcp_slow_start: min(cwnd + acked, ssthresh)"),
        set("dctcp.flip", "split", "dctcp_ece_ack_update: the old ACK first"),
        set("dctcp.cwr-ack", "at-once", "tcp_ecn_accept_cwr: ICSK_ACK_NOW"),
        set("rfc3168.cwr-ack", "at-once", "tcp_ecn_accept_cwr: ICSK_ACK_NOW"),
        set("rfc3168.quick-acks", "2", "tcp_ecn_check_ce: tcp_enter_quickack_mode(sk, 2)"),
    ],
};
