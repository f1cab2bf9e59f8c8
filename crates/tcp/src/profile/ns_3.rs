//! `TcpDctcp` of ns-3.32 and later with the defaults of its attributes. None of the papers uses it;
//! the profile is for comparisons.
//!
//! **Not checked against the tool**: the values were read in its sources
//! (docs/evidence/tools/ns3.md). ns-3.31 has an initial window of 1 and `reduction = "one-step"`.
//! The growth rule is that of its time; later versions test `m_isCwndLimited` (from memory).
//!
//! A scheme on top of it replaces the switches that it sets. The switches cannot express a window
//! below one segment, and a round that ends at an ACK of exactly its end (`>=`) with real numbers.

use super::{Assignment, Profile, set};

/// Registration.
pub static ENTRY: Profile = Profile {
    name: "ns-3",
    summary: "TcpDctcp of ns-3.32 and later, from its sources; differs from ns-3.44 (benches/tools)",
    settings: SETTINGS,
};

const SETTINGS: &[Assignment] = &[
    set("cc", "dctcp", "tcp-dctcp.cc @031ef17c; the default control is another"),
    set("ecn", "rfc3168", "TcpDctcp::Init @031ef17c"),
    set("feedback", "dctcp", "TcpDctcp::PktsAcked @031ef17c: all of an ACK with ECE"),
    set("ect", "all", "TcpDctcp::Init @031ef17c: ECT(0); which packets is unchecked"),
    set("freeze-growth", "off", "tcp-linux-reno.cc @2bb66a20: no test of ECE (unchecked)"),
    set("growth-when", "always", "tcp-linux-reno.cc @2bb66a20: on every ACK"),
    set("growth-counts", "bytes", "tcp-linux-reno.cc @2bb66a20: acknowledged segments"),
    set("loss-from", "window", "TcpLinuxReno::GetSsThresh: half of cwnd; seen in ns-3.44"),
    set("window-floor", "1", "TcpDctcp::GetSsThresh @031ef17c: no floor, 1 is the lowest here"),
    set("initial-window", "10", "CHANGES.md @00771216: 10 from 3.32 on"),
    set("initial-ssthresh", "none", "InitialSlowStartThreshold, tcp-socket.cc @50c1bfef"),
    set("abc-limit", "none", "tcp-linux-reno.cc @2bb66a20: all acknowledged segments"),
    set("idle-restart", "false", "from memory"),
    set("recovery", "sack", "tcp-socket-base.cc @01138ef2"),
    set("dup-thresh", "3", "ReTxThreshold, tcp-socket-base.cc @01138ef2"),
    set("reduction", "prr", "CHANGES.md @00771216: from 3.32 on"),
    set("limited-transmit", "true", "tcp-socket-base.cc @01138ef2"),
    set("nagle", "false", "TcpNoDelay, tcp-socket.cc @50c1bfef"),
    set("rto-initial", "3 s", "ConnTimeout, tcp-socket.cc @50c1bfef"),
    set("rto-min", "1 s", "MinRto, tcp-socket-base.cc @01138ef2"),
    set("rto-min-applies", "timeout", "tcp-socket-base.cc @01138ef2"),
    set("rto-granularity", "1 ms", "ClockGranularity, tcp-socket-base.cc @01138ef2"),
    set("syn-retries", "6", "ConnCount, tcp-socket.cc @50c1bfef"),
    set("retries", "6", "DataRetries, tcp-socket.cc @50c1bfef"),
    set("send-buffer", "128 KiB", "SndBufSize, tcp-socket.cc @50c1bfef"),
    set("ack", "dctcp", "CeState0to1, CeState1to0, tcp-dctcp.cc @031ef17c"),
    set("delack-segments", "2", "DelAckCount, tcp-socket.cc @50c1bfef"),
    set("delack-timer", "200 ms", "DelAckTimeout, tcp-socket.cc @50c1bfef"),
    set("receive-buffer", "128 KiB", "RcvBufSize, tcp-socket.cc @50c1bfef"),
    set("mtu", "588", "SegmentSize 536, tcp-socket.cc @50c1bfef, with 40 B and timestamps"),
    set("timestamps", "true", "tcp-socket-base.cc @01138ef2"),
    set("sack", "true", "tcp-socket-base.cc @01138ef2"),
    set("window-scaling", "true", "tcp-socket-base.cc @01138ef2"),
    set("dctcp.shift-g", "4", "DctcpShiftG 0.0625, a gain, tcp-dctcp.cc @031ef17c"),
    set("dctcp.initial-alpha", "1024", "DctcpAlphaOnInit 1.0, tcp-dctcp.cc @031ef17c"),
    set("dctcp.arithmetic", "q20", "tcp-dctcp.cc @031ef17c: real numbers"),
    set("dctcp.loss-cut", "alpha", "TcpDctcp::GetSsThresh @031ef17c; issue 1012"),
    set("dctcp.loss-from", "cwnd", "TcpDctcp::GetSsThresh @031ef17c: m_cWnd"),
    set("dctcp.slow-start-end", "exact", "tcp-linux-reno.cc @2bb66a20"),
    set("dctcp.flip", "old-echo", "CeState0to1, CeState1to0, tcp-dctcp.cc @031ef17c"),
];
