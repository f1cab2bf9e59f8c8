//! Switches against off-path attackers: unpredictable numbers, and validation of RST, SYN and ACK.

use lowtide_schema::{Value, ValueKind};
use lowtide_units::Duration;

use super::field::{Field, choice, name_or_number, no_limit, span, switches, variants};
use super::{Side, Switch};
use crate::defence::{AckAccept, AckThrottle, RstAccept, SynAnswer, TimeWaitReset};
use crate::settings::config::{IsnRule, SynCookies, TimestampOffset};

variants! {
    IsnRule { "rfc6528" Rfc6528, "random" Random }
    TimestampOffset {
        "per-connection" PerConnection, "per-host-pair" PerHostPair, "random" Random,
        "zero" Zero
    }
    SynCookies { "off" Off, "when-full" WhenFull }
    RstAccept { "exact" Exact, "in-window" InWindow }
    SynAnswer { "challenge-ack" ChallengeAck, "reset" Reset }
    AckAccept { "max-window" MaxWindow, "sent-window" SentWindow, "any" Any }
    AckThrottle { "challenges" Challenges, "empty" Empty }
    TimeWaitReset { "ignore" Ignore, "end" End }
}

pub(super) const DEFENCE: &[Switch] = switches! {
    "isn", Connection, (isn: choice::<IsnRule>()),
        "Choice of the initial sequence number: clock and keyed hash, or random.",
        "RFC 6528 §3, RFC 9293 §3.4.1";
    "isn-tick", Connection, (isn_tick: span(Duration::from_ns(1), Duration::from_secs(1))),
        "The tick of the clock in the initial sequence number.",
        "RFC 6528 §3: 4 us; Linux has 64 ns";
    "timestamp-offset", Connection, (timestamp_offset: choice::<TimestampOffset>()),
        "Start of the TSval clock: a keyed hash of the connection or of the two hosts, \
         random, or zero.",
        "RFC 7323 §5.4";
    "syn-cookies", Connection, (syn_cookies: choice::<SynCookies>()),
        "Answer SYNs without state when a listener's backlog is full; on in `lowtide live`.",
        "RFC 4987 §3.6; Linux net.ipv4.tcp_syncookies";
    "rst-accept", Connection, (rst_accept: choice::<RstAccept>()),
        "The RSTs that end the connection: exactly at RCV.NXT, or any in the window.",
        "RFC 5961 §3.2, RFC 9293 §3.10.7.4";
    "syn-answer", Connection, (syn_answer: choice::<SynAnswer>()),
        "The reply to a SYN in a synchronised state: a challenge ACK, or a RST if it is in \
         the window.",
        "RFC 5961 §4.2, RFC 9293 §3.10.7.4";
    "ack-accept", Connection, (ack_accept: choice::<AckAccept>()),
        "The maximum age of an acknowledgement number: the largest window offered, the same \
         but only sent data, or any.",
        "RFC 5961 §5.2";
    "challenge-ack-limit", Connection,
        (challenge_ack_limit: name_or_number(no_limit, 0, 1_000_000)),
        "The maximum number of challenge ACKs of one connection per interval; with `none` an \
         ACK storm (see `ack-throttle`) does not end.",
        "RFC 5961 §7";
    "challenge-ack-interval", Connection,
        (challenge_ack_interval: span(Duration::ZERO, Duration::from_secs(3600))),
        "The interval of the limit on challenge ACKs; it begins with the first of them.",
        "RFC 5961 §7";
    "ack-throttle", Connection, (ack_throttle: choice::<AckThrottle>()),
        "The ACKs that the limit counts: challenges, or also replies to unacceptable empty \
         segments. With `challenges` two forged segments make both ends answer each other's \
         ACKs without end; on real packets it is always `empty`.",
        "RFC 5961 §7, Linux tcp_oow_rate_limited";
    "time-wait-reset", Connection, (time_wait_reset: choice::<TimeWaitReset>()),
        "The effect of a RST in TIME-WAIT: none, or it ends the wait.",
        "RFC 1337 §3, RFC 9293 §3.10.7.4";
};
