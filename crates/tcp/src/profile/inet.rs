//! INET for OMNeT++ 4.1: the TCP of TDCTCP §V.
//!
//! **Not checked against the tool**: the values were read in its sources
//! (docs/evidence/tools/inet-omnetpp.md), of revisions of 2009 to 2011; the version of the paper is
//! unknown. Marking, echo and alpha are the authors' own code, which is not public: INET of that
//! time has no ECN. So the parameters of `dctcp` and `tdctcp` are those of `rfc`.
//!
//! A scheme on top of it replaces the switches that it sets: all of them turn SACK on, which
//! INET's NewReno refuses (`connection.sack = false` in the scenario). The switches cannot express
//! a slow start that adds a whole segment past ssthresh.

use super::{Assignment, Profile, set};

/// Registration.
pub static ENTRY: Profile = Profile {
    name: "inet",
    summary: "INET for OMNeT++ 4.1, from its sources; not checked against the tool",
    settings: SETTINGS,
};

const SETTINGS: &[Assignment] = &[
    set("cc", "newreno", "TCPNewReno.cc @1ae8f685"),
    set("ecn", "off", "TCP.ned @14be1508, \"Missing bits\""),
    set("cut-from", "cwnd", "unchecked: the authors' own code"),
    set("loss-from", "window", "recalculateSlowStartThreshold @4ab1fe0b: min(cwnd, snd_wnd)"),
    set("growth-when", "always", "TCPNewReno::receivedDataAck @1ae8f685: on every ACK"),
    set("growth-counts", "acks", "TCPNewReno::receivedDataAck @1ae8f685: no byte counting"),
    set("window-floor", "2", "recalculateSlowStartThreshold @4ab1fe0b: 2 MSS"),
    set("ssthresh-floor", "2", "recalculateSlowStartThreshold @4ab1fe0b: 2 MSS"),
    set("initial-window", "1", "TCP.ned @14be1508: increasedIWEnabled = false"),
    set("initial-ssthresh", "65535", "TCPTahoeRenoFamily.cc @4ab1fe0b; none in @0de43782"),
    set("abc-limit", "1", "TCPNewReno::receivedDataAck @1ae8f685: an MSS per ACK"),
    set("idle-restart", "true", "TCPConnection::sendData: after an RTO without sending"),
    set("recovery", "newreno", "TCPNewReno.cc @1ae8f685: RFC 3782"),
    set("dup-thresh", "3", "TCPConnection.h @0117b25a: DUPTHRESH"),
    set("reduction", "one-step", "TCPNewReno.cc @1ae8f685"),
    set("limited-transmit", "false", "TCP.ned @14be1508: limitedTransmitEnabled"),
    set("nagle", "true", "TCP.ned @14be1508: nagleEnabled"),
    set("rto-initial", "3 s", "TCPBaseAlg.cc @24582891"),
    set("rto-min", "1 s", "TCPBaseAlg.cc @24582891: MIN_REXMIT_TIMEOUT"),
    set("rto-min-applies", "timeout", "TCPBaseAlg.cc @24582891: rttMeasurementComplete"),
    set("rto-max", "240 s", "TCPBaseAlg.cc @24582891: MAX_REXMIT_TIMEOUT"),
    set("rto-granularity", "1 ns", "TCP.ned @14be1508: timeouts are precisely calculated"),
    set("rtt-granularity", "0 s", "TCP.ned @14be1508: no clock ticks"),
    set("rtt-gains", "inet", "TCPBaseAlg.cc @24582891: rttMeasurementComplete"),
    set("syn-retries", "4", "TCPConnection.h @0117b25a: given up after 75 s, so 3 + 6 + 12 + 24 s"),
    set("syn-ack-retries", "12", "TCPConnection.h @0117b25a: MAX_SYN_REXMIT_COUNT"),
    set("retries", "12", "TCPBaseAlg.cc @24582891: MAX_REXMIT_COUNT"),
    set("send-buffer", "1 GB", "TCP.ned @14be1508: sendQueueLimit came later"),
    set("delack-segments", "2", "off in TCP.ned @14be1508; the paper's algorithms need it on"),
    set("delack-timer", "200 ms", "TCPBaseAlg.cc @24582891: DELAYED_ACK_TIMEOUT; TDCTCP §IV-C"),
    set(
        "receive-buffer",
        "20440 B",
        "TCP.ned @14be1508: advertisedWindow of 14 segments of 1460 B",
    ),
    set("dsack", "false", "TCP.ned @14be1508"),
    set("mtu", "1500", "TDCTCP §V: path MTU 1500, MSS 1460"),
    set("timestamps", "false", "TCP.ned @14be1508: tsSupport"),
    set("sack", "false", "TCP.ned @14be1508: sackSupport; NewReno asserts it"),
    set("window-scaling", "false", "TCP.ned @14be1508: wsSupport"),
    set(
        "newreno.slow-start-end",
        "exact",
        "TCPNewReno::receivedDataAck @1ae8f685: cwnd < ssthresh",
    ),
];
