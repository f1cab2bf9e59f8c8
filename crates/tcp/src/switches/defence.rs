//! Switches against off-path attackers: unpredictable numbers, and validation of RST, SYN and ACK.

use lowtide_schema::{Value, ValueKind};
use lowtide_units::Duration;

use super::field::{Names, name_of, names, set_count, set_duration, set_name, span};
use super::{Side, Switch};
use crate::defence::{AckAccept, AckThrottle, RstAccept, SynAnswer, TimeWaitReset};
use crate::settings::config::{IsnRule, SynCookies, TimestampOffset};

const ISN: Names<IsnRule> = &[("rfc6528", IsnRule::Rfc6528), ("random", IsnRule::Random)];
const TIMESTAMP_OFFSET: Names<TimestampOffset> = &[
    ("per-connection", TimestampOffset::PerConnection),
    ("per-host-pair", TimestampOffset::PerHostPair),
    ("random", TimestampOffset::Random),
    ("zero", TimestampOffset::Zero),
];
const SYN_COOKIES: Names<SynCookies> =
    &[("off", SynCookies::Off), ("when-full", SynCookies::WhenFull)];
const RST_ACCEPT: Names<RstAccept> =
    &[("exact", RstAccept::Exact), ("in-window", RstAccept::InWindow)];
const SYN_ANSWER: Names<SynAnswer> =
    &[("challenge-ack", SynAnswer::ChallengeAck), ("reset", SynAnswer::Reset)];
const ACK_ACCEPT: Names<AckAccept> = &[
    ("max-window", AckAccept::MaxWindow),
    ("sent-window", AckAccept::SentWindow),
    ("any", AckAccept::Any),
];
const ACK_THROTTLE: Names<AckThrottle> =
    &[("challenges", AckThrottle::Challenges), ("empty", AckThrottle::Empty)];
const TIME_WAIT_RESET: Names<TimeWaitReset> =
    &[("ignore", TimeWaitReset::Ignore), ("end", TimeWaitReset::End)];

/// No limit on challenge ACKs.
const NO_LIMIT: &str = "none";

pub(super) const DEFENCE: [Switch; 11] = [
    Switch {
        name: "isn",
        side: Side::Connection,
        kind: ValueKind::Name { allowed: || names(ISN), refused: &[] },
        doc: "Choice of the initial sequence number: clock and keyed hash, or random.",
        source: "RFC 6528 §3, RFC 9293 §3.4.1",
        get: |c| name_of(ISN, c.isn),
        set: |c, v| set_name(&mut c.isn, ISN, v),
    },
    Switch {
        name: "isn-tick",
        side: Side::Connection,
        kind: span(Duration::from_ns(1), Duration::from_secs(1)),
        doc: "The tick of the clock in the initial sequence number.",
        source: "RFC 6528 §3: 4 us; Linux has 64 ns",
        get: |c| Value::Duration(c.isn_tick),
        set: |c, v| set_duration(&mut c.isn_tick, v),
    },
    Switch {
        name: "timestamp-offset",
        side: Side::Connection,
        kind: ValueKind::Name { allowed: || names(TIMESTAMP_OFFSET), refused: &[] },
        doc: "Start of the TSval clock: a keyed hash of the connection or of the two hosts, \
              random, or zero.",
        source: "RFC 7323 §5.4",
        get: |c| name_of(TIMESTAMP_OFFSET, c.timestamp_offset),
        set: |c, v| set_name(&mut c.timestamp_offset, TIMESTAMP_OFFSET, v),
    },
    Switch {
        name: "syn-cookies",
        side: Side::Connection,
        kind: ValueKind::Name { allowed: || names(SYN_COOKIES), refused: &[] },
        doc: "Answer SYNs without state when a listener's backlog is full; on in `lowtide live`.",
        source: "RFC 4987 §3.6; Linux net.ipv4.tcp_syncookies",
        get: |c| name_of(SYN_COOKIES, c.syn_cookies),
        set: |c, v| set_name(&mut c.syn_cookies, SYN_COOKIES, v),
    },
    Switch {
        name: "rst-accept",
        side: Side::Connection,
        kind: ValueKind::Name { allowed: || names(RST_ACCEPT), refused: &[] },
        doc: "The RSTs that end the connection: exactly at RCV.NXT, or any in the window.",
        source: "RFC 5961 §3.2, RFC 9293 §3.10.7.4",
        get: |c| name_of(RST_ACCEPT, c.rst_accept),
        set: |c, v| set_name(&mut c.rst_accept, RST_ACCEPT, v),
    },
    Switch {
        name: "syn-answer",
        side: Side::Connection,
        kind: ValueKind::Name { allowed: || names(SYN_ANSWER), refused: &[] },
        doc: "The reply to a SYN in a synchronised state: a challenge ACK, or a RST if it is in \
              the window.",
        source: "RFC 5961 §4.2, RFC 9293 §3.10.7.4",
        get: |c| name_of(SYN_ANSWER, c.syn_answer),
        set: |c, v| set_name(&mut c.syn_answer, SYN_ANSWER, v),
    },
    Switch {
        name: "ack-accept",
        side: Side::Connection,
        kind: ValueKind::Name { allowed: || names(ACK_ACCEPT), refused: &[] },
        doc: "The maximum age of an acknowledgement number: the largest window offered, the same \
              but only sent data, or any.",
        source: "RFC 5961 §5.2",
        get: |c| name_of(ACK_ACCEPT, c.ack_accept),
        set: |c, v| set_name(&mut c.ack_accept, ACK_ACCEPT, v),
    },
    Switch {
        name: "challenge-ack-limit",
        side: Side::Connection,
        kind: ValueKind::NameOrCount { allowed: || alloc::vec![NO_LIMIT], min: 0, max: 1_000_000 },
        doc: "The maximum number of challenge ACKs of one connection per interval; with `none` an \
              ACK storm (see `ack-throttle`) does not end.",
        source: "RFC 5961 §7",
        get: |c| match c.challenge_ack_limit {
            u32::MAX => Value::Name(NO_LIMIT),
            n => Value::Count(u64::from(n)),
        },
        set: |c, v| {
            if v.name() == Some(NO_LIMIT) {
                c.challenge_ack_limit = u32::MAX;
                return Ok(());
            }
            set_count(&mut c.challenge_ack_limit, v)
        },
    },
    Switch {
        name: "challenge-ack-interval",
        side: Side::Connection,
        kind: span(Duration::ZERO, Duration::from_secs(3600)),
        doc: "The interval of the limit on challenge ACKs; it begins with the first of them.",
        source: "RFC 5961 §7",
        get: |c| Value::Duration(c.challenge_ack_interval),
        set: |c, v| set_duration(&mut c.challenge_ack_interval, v),
    },
    Switch {
        name: "ack-throttle",
        side: Side::Connection,
        kind: ValueKind::Name { allowed: || names(ACK_THROTTLE), refused: &[] },
        doc: "The ACKs that the limit counts: challenges, or also replies to unacceptable empty \
              segments. With `challenges` two forged segments make both ends answer each other's \
              ACKs without end; on real packets it is always `empty`.",
        source: "RFC 5961 §7, Linux tcp_oow_rate_limited",
        get: |c| name_of(ACK_THROTTLE, c.ack_throttle),
        set: |c, v| set_name(&mut c.ack_throttle, ACK_THROTTLE, v),
    },
    Switch {
        name: "time-wait-reset",
        side: Side::Connection,
        kind: ValueKind::Name { allowed: || names(TIME_WAIT_RESET), refused: &[] },
        doc: "The effect of a RST in TIME-WAIT: none, or it ends the wait.",
        source: "RFC 1337 §3, RFC 9293 §3.10.7.4",
        get: |c| name_of(TIME_WAIT_RESET, c.time_wait_reset),
        set: |c, v| set_name(&mut c.time_wait_reset, TIME_WAIT_RESET, v),
    },
];
