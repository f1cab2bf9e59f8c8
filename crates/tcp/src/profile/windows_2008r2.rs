//! Windows Server 2008 R2: the TCP of the testbed of DCTCP §4, by documents of Microsoft, published
//! settings and the paper.
//!
//! **Not checked against the tool**: the source is closed, and the paper does not name the release
//! (docs/evidence/tools/windows-2008r2.md has the addresses). RTO_min is 300 ms in the first half
//! of §4 and 10 ms in the second half. Growth, byte counting, growth on ECE, the floor of the
//! window and the initial alpha are unknown, so they are those of `rfc`.
//!
//! The switches cannot express the receive buffer that starts at 64 KiB and is tuned up to 16 MB
//! above an RTT of 1 ms (here the value below it).

use super::{Assignment, Profile, set};

/// Registration.
pub static ENTRY: Profile = Profile {
    name: "windows-2008r2",
    summary: "Windows Server 2008 R2, from documents; not checked against the tool",
    settings: SETTINGS,
};

const SETTINGS: &[Assignment] = &[
    set("cc", "newreno", "DCTCP §4: New Reno with SACK"),
    set("ecn", "off", "johnbaker TechNet blog 2008: off by default; DCTCP turns it on"),
    set("initial-window", "2", "netsh interface tcp show supplemental: 2 MSS"),
    set("idle-restart", "true", "smallvoid.com, winnt-tcp-slow-start; after RTO_min: unchecked"),
    set("recovery", "sack", "Microsoft cc754287: RFC 2018, 3517"),
    set("dup-thresh", "3", "unchecked: RFC 3517 has 3, TcpMaxDupAcks of XP and 2003 is 2"),
    set("reduction", "one-step", "Microsoft cc754287: RFC 2582"),
    set("undo", "f-rto", "Microsoft cc754287: RFC 4138"),
    set("limited-transmit", "true", "unchecked"),
    set("nagle", "true", "on without TCP_NODELAY"),
    set(
        "rto-initial",
        "3 s",
        "TcpInitialRTT, Microsoft cc938207 (Windows 2000); 2008 R2 unchecked",
    ),
    set("rto-min", "300 ms", "DCTCP §2.3.2; netsh prints 300 on 2008 R2 with KB2472264"),
    set("rto-min-applies", "timeout", "unchecked"),
    set("rto-granularity", "10 ms", "DCTCP §4.2.1"),
    set("rtt-granularity", "10 ms", "DCTCP §4.2.1: the tick; that samples are ticks is unchecked"),
    set("syn-retries", "2", "TcpMaxConnectRetransmissions, Microsoft cc758896 (2003)"),
    set("retries", "5", "KB170359, which lists 2008 R2"),
    set("delack-segments", "2", "KB328890: every other segment"),
    set("delack-timer", "200 ms", "netsh interface tcp show supplemental; KB328890"),
    set(
        "receive-buffer",
        "64 KiB",
        "fasterdata.es.net, ms-windows: no tuning at an RTT below 1 ms",
    ),
    set("dsack", "true", "Microsoft cc754287: RFC 2883"),
    set("timestamps", "false", "Tcp1323Opts 0 by default (alibabacloud.com); 2008 R2 unchecked"),
    set("sack", "true", "Microsoft cc754287: RFC 2018"),
    set("window-scaling", "true", "sourcedaddy.com: scale 8"),
];
