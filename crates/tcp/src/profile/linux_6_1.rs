//! Linux 6.1 (Debian 12) with default sysctls: `linux` with what 6.18 changed.
//!
//! Sources are those of 6.1.176, compared with 6.12 and 7.2 function by function. Debian's
//! 6.1.0-50 in QEMU sends an unanswered SYN at 0, 1, 3, 7, 15, 32 and 65 s, and its `tcp_rmem` ends
//! with 6291456; it has no `tcp_syn_linear_timeouts`.
//!
//! The switches cannot express: receive buffers grow by another rule (`tcp_rcv_space_adjust`,
//! without `tcp_rcvbuf_grow`), so `buffer-tuning = "auto"` is that of 6.18; a FIN may exceed cwnd
//! (`tcp_cwnd_test`). There is no Accurate ECN.

use super::api::changed;
use super::{Assignment, Profile, linux, set};

/// Registration.
pub static ENTRY: Profile = Profile {
    name: "linux-6.1",
    summary: "Linux 6.1 with default settings: `linux` with its SYN timeouts and receive buffer",
    settings: &SETTINGS,
};

const CHANGES: &[Assignment] = &[
    set("syn-retries", "6", "tcp_write_timeout in tcp_timer.c: net.ipv4.tcp_syn_retries = 6 alone"),
    set("syn-linear-timeouts", "0", "tcp_retransmit_timer in tcp_timer.c: each timeout doubles"),
    set("receive-buffer", "3 MiB", "tcp_init in tcp.c: tcp_rmem, third value 6 MiB, half of it"),
];

static SETTINGS: [Assignment; linux::ENTRY.settings.len()] =
    changed(linux::ENTRY.settings, CHANGES);
