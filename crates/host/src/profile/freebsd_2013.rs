//! A host of the ODCTCP testbed: FreeBSD of 2013 and 2014 with an Intel NIC of 1 Gbit/s.
//!
//! The thesis and its slides name hosts, NIC and TSO. Their kernel was not found; the other values
//! are those of release 10.4 (`coder03/freebsd10.4` @3d3f8b11; docs/evidence/tools), the defaults
//! of its driver included, but for the rule of receive buffers, which is that of earlier releases.
//! The values were chosen from these texts as one setting, before the experiments of the thesis ran
//! with it.

use lowtide_tcp::profile::set;
use lowtide_units::Duration;

use super::HostProfile;
use crate::clocks::clock::ClockSpec;
use crate::datapath::nic::NicSpec;
use crate::datapath::stack::{StackDelay, StackJitter, StackSpec};

/// One passage through the stack, in either direction.
const PASSAGE: StackDelay =
    StackDelay { constant: Duration::from_us(72), jitter: StackJitter::None };

/// Registration.
pub static ENTRY: HostProfile = HostProfile {
    name: "freebsd-2013",
    summary: "a host of the ODCTCP testbed: TSO, interrupts 125 us apart, FreeBSD's ticks, buffers",
    nic: NicSpec {
        moderation: Duration::from_us(125),
        stack: StackSpec { send: PASSAGE, receive: PASSAGE },
        ..NicSpec::IDEAL
    },
    clock: ClockSpec::IDEAL,
    transport: &[
        set("tso-segments", "45", "ODCTCP §6.5: TSO on; tcp_output @3d3f8b11: IP_MAXPACKET"),
        set("restart-window", "rfc3390", "newreno_after_idle @3d3f8b11, even with initcwnd10"),
        set("growth-when", "below-rwnd", "cc_ack_received @3d3f8b11: CCF_CWND_LIMITED"),
        set("growth-counts", "limited-bytes", "cc_ack_received @3d3f8b11: t_bytes_acked"),
        set("rto-initial", "3 s", "TCPTV_RTOBASE, tcp_timer.h @3d3f8b11"),
        set("rto-min", "30 ms", "TCPTV_MIN: hz/33; t_rttmin = tcp_rexmit_min in tcp_newtcpcb"),
        set("rto-min-applies", "timeout", "TCP_REXMTVAL @3d3f8b11: max(t_rttmin, ...)"),
        set("rto-slop", "200 ms", "TCPT_RANGESET, TCPTV_CPU_VAR, tcp_timer.h @3d3f8b11"),
        set("rto-granularity", "1 ms", "kern.hz = 1000, init_param1 @3d3f8b11"),
        set("rtt-granularity", "1 ms", "ODCTCP §6.2; kern.hz = 1000, init_param1 @3d3f8b11"),
        set("rtt-ticks", "first-plus-one", "tcp_xmit_timer @3d3f8b11: d + 1, then d"),
        set("rtt-gains", "freebsd", "tcp_xmit_timer @3d3f8b11: TCP_RTT_SHIFT = 5"),
        set("timestamp-granularity", "1 ms", "kern.hz = 1000, init_param1 @3d3f8b11"),
        set("send-buffer", "2 MiB", "tcp_autosndbuf_max, tcp_output.c @3d3f8b11"),
        set("receive-buffer", "2 MiB", "tcp_autorcvbuf_max, tcp_input.c @3d3f8b11"),
        set("buffer-tuning", "auto", "ODCTCP §4.2.3; net.inet.tcp.recvbuf_auto = 1 by default"),
        set("buffer-tuning-rule", "freebsd-10", "tcp_do_segment of 11-CURRENT, jcharbon @2d1a5402"),
        set("dsack", "false", "tcp_var.h @3d3f8b11 has no such function"),
    ],
    sources: &[
        set(
            "moderation",
            "125 us",
            "MAX_INTS_PER_SEC = 8000 in if_em.h, igb_max_interrupt_rate = 8000 in if_igb.c, both @3d3f8b11; slides: Intel PRO/1000",
        ),
        set(
            "stack",
            "72 us",
            "chosen: with lines of 0.11 ms a round trip of 0.4 ms, near that of two hosts whose interrupts for sent and received packets are 125 us apart; the documents state none, only that it is below 1 ms (ODCTCP §6.2)",
        ),
    ],
    omits: "receive aggregation, as neither document names the driver's LRO; interrupts for sent packets, which share the moderation; a send buffer that grows from 32 KiB; adaptive moderation (igb's AIM); the undo of an early timeout",
};
