//! Switches of the end that sends the data.

use lowtide_schema::{Value, ValueKind};
use lowtide_units::Duration;

use super::field::{
    Names, name_of, names, number, set_bool, set_bytes, set_count, set_duration, set_name,
    set_registered, span,
};
use super::{Side, Switch};
use crate::settings::config::{
    CutRoundEnd, CutRule, CwrRule, EctClass, FreezeGrowth, HandshakeRtt, InitialWindow, PacingRule,
    RecoveryRule, Reduction, RtoMinApplies, UndoRule,
};
use crate::{cc, feedback};

const ECT: Names<EctClass> =
    &[("data", EctClass::Data), ("all", EctClass::All), ("all-but-syn", EctClass::AllButSyn)];
const CWR: Names<CwrRule> =
    &[("never", CwrRule::Never), ("after-reduction", CwrRule::AfterReduction)];
const CUT: Names<CutRule> =
    &[("per-window", CutRule::PerWindow), ("per-marked-ack", CutRule::PerMarkedAck)];
const RECUT: Names<CutRoundEnd> =
    &[("at-point", CutRoundEnd::AtPoint), ("past-point", CutRoundEnd::PastPoint)];
const HANDSHAKE_RTT: Names<HandshakeRtt> =
    &[("karn", HandshakeRtt::Karn), ("timestamps", HandshakeRtt::Timestamps)];
const FREEZE: Names<FreezeGrowth> = &[
    ("off", FreezeGrowth::Off),
    ("ece-acks", FreezeGrowth::EceAcks),
    ("round", FreezeGrowth::Round),
];
const RECOVERY: Names<RecoveryRule> = &[
    ("sack", RecoveryRule::Sack),
    ("rack", RecoveryRule::Rack),
    ("newreno", RecoveryRule::NewReno),
];
const REDUCTION: Names<Reduction> = &[("one-step", Reduction::OneStep), ("prr", Reduction::Prr)];
const ON_OFF: Names<bool> = &[("off", false), ("on", true)];
const PACING: Names<PacingRule> =
    &[("off", PacingRule::Off), ("control", PacingRule::Control), ("window", PacingRule::Window)];
const UNDO: Names<UndoRule> = &[("off", UndoRule::Off), ("eifel", UndoRule::Eifel)];
const INITIAL_WINDOW: Names<InitialWindow> =
    &[("rfc6928", InitialWindow::Rfc6928), ("rfc3390", InitialWindow::Rfc3390)];
const RTO_MIN_APPLIES: Names<RtoMinApplies> =
    &[("timeout", RtoMinApplies::Timeout), ("variance", RtoMinApplies::Variance)];

/// The value without a limit: every acknowledged byte counts.
const NO_LIMIT: &str = "none";

pub(super) const SENDER: [Switch; 34] = [
    Switch {
        name: "cc",
        side: Side::Sender,
        kind: ValueKind::Name { allowed: || cc::REGISTRY.names(), refused: &[] },
        doc: "Congestion control: how much may be in flight.",
        source: "RFC 5681",
        get: |c| Value::Name(c.cc),
        set: |c, v| set_registered(&mut c.cc, v),
    },
    Switch {
        name: "feedback",
        side: Side::Sender,
        kind: ValueKind::Name { allowed: || feedback::REGISTRY.names(), refused: &[] },
        doc: "Feedback decoder: the sender's interpretation of the echoed ECN bits.",
        source: "RFC 3168 §6.1.2, RFC 8257 §3.3",
        get: |c| Value::Name(c.feedback),
        set: |c, v| set_registered(&mut c.feedback, v),
    },
    Switch {
        name: "ect",
        side: Side::Sender,
        kind: ValueKind::Name { allowed: || names(ECT), refused: &[] },
        doc: "The packets of an ECN connection that carry ECT(0).",
        source: "RFC 3168 §6.1.4 to §6.1.6, RFC 8257 §3.6",
        get: |c| name_of(ECT, c.ect),
        set: |c, v| set_name(&mut c.ect, ECT, v),
    },
    Switch {
        name: "cwr",
        side: Side::Sender,
        kind: ValueKind::Name { allowed: || names(CWR), refused: &[] },
        doc: "The packets on which CWR is set.",
        source: "RFC 3168 §6.1.2",
        get: |c| name_of(CWR, c.cwr),
        set: |c, v| set_name(&mut c.cwr, CWR, v),
    },
    Switch {
        name: "cut",
        side: Side::Sender,
        kind: ValueKind::Name { allowed: || names(CUT), refused: &[] },
        doc: "The maximum rate of ECN window reductions.",
        source: "RFC 3168 §6.1.2, RFC 8257 §3.3",
        get: |c| name_of(CUT, c.cut),
        set: |c, v| set_name(&mut c.cut, CUT, v),
    },
    Switch {
        name: "recut",
        side: Side::Sender,
        kind: ValueKind::Name { allowed: || names(RECUT), refused: &[] },
        doc: "The next ECN reduction needs SND.UNA at the SND.NXT of the last one, or past it.",
        source: "RFC 3168 §6.1.2 leaves it open",
        get: |c| name_of(RECUT, c.recut),
        set: |c, v| set_name(&mut c.recut, RECUT, v),
    },
    Switch {
        name: "freeze-growth",
        side: Side::Sender,
        kind: ValueKind::Name { allowed: || names(FREEZE), refused: &[] },
        doc: "The ACKs on which the window does not grow because of an ECN reaction.",
        source: "RFC 3168 §6.1.2, RFC 8257 §3.4",
        get: |c| name_of(FREEZE, c.freeze_growth),
        set: |c, v| set_name(&mut c.freeze_growth, FREEZE, v),
    },
    Switch {
        name: "window-floor",
        side: Side::Sender,
        kind: number(1, 2),
        doc: "The minimum window after an ECN or loss reaction, in segments.",
        source: "RFC 5681 §3.1 eq. 4 (2), RFC 3168 §6.1.2 (1)",
        get: |c| Value::Count(u64::from(c.window_floor)),
        set: |c, v| set_count(&mut c.window_floor, v),
    },
    Switch {
        name: "ssthresh-floor",
        side: Side::Sender,
        kind: number(1, 2),
        doc: "The minimum ssthresh after such a reaction, in segments; with 1 `window-floor` \
              decides.",
        source: "RFC 5681 §3.1 eq. 4 and ns-2's slowdown (2); RFC 3168 §6.1.2 (1)",
        get: |c| Value::Count(u64::from(c.ssthresh_floor)),
        set: |c, v| set_count(&mut c.ssthresh_floor, v),
    },
    Switch {
        name: "initial-window",
        side: Side::Sender,
        kind: ValueKind::NameOrCount { allowed: || names(INITIAL_WINDOW), min: 1, max: 1000 },
        doc: "The initial window and the limit after idle: by RFC, or in segments.",
        source: "RFC 6928 §2, RFC 3390 §1",
        get: |c| match c.initial_window {
            InitialWindow::Segments(n) => Value::Count(u64::from(n)),
            named => name_of(INITIAL_WINDOW, named),
        },
        set: |c, v| match v {
            Value::Count(_) => {
                let mut segments = 0;
                set_count(&mut segments, v)?;
                c.initial_window = InitialWindow::Segments(segments);
                Ok(())
            }
            _ => set_name(&mut c.initial_window, INITIAL_WINDOW, v),
        },
    },
    Switch {
        name: "abc-limit",
        side: Side::Sender,
        kind: ValueKind::NameOrCount { allowed: || alloc::vec![NO_LIMIT], min: 1, max: 65_535 },
        doc: "Bytes per ACK that count in slow start, in segments (L); none counts them all.",
        source: "RFC 3465 §2.2",
        get: |c| match c.abc_limit {
            u32::MAX => Value::Name(NO_LIMIT),
            n => Value::Count(u64::from(n)),
        },
        set: |c, v| match v {
            Value::Name(_) => set_name(&mut c.abc_limit, &[(NO_LIMIT, u32::MAX)], v),
            _ => set_count(&mut c.abc_limit, v),
        },
    },
    Switch {
        name: "idle-restart",
        side: Side::Sender,
        kind: ValueKind::Bool,
        doc: "Restart from the initial window when nothing was sent for one RTO.",
        source: "RFC 5681 §4.1",
        get: |c| Value::Bool(c.idle_restart),
        set: |c, v| set_bool(&mut c.idle_restart, v),
    },
    Switch {
        name: "recovery",
        side: Side::Sender,
        kind: ValueKind::Name { allowed: || names(RECOVERY), refused: &[] },
        doc: "Loss detection: by SACK, by time (rack), or by duplicate ACKs (newreno; always \
              without SACK).",
        source: "RFC 6675, RFC 8985, RFC 6582",
        get: |c| name_of(RECOVERY, c.recovery),
        set: |c, v| set_name(&mut c.recovery, RECOVERY, v),
    },
    Switch {
        name: "reduction",
        side: Side::Sender,
        kind: ValueKind::Name { allowed: || names(REDUCTION), refused: &[] },
        doc: "Window reduction after a loss or ECN: at once or over a round trip.",
        source: "RFC 5681 §3.2, RFC 3168 §6.1.2, RFC 9937",
        get: |c| name_of(REDUCTION, c.reduction),
        set: |c, v| set_name(&mut c.reduction, REDUCTION, v),
    },
    Switch {
        name: "tail-loss-probe",
        side: Side::Sender,
        kind: ValueKind::Name { allowed: || names(ON_OFF), refused: &[] },
        doc: "Send a probe when the tail of a flight stays unacknowledged; needs SACK.",
        source: "RFC 8985 §7",
        get: |c| name_of(ON_OFF, c.tail_loss_probe),
        set: |c, v| set_name(&mut c.tail_loss_probe, ON_OFF, v),
    },
    Switch {
        name: "max-ack-delay",
        side: Side::Sender,
        kind: span(Duration::ZERO, Duration::from_secs(10)),
        doc: "The peer's maximum delay of the ACK of a single segment, as assumed by tail loss \
              probes.",
        source: "RFC 8985 §7.2",
        get: |c| Value::Duration(c.max_ack_delay),
        set: |c, v| set_duration(&mut c.max_ack_delay, v),
    },
    Switch {
        name: "loss-timer-slack",
        side: Side::Sender,
        kind: span(Duration::ZERO, Duration::from_secs(10)),
        doc: "Added to the timers of tail loss probes and reordering, for coarse clocks; not to a \
              probe timer that includes max-ack-delay.",
        source: "Linux TCP_TIMEOUT_MIN_US",
        get: |c| Value::Duration(c.loss_timer_slack),
        set: |c, v| set_duration(&mut c.loss_timer_slack, v),
    },
    Switch {
        name: "loss-timer-granularity",
        side: Side::Sender,
        kind: span(Duration::ZERO, Duration::from_secs(1)),
        doc: "The timers of tail loss probes and reordering are rounded up to multiples of this; 0 \
              for no rounding.",
        source: "Linux usecs_to_jiffies",
        get: |c| Value::Duration(c.loss_timer_granularity),
        set: |c, v| set_duration(&mut c.loss_timer_granularity, v),
    },
    Switch {
        name: "handshake-rtt",
        side: Side::Sender,
        kind: ValueKind::Name { allowed: || names(HANDSHAKE_RTT), refused: &[] },
        doc: "The RTT sample of a retransmitted handshake: none, so data starts with an RTO of 3 \
              s, or from its timestamps.",
        source: "RFC 6298 §5.7",
        get: |c| name_of(HANDSHAKE_RTT, c.handshake_rtt),
        set: |c, v| set_name(&mut c.handshake_rtt, HANDSHAKE_RTT, v),
    },
    Switch {
        name: "undo",
        side: Side::Sender,
        kind: ValueKind::Name {
            allowed: || names(UNDO),
            refused: &[
                (
                    "dsack",
                    "detection by DSACK (RFC 3708) is not implemented; use eifel, which \
                           needs timestamps",
                ),
                ("f-rto", "detection without options (RFC 5682) is not implemented; use eifel"),
            ],
        },
        doc: "Undo a loss reaction when timestamps show that nothing was lost.",
        source: "RFC 3522 §3.2, RFC 4015 §3",
        get: |c| name_of(UNDO, c.undo),
        set: |c, v| set_name(&mut c.undo, UNDO, v),
    },
    Switch {
        name: "limited-transmit",
        side: Side::Sender,
        kind: ValueKind::Bool,
        doc: "Send new data on the first two duplicate ACKs.",
        source: "RFC 3042",
        get: |c| Value::Bool(c.limited_transmit),
        set: |c, v| set_bool(&mut c.limited_transmit, v),
    },
    Switch {
        name: "nagle",
        side: Side::Sender,
        kind: ValueKind::Bool,
        doc: "Hold back small segments while data is outstanding.",
        source: "RFC 9293 §3.7.4",
        get: |c| Value::Bool(c.nagle),
        set: |c, v| set_bool(&mut c.nagle, v),
    },
    Switch {
        name: "pacing",
        side: Side::Sender,
        kind: ValueKind::Name { allowed: || names(PACING), refused: &[] },
        doc: "Pacing of data: none, at the rate that the congestion control sets (none without \
              one), or at 1.2 windows per round trip (2 in slow start).",
        source: "HULL (NSDI 2012) §4.3; Linux tcp_update_pacing_rate",
        get: |c| name_of(PACING, c.pacing),
        set: |c, v| set_name(&mut c.pacing, PACING, v),
    },
    Switch {
        name: "rto-initial",
        side: Side::Sender,
        kind: span(Duration::from_us(1), Duration::from_secs(120)),
        doc: "Retransmission timeout before the first round-trip sample.",
        source: "RFC 6298 §2.1",
        get: |c| Value::Duration(c.rto_initial),
        set: |c, v| set_duration(&mut c.rto_initial, v),
    },
    Switch {
        name: "rto-min",
        side: Side::Sender,
        kind: span(Duration::from_us(1), Duration::from_secs(120)),
        doc: "The minimum retransmission timeout.",
        source: "RFC 6298 §2.4",
        get: |c| Value::Duration(c.rto_min),
        set: |c, v| set_duration(&mut c.rto_min, v),
    },
    Switch {
        name: "rto-min-applies",
        side: Side::Sender,
        kind: ValueKind::Name { allowed: || names(RTO_MIN_APPLIES), refused: &[] },
        doc: "The minimum applies to the whole timeout or to its variance term.",
        source: "RFC 6298 §2.4; Linux tcp_rtt_estimator",
        get: |c| name_of(RTO_MIN_APPLIES, c.rto_min_applies),
        set: |c, v| set_name(&mut c.rto_min_applies, RTO_MIN_APPLIES, v),
    },
    Switch {
        name: "rto-max",
        side: Side::Sender,
        kind: span(Duration::from_ms(1), Duration::from_secs(3600)),
        doc: "The maximum retransmission timeout, backoff included.",
        source: "RFC 6298 §2.5: at least 60 s",
        get: |c| Value::Duration(c.rto_max),
        set: |c, v| set_duration(&mut c.rto_max, v),
    },
    Switch {
        name: "rto-granularity",
        side: Side::Sender,
        kind: span(Duration::from_ns(1), Duration::from_secs(1)),
        doc: "Clock granularity G; timeouts are whole multiples of it.",
        source: "RFC 6298 §4",
        get: |c| Value::Duration(c.rto_granularity),
        set: |c, v| set_duration(&mut c.rto_granularity, v),
    },
    Switch {
        name: "rtt-granularity",
        side: Side::Sender,
        kind: span(Duration::ZERO, Duration::from_secs(1)),
        doc: "The RTT is measured in whole ticks of this clock, at least one; zero measures \
              exactly.",
        source: "ODCTCP §6.2: FreeBSD has 1 ms",
        get: |c| Value::Duration(c.rtt_granularity),
        set: |c, v| set_duration(&mut c.rtt_granularity, v),
    },
    Switch {
        name: "syn-retries",
        side: Side::Sender,
        kind: number(0, 127),
        doc: "SYN and SYN-ACK retransmissions before giving up.",
        source: "RFC 9293 §3.8.3",
        get: |c| Value::Count(u64::from(c.syn_retries)),
        set: |c, v| set_count(&mut c.syn_retries, v),
    },
    Switch {
        name: "retries",
        side: Side::Sender,
        kind: number(1, 255),
        doc: "Retransmission timeouts in a row before the connection is given up (R2).",
        source: "RFC 9293 §3.8.3",
        get: |c| Value::Count(u64::from(c.retries)),
        set: |c, v| set_count(&mut c.retries, v),
    },
    Switch {
        name: "send-buffer",
        side: Side::Sender,
        kind: ValueKind::Bytes { min: 1, max: 1 << 40 },
        doc: "Send buffer in bytes: the maximum of unsent and unacknowledged data.",
        source: "RFC 9293 §3.9.1",
        get: |c| Value::Bytes(c.send_buffer),
        set: |c, v| set_bytes(&mut c.send_buffer, v),
    },
    Switch {
        name: "tso-segments",
        side: Side::Sender,
        kind: number(1, 64),
        doc: "Maximum segments passed to the NIC at once (segmentation offload); 1 is no offload.",
        source: "lowtide",
        get: |c| Value::Count(u64::from(c.tso_segments)),
        set: |c, v| set_count(&mut c.tso_segments, v),
    },
    Switch {
        name: "tso-defer",
        side: Side::Sender,
        kind: number(0, 64),
        doc: "With segmentation offload, less than one over this of the window waits for the next \
              ACK and a larger burst; 0 never waits.",
        source: "Linux net.ipv4.tcp_tso_win_divisor, 3 by default",
        get: |c| Value::Count(u64::from(c.tso_defer)),
        set: |c, v| set_count(&mut c.tso_defer, v),
    },
];
