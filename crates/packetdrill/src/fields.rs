//! Fields of a connection that an assertion can read.
//!
//! Two families: lowtide's names, in segments, bytes and times with units, and the `tcpi_` names of
//! Linux's `tcp_info`, in its units. [`FIELDS`] documents both.

use std::cmp::Ordering;

use lowtide_tcp::{DelayMode, EcnMode, LimitedBy, State};
use lowtide_units::Duration;

use crate::view::ConnView;

/// Type of a field's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldKind {
    /// A number.
    Number,
    /// A duration with a unit.
    Time,
    /// One of a list of names.
    Name,
}

/// A value read from a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldValue {
    /// A fraction: numerator and positive denominator.
    Number(i128, i128),
    /// A duration.
    Time(Duration),
    /// A name.
    Name(&'static str),
    /// Greater than every number: a threshold that was never set.
    Infinite,
    /// The connection has no such value (no alpha, no RTT sample yet).
    Absent,
}

/// One field that assertions can read.
#[derive(Debug)]
pub struct Field {
    /// Name in a script.
    pub name: &'static str,
    /// Type of its values.
    pub kind: FieldKind,
    /// One sentence with the unit, for the documentation.
    pub doc: &'static str,
    read: fn(&ConnView) -> FieldValue,
}

impl Field {
    /// Reads the field from `view`.
    pub fn read(&self, view: &ConnView) -> FieldValue {
        (self.read)(view)
    }
}

const fn n(value: u64) -> FieldValue {
    FieldValue::Number(value as i128, 1)
}

/// Whole segments in `bytes`, rounded down.
fn segments(view: &ConnView, bytes: u64) -> FieldValue {
    n(bytes / u64::from(view.info.mss.max(1)))
}

fn time(value: Option<Duration>) -> FieldValue {
    value.map_or(FieldValue::Absent, FieldValue::Time)
}

fn us(value: Option<Duration>) -> FieldValue {
    value.map_or(FieldValue::Absent, |d| n(d.as_us()))
}

const fn flag(on: bool) -> FieldValue {
    FieldValue::Name(if on { "true" } else { "false" })
}

/// All states, with Linux's numbers.
const STATES: [(State, &str, u64); 10] = [
    (State::Established, "ESTABLISHED", 1),
    (State::SynSent, "SYN_SENT", 2),
    (State::SynReceived, "SYN_RECEIVED", 3),
    (State::FinWait1, "FIN_WAIT_1", 4),
    (State::FinWait2, "FIN_WAIT_2", 5),
    (State::TimeWait, "TIME_WAIT", 6),
    (State::Closed, "CLOSED", 7),
    (State::CloseWait, "CLOSE_WAIT", 8),
    (State::LastAck, "LAST_ACK", 9),
    (State::Closing, "CLOSING", 11),
];

/// Name of the state that Linux numbers so; `CLOSED` for none.
pub fn state_name(number: u64) -> &'static str {
    STATES.iter().find(|(.., n)| *n == number).map_or("CLOSED", |(_, name, _)| name)
}

fn state(view: &ConnView) -> (&'static str, u64) {
    let found = STATES.iter().find(|(s, ..)| *s == view.info.state);
    found.map_or(("CLOSED", 7), |(_, name, number)| (name, *number))
}

const LIMITS: [(LimitedBy, &str); 5] = [
    (LimitedBy::Application, "application"),
    (LimitedBy::Cwnd, "cwnd"),
    (LimitedBy::ReceiveWindow, "receive_window"),
    (LimitedBy::SendBuffer, "send_buffer"),
    (LimitedBy::HostQueue, "host_queue"),
];

const MODES: [EcnMode; 3] = [EcnMode::Off, EcnMode::Classic, EcnMode::AccEcn];

const fn field(
    name: &'static str,
    kind: FieldKind,
    doc: &'static str,
    read: fn(&ConnView) -> FieldValue,
) -> Field {
    Field { name, kind, doc, read }
}

/// All fields.
pub static FIELDS: &[Field] = &[
    field("state", FieldKind::Name, "state of RFC 9293 (ESTABLISHED, FIN_WAIT_1 ...)", |v| {
        FieldValue::Name(state(v).0)
    }),
    field("cwnd", FieldKind::Number, "congestion window, whole segments", |v| {
        segments(v, v.info.snd_cwnd)
    }),
    field("cwnd_bytes", FieldKind::Number, "congestion window, bytes", |v| n(v.info.snd_cwnd)),
    field(
        "ssthresh",
        FieldKind::Number,
        "slow-start threshold, whole segments, or `infinite`",
        |v| v.info.snd_ssthresh.map_or(FieldValue::Infinite, |s| segments(v, s)),
    ),
    field("ssthresh_bytes", FieldKind::Number, "slow-start threshold, bytes, or `infinite`", |v| {
        v.info.snd_ssthresh.map_or(FieldValue::Infinite, n)
    }),
    field("alpha", FieldKind::Number, "DCTCP's alpha, 0 to 1 (`0.5`, `64/1024`)", |v| {
        v.alpha_q20.map_or(FieldValue::Absent, |a| FieldValue::Number(i128::from(a), 1 << 20))
    }),
    field("pipe", FieldKind::Number, "in the network (RFC 6675), segments rounded up", |v| {
        n(v.info.in_flight.div_ceil(u64::from(v.info.mss.max(1))))
    }),
    field("pipe_bytes", FieldKind::Number, "in the network (RFC 6675), bytes", |v| {
        n(v.info.in_flight)
    }),
    field("unacked", FieldKind::Number, "segments sent and not fully acknowledged", |v| {
        n(v.unacknowledged)
    }),
    field("mss", FieldKind::Number, "payload of a full segment, bytes", |v| {
        n(u64::from(v.info.mss))
    }),
    field("snd_wnd", FieldKind::Number, "the peer's window, bytes, scaled", |v| n(v.info.snd_wnd)),
    field("srtt", FieldKind::Time, "smoothed round-trip time", |v| time(v.info.srtt)),
    field("rttvar", FieldKind::Time, "mean deviation of the round-trip time", |v| {
        time(Some(v.info.rttvar))
    }),
    field("min_rtt", FieldKind::Time, "least round-trip time", |v| time(v.info.min_rtt)),
    field("rto", FieldKind::Time, "retransmission timeout, backoff included", |v| {
        time(Some(v.info.rto))
    }),
    field("unread", FieldKind::Number, "bytes that the application could read", |v| n(v.unread)),
    field("bytes_acked", FieldKind::Number, "payload bytes acknowledged", |v| {
        n(v.info.bytes_acked)
    }),
    field("bytes_received", FieldKind::Number, "payload bytes received in order", |v| {
        n(v.info.bytes_received)
    }),
    field("received_ce_bytes", FieldKind::Number, "payload bytes received with CE", |v| {
        n(v.info.received_ce_bytes)
    }),
    field("retransmitted", FieldKind::Number, "segments sent again", |v| n(v.retransmitted)),
    field("timeouts", FieldKind::Number, "retransmission timeouts so far", |v| {
        n(v.info.counters.rto_count)
    }),
    field("fast_retransmits", FieldKind::Number, "fast recoveries so far", |v| {
        n(v.info.counters.fast_retransmits)
    }),
    field("ecn_reductions", FieldKind::Number, "reductions because of ECN so far", |v| {
        n(v.info.counters.ecn_reductions)
    }),
    field("delack_timeouts", FieldKind::Number, "ACKs sent by the delayed-ACK timer", |v| {
        n(u64::from(v.info.delack_timeouts))
    }),
    field("pacing_rate", FieldKind::Number, "pacing rate, bit/s", |v| {
        v.info.pacing_rate.map_or(FieldValue::Absent, |r| n(r.as_bps()))
    }),
    field(
        "delay_reductions",
        FieldKind::Number,
        "reductions because of queueing delay so far",
        |v| n(v.info.counters.delay_reductions),
    ),
    field(
        "queueing_delay",
        FieldKind::Time,
        "one-way queueing delay reported by the last ACK",
        |v| time(v.info.queueing_delay),
    ),
    field("cc", FieldKind::Name, "the active congestion control", |v| FieldValue::Name(v.info.cc)),
    field(
        "delivered_ce_bytes",
        FieldKind::Number,
        "payload bytes that the decoder counted as CE",
        |v| n(v.info.counters.delivered_ce_bytes),
    ),
    field("rejected", FieldKind::Number, "segments that were rejected", |v| {
        n(v.info.counters.rejected)
    }),
    field("recovery", FieldKind::Name, "in loss recovery: true or false", |v| {
        flag(v.info.in_recovery)
    }),
    field("ecn", FieldKind::Name, "ECN was negotiated: true or false", |v| {
        flag(v.info.ecn != EcnMode::Off)
    }),
    field("ecn_mode", FieldKind::Name, "the negotiated ECN mode: off, rfc3168 or accecn", |v| {
        FieldValue::Name(v.info.ecn.name())
    }),
    field("ect", FieldKind::Name, "data is sent with ECT: true or false", |v| flag(v.info.ect)),
    field("delivered_ce_segs", FieldKind::Number, "segments that the decoder counted as CE", |v| {
        n(v.info.counters.delivered_ce_segs)
    }),
    field(
        "received_ce_pkts",
        FieldKind::Number,
        "packets received with CE, with or without payload; 0 without AccECN",
        |v| n(v.info.received_ce_pkts),
    ),
    field("tcpi_delivered_ce", FieldKind::Number, "packets that ACKs reported with CE", |v| {
        n(v.info.counters.delivered_ce_segs + v.info.marked_syn_acks)
    }),
    field(
        "tcpi_delivered_e1_bytes",
        FieldKind::Number,
        "payload bytes reported with ECT(1)",
        |v| n(u64::from(v.info.delivered_ecn_bytes[0])),
    ),
    field("tcpi_delivered_ce_bytes", FieldKind::Number, "payload bytes reported with CE", |v| {
        n(u64::from(v.info.delivered_ecn_bytes[1]))
    }),
    field(
        "tcpi_delivered_e0_bytes",
        FieldKind::Number,
        "payload bytes reported with ECT(0)",
        |v| n(u64::from(v.info.delivered_ecn_bytes[2])),
    ),
    field("tcpi_received_e1_bytes", FieldKind::Number, "payload bytes received with ECT(1)", |v| {
        n(u64::from(v.info.received_ecn_bytes[0]))
    }),
    field("tcpi_received_ce_bytes", FieldKind::Number, "payload bytes received with CE", |v| {
        n(u64::from(v.info.received_ecn_bytes[1]))
    }),
    field("tcpi_received_e0_bytes", FieldKind::Number, "payload bytes received with ECT(0)", |v| {
        n(u64::from(v.info.received_ecn_bytes[2]))
    }),
    field("tcpi_received_ce", FieldKind::Number, "packets received with CE", |v| {
        n(v.info.received_ce_pkts)
    }),
    field("delay_option", FieldKind::Name, "the delay option was negotiated: true or false", |v| {
        flag(v.info.delay == DelayMode::On)
    }),
    field(
        "limited_by",
        FieldKind::Name,
        "what stopped the sender: application, cwnd, receive_window, send_buffer, host_queue",
        |v| {
            let found = LIMITS.iter().find(|(l, _)| *l == v.info.limited_by);
            found.map_or(FieldValue::Absent, |(_, name)| FieldValue::Name(name))
        },
    ),
    field("tcpi_state", FieldKind::Number, "state, as Linux numbers them (TCP_ESTABLISHED)", |v| {
        n(state(v).1)
    }),
    field("tcpi_snd_cwnd", FieldKind::Number, "congestion window, whole segments", |v| {
        segments(v, v.info.snd_cwnd)
    }),
    field(
        "tcpi_snd_ssthresh",
        FieldKind::Number,
        "slow-start threshold, segments; 2147483647 if none",
        |v| v.info.snd_ssthresh.map_or(n(0x7fff_ffff), |s| segments(v, s)),
    ),
    field("tcpi_unacked", FieldKind::Number, "segments sent and not fully acknowledged", |v| {
        n(v.unacknowledged)
    }),
    field("tcpi_rtt", FieldKind::Number, "smoothed round-trip time, us", |v| us(v.info.srtt)),
    field("tcpi_rttvar", FieldKind::Number, "mean deviation, us", |v| us(Some(v.info.rttvar))),
    field("tcpi_min_rtt", FieldKind::Number, "least round-trip time, us", |v| us(v.info.min_rtt)),
    field("tcpi_rto", FieldKind::Number, "retransmission timeout, us", |v| us(Some(v.info.rto))),
    field("tcpi_snd_mss", FieldKind::Number, "payload of a full segment, bytes", |v| {
        n(u64::from(v.info.mss))
    }),
    field("tcpi_total_retrans", FieldKind::Number, "segments sent again", |v| n(v.retransmitted)),
    field("tcpi_bytes_retrans", FieldKind::Number, "payload bytes sent again", |v| {
        n(v.info.counters.bytes_retrans)
    }),
    field("tcpi_data_segs_out", FieldKind::Number, "data segments sent", |v| {
        n(v.info.counters.data_segs_out)
    }),
    field("tcpi_bytes_received", FieldKind::Number, "payload bytes received in order", |v| {
        n(v.info.bytes_received)
    }),
    field("tcpi_snd_wnd", FieldKind::Number, "the peer's window, bytes, scaled", |v| {
        n(v.info.snd_wnd)
    }),
];

/// Fields that a Linux kernel does not report.
pub const LINUX_LACKS: [&str; 21] = [
    "delack_timeouts",
    "delay_option",
    "delay_reductions",
    "delivered_ce_bytes",
    "ecn_mode",
    "ecn_reductions",
    "ect",
    "fast_retransmits",
    "limited_by",
    "pacing_rate",
    "queueing_delay",
    "received_ce_bytes",
    "received_ce_pkts",
    "rejected",
    "tcpi_delivered_ce_bytes",
    "tcpi_delivered_e0_bytes",
    "tcpi_delivered_e1_bytes",
    "tcpi_received_ce",
    "tcpi_received_ce_bytes",
    "tcpi_received_e0_bytes",
    "tcpi_received_e1_bytes",
];

/// `tcp_info` fields that this stack does not provide, with the reason.
const UNSUPPORTED_TCP_INFO: &[(&str, &str)] = &[
    ("tcpi_ca_state", "this stack has no Disorder and CWR states; assert `recovery == true`"),
    ("tcpi_sacked", "assert `pipe`, which excludes SACKed segments"),
    ("tcpi_lost", "assert `pipe`, which excludes lost segments"),
    ("tcpi_retrans", "assert `pipe` or `tcpi_total_retrans`"),
    ("tcpi_reordering", "this stack keeps no reordering degree"),
    ("tcpi_bytes_acked", "Linux counts the SYN too; assert `bytes_acked`, which does not"),
    ("tcpi_retransmits", "assert `timeouts`, which counts all of the connection"),
    ("tcpi_options", "assert `ecn`, or look at the options of the packets"),
    ("tcpi_pacing_rate", "Linux counts bytes per second; assert `pacing_rate`, in bit/s"),
];

/// Finds a field by name.
pub fn find(name: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|f| f.name == name)
}

/// Why a `tcp_info` field is missing, and which field to assert instead.
pub(crate) fn unsupported_reason(name: &str) -> Option<&'static str> {
    UNSUPPORTED_TCP_INFO.iter().find(|(n, _)| *n == name).map(|(_, why)| *why)
}

/// Names of one family, for messages.
pub(crate) fn names(tcp_info: bool) -> String {
    let names: Vec<&str> =
        FIELDS.iter().map(|f| f.name).filter(|n| n.starts_with("tcpi_") == tcp_info).collect();
    names.join(", ")
}

/// Describes the values that can follow the operator.
pub(crate) fn expects(field: &Field) -> String {
    match field.kind {
        FieldKind::Time => format!("`{}` takes a time with a unit: 200ms, 1s, 300us", field.name),
        FieldKind::Number => format!("`{}` takes a number: {}", field.name, field.doc),
        FieldKind::Name => format!("`{}` takes a name: {}", field.name, field.doc),
    }
}

/// Right side of a comparison.
#[derive(Clone, Debug)]
pub enum Operand {
    /// Another field.
    Field(&'static Field),
    /// A fraction; a whole number has denominator one.
    Number(i128, i128),
    /// A duration.
    Time(Duration),
    /// A name: a state, `infinite`, `true`.
    Word(&'static str),
}

/// Value of `field` that a word denotes.
pub(crate) fn word(field: &Field, word: &str) -> Option<Operand> {
    let plain = word.strip_prefix("TCP_").unwrap_or(word).replace('_', "");
    let state = || {
        let plain = if plain == "SYNRECV" { "SYNRECEIVED" } else { &plain };
        STATES.iter().find(|(_, name, _)| name.replace('_', "") == plain)
    };
    match (field.kind, field.name) {
        (_, "state") if word == "LISTEN" => Some(Operand::Word("LISTEN")),
        (_, "state") => state().map(|(_, name, _)| Operand::Word(name)),
        (_, "tcpi_state") => state().map(|(.., number)| Operand::Number(i128::from(*number), 1)),
        (_, "limited_by") => {
            LIMITS.iter().find(|(_, name)| *name == word).map(|(_, name)| Operand::Word(name))
        }
        (_, "ecn_mode") => {
            MODES.iter().map(|m| m.name()).find(|name| *name == word).map(Operand::Word)
        }
        (_, "cc") => lowtide_tcp::cc::REGISTRY.find(word).map(|entry| Operand::Word(entry.name)),
        (FieldKind::Name, _) if word == "true" => Some(Operand::Word("true")),
        (FieldKind::Name, _) if word == "false" => Some(Operand::Word("false")),
        (_, "ssthresh" | "ssthresh_bytes") if word == "infinite" => Some(Operand::Word("infinite")),
        _ => None,
    }
}

/// Compares two values of one kind; `None` if one is absent.
pub(crate) fn compare(left: FieldValue, right: FieldValue) -> Option<Ordering> {
    Some(match (left, right) {
        (FieldValue::Absent, _) | (_, FieldValue::Absent) => return None,
        (FieldValue::Infinite, FieldValue::Infinite) => Ordering::Equal,
        (FieldValue::Infinite, _) => Ordering::Greater,
        (_, FieldValue::Infinite) => Ordering::Less,
        (FieldValue::Number(a, b), FieldValue::Number(c, d)) => {
            (a.checked_mul(d)?).cmp(&c.checked_mul(b)?)
        }
        (FieldValue::Time(a), FieldValue::Time(b)) => a.cmp(&b),
        (FieldValue::Name(a), FieldValue::Name(b)) => a.cmp(b),
        _ => return None,
    })
}

impl std::fmt::Display for FieldValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(top, 1) => write!(f, "{top}"),
            Self::Number(top, bottom) => {
                let share = *top as f64 / *bottom as f64;
                write!(f, "{share:.6} ({top}/{bottom})")
            }
            Self::Time(time) => write!(f, "{time}"),
            Self::Name(name) => f.write_str(name),
            Self::Infinite => f.write_str("infinite"),
            Self::Absent => f.write_str("not there"),
        }
    }
}
