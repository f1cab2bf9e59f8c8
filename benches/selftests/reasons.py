"""Constructs that no script of ours can have, and the differences that are explained."""

# Needs of scripts that lowtide does not model, and how a text shows them.
NEEDS = [
    ("TCP Fast Open", r"\bFO\b|FOEXP|FASTOPEN"),
    ("zero-copy calls", r"ZEROCOPY"),
    ("software timestamps of packets", r"SO_TIMESTAMPING|SCM_TIMESTAMPING"),
    ("`TCP_INQ`", r"TCP_INQ"),
    ("MD5 signatures", r"\bmd5\b"),
    ("`sendfile` and `splice`", r"sendfile\(|splice\("),
    ("`MSG_EOR`", r"MSG_EOR"),
    ("`MSG_MORE`", r"MSG_MORE"),
    ("`MSG_OOB`", r"MSG_OOB"),
    ("pointers that are invalid", r"NULL, \d+"),
    ("ICMP", r"< icmp"),
    ("SYN cookies at MTU 9000 with fields of `tcp_info`", r"tcp_syncookies=2"),
    ("`tcp_shrink_window`", r"tcp_shrink_window=1"),
]

MEMORY = "the kernel counts memory, not bytes (windows and buffers in deviations.md)"

BEYOND = f"SO_RCVBUF: {MEMORY}; a packet beyond the window is taken if none is queued"

# Why a script that applies differs.
DIFFERS = {
    "blocking_blocking-write": f"SO_SNDBUF: {MEMORY}",
    "ooo_rcv_mss": f"growth of the window before data is read: {MEMORY}",
    "rcv_big_endseq": BEYOND,
    "rcv_neg_window": BEYOND,
    "rcv_wnd_shrink_nomem": f"SO_RCVBUF made smaller later: {MEMORY}",
    "rcv_zero_wnd_fin": BEYOND,
    "slow_start_slow-start-fq-ack-per-2pkt": "pacing by the queueing discipline fq",
    "tcp_info_tcp-info-sndbuf-limited": f"SO_SNDBUF: {MEMORY}",
    "user_timeout_user-timeout-probe":
        "the script's queue drops all; the kernel sees it and retries every 500 ms",
}
