//! Switches of the end that sends the data.

use alloc::vec::Vec;

use lowtide_schema::{Value, ValueError, ValueKind};
use lowtide_units::Duration;

use super::field::{
    Names, name_of, names, number, set_bool, set_bytes, set_count, set_duration, set_name,
    set_registered, span,
};
use super::{Side, Switch};
use crate::cc::GrowthCounts;
use crate::settings::config::{
    CutFrom, CutRoundEnd, CutRule, CwrRule, EctClass, FreezeGrowth, GrowthWhen, HandshakeRtt,
    InitialWindow, LossFrom, PacingRule, RecoveryRule, Reduction, RtoMinApplies, RttGains,
    RttTicks, UndoRule,
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
    ("first-ece", FreezeGrowth::FirstEce),
    ("ece-acks", FreezeGrowth::EceAcks),
    ("round", FreezeGrowth::Round),
];
const CUT_FROM: Names<CutFrom> = &[("cwnd", CutFrom::Cwnd), ("window", CutFrom::Window)];
const LOSS_FROM: Names<LossFrom> =
    &[("flight", LossFrom::Flight), ("cwnd", LossFrom::Cwnd), ("window", LossFrom::Window)];
const GROWTH_WHEN: Names<GrowthWhen> = &[
    ("cwnd-limited", GrowthWhen::CwndLimited),
    ("below-rwnd", GrowthWhen::BelowRwnd),
    ("always", GrowthWhen::Always),
];
const GROWTH_COUNTS: Names<GrowthCounts> = &[
    ("bytes", GrowthCounts::Bytes),
    ("limited-bytes", GrowthCounts::LimitedBytes),
    ("acks", GrowthCounts::Acks),
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
const UNDO: Names<UndoRule> =
    &[("off", UndoRule::Off), ("eifel", UndoRule::Eifel), ("f-rto", UndoRule::FRto)];
const INITIAL_WINDOW: Names<InitialWindow> =
    &[("rfc6928", InitialWindow::Rfc6928), ("rfc3390", InitialWindow::Rfc3390)];
const RTO_MIN_APPLIES: Names<RtoMinApplies> =
    &[("timeout", RtoMinApplies::Timeout), ("variance", RtoMinApplies::Variance)];

const RTT_TICKS: Names<RttTicks> = &[
    ("at-least-one", RttTicks::AtLeastOne),
    ("from-zero", RttTicks::FromZero),
    ("first-plus-one", RttTicks::FirstPlusOne),
];

const RTT_GAINS: Names<RttGains> = &[("rfc6298", RttGains::Rfc6298), ("inet", RttGains::Inet)];

/// The value without a limit: every acknowledged byte counts.
const NO_LIMIT: &str = "none";
/// The restart window that is the initial window.
const INITIAL: &str = "initial";
/// As many SYN-ACKs as SYNs.
const AS_SYN: &str = "as-syn";

/// The names of restart windows.
fn restart_windows() -> Vec<&'static str> {
    let mut all = names(INITIAL_WINDOW);
    all.insert(0, INITIAL);
    all
}

/// The value of an initial or restart window.
fn window_value(window: InitialWindow) -> Value {
    match window {
        InitialWindow::Segments(n) => Value::Count(u64::from(n)),
        named => name_of(INITIAL_WINDOW, named),
    }
}

/// Sets an initial or restart window by name or in segments.
fn set_window(slot: &mut InitialWindow, value: &Value) -> Result<(), ValueError> {
    if !matches!(value, Value::Count(_)) {
        return set_name(slot, INITIAL_WINDOW, value);
    }
    let mut segments = 0;
    set_count(&mut segments, value)?;
    *slot = InitialWindow::Segments(segments);
    Ok(())
}

/// The value of a number whose maximum has a name.
fn count_or(name: &'static str, n: u32) -> Value {
    if n == u32::MAX { Value::Name(name) } else { Value::Count(u64::from(n)) }
}

/// Sets a number, or its maximum by `name`.
fn set_count_or(slot: &mut u32, name: &'static str, value: &Value) -> Result<(), ValueError> {
    match value {
        Value::Name(given) if *given == name => {
            *slot = u32::MAX;
            Ok(())
        }
        _ => set_count(slot, value),
    }
}

pub(super) const SENDER: [Switch; 46] = [
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
        name: "cut-from",
        side: Side::Sender,
        kind: ValueKind::Name { allowed: || names(CUT_FROM), refused: &[] },
        doc: "The window from which an ECN cut starts: cwnd, or the peer's window if it is \
              smaller. It matters if cwnd grows beyond the peer's window (`growth-when`).",
        source: "RFC 3168 §6.1.2 (cwnd); ns-2 TcpAgent::slowdown, windowd",
        get: |c| name_of(CUT_FROM, c.cut_from),
        set: |c, v| set_name(&mut c.cut_from, CUT_FROM, v),
    },
    Switch {
        name: "loss-from",
        side: Side::Sender,
        kind: ValueKind::Name { allowed: || names(LOSS_FROM), refused: &[] },
        doc: "The quantity that a loss or a timeout reduces: FlightSize, cwnd, or the smaller of \
              cwnd and the peer's window. `dctcp.loss-from = \"cwnd\"` overrides it.",
        source: "RFC 5681 §3.1 eq. 4 (flight); Linux tcp_reno_ssthresh (cwnd); INET recalculateSlowStartThreshold @4ab1fe0b, ns-2 \
                 windowd (window)",
        get: |c| name_of(LOSS_FROM, c.loss_from),
        set: |c, v| set_name(&mut c.loss_from, LOSS_FROM, v),
    },
    Switch {
        name: "freeze-growth",
        side: Side::Sender,
        kind: ValueKind::Name { allowed: || names(FREEZE), refused: &[] },
        doc: "The ACKs on which the window does not grow because of an ECN reaction.",
        source: "RFC 3168 §6.1.2, RFC 8257 §3.4; DCTCP patch for ns-2.35 (first-ece)",
        get: |c| name_of(FREEZE, c.freeze_growth),
        set: |c, v| set_name(&mut c.freeze_growth, FREEZE, v),
    },
    Switch {
        name: "growth-when",
        side: Side::Sender,
        kind: ValueKind::Name { allowed: || names(GROWTH_WHEN), refused: &[] },
        doc: "ACKs grow the window if cwnd stopped the last attempt to send, if cwnd is at most \
              the peer's window, or always.",
        source: "RFC 7661 §3 (cwnd-limited); FreeBSD cc_ack_received @3d3f8b11 (below-rwnd); INET \
                 TCPNewReno.cc @1ae8f685 (always)",
        get: |c| name_of(GROWTH_WHEN, c.growth_when),
        set: |c, v| set_name(&mut c.growth_when, GROWTH_WHEN, v),
    },
    Switch {
        name: "growth-counts",
        side: Side::Sender,
        kind: ValueKind::Name { allowed: || names(GROWTH_COUNTS), refused: &[] },
        doc: "The unit of growth: the bytes that an ACK acknowledges, these with `abc-limit` as \
              their limit in congestion avoidance too, or one segment per ACK, so that delayed \
              ACKs slow growth down.",
        source: "RFC 3465 §2.1 (bytes); FreeBSD cc_ack_received @3d3f8b11 (limited-bytes); RFC \
                 5681 §3.1, ns-2 opencwnd, INET receivedDataAck (acks)",
        get: |c| name_of(GROWTH_COUNTS, c.growth_counts),
        set: |c, v| set_name(&mut c.growth_counts, GROWTH_COUNTS, v),
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
        doc: "The initial window: by RFC, or in segments.",
        source: "RFC 6928 §2, RFC 3390 §1",
        get: |c| window_value(c.initial_window),
        set: |c, v| set_window(&mut c.initial_window, v),
    },
    Switch {
        name: "restart-window",
        side: Side::Sender,
        kind: ValueKind::NameOrCount { allowed: restart_windows, min: 1, max: 1000 },
        doc: "The limit of the window after idle: the initial window, by RFC, or in segments.",
        source: "RFC 5681 §4.1 (initial); FreeBSD newreno_after_idle @3d3f8b11 (rfc3390)",
        get: |c| c.restart_window.map_or(Value::Name(INITIAL), window_value),
        set: |c, v| {
            if *v == Value::Name(INITIAL) {
                c.restart_window = None;
                return Ok(());
            }
            let mut window = c.initial_window;
            set_window(&mut window, v)?;
            c.restart_window = Some(window);
            Ok(())
        },
    },
    Switch {
        name: "initial-ssthresh",
        side: Side::Sender,
        kind: ValueKind::NameOrCount {
            allowed: || alloc::vec![NO_LIMIT],
            min: 1,
            max: u32::MAX as u64 - 1,
        },
        doc: "ssthresh at the start, in bytes: slow start ends there before any loss.",
        source: "RFC 5681 §3.1: arbitrarily high (none); INET TCPTahoeRenoFamily.cc @4ab1fe0b \
                 (65535), ns-2 TcpAgent::reset (window_)",
        get: |c| count_or(NO_LIMIT, c.initial_ssthresh),
        set: |c, v| set_count_or(&mut c.initial_ssthresh, NO_LIMIT, v),
    },
    Switch {
        name: "abc-limit",
        side: Side::Sender,
        kind: ValueKind::NameOrCount { allowed: || alloc::vec![NO_LIMIT], min: 1, max: 65_535 },
        doc: "Bytes per ACK that count in slow start, in segments (L); none counts them all.",
        source: "RFC 3465 §2.2",
        get: |c| count_or(NO_LIMIT, c.abc_limit),
        set: |c, v| set_count_or(&mut c.abc_limit, NO_LIMIT, v),
    },
    Switch {
        name: "idle-restart",
        side: Side::Sender,
        kind: ValueKind::Bool,
        doc: "Restart from `restart-window` when nothing was sent for one RTO.",
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
        name: "dup-thresh",
        side: Side::Sender,
        kind: number(1, 255),
        doc: "Duplicate ACKs, or SACKed runs above a segment, that indicate a loss (DupThresh); \
              RACK has its own constant.",
        source: "RFC 5681 §3.2, RFC 6675 §2 (3); Windows TcpMaxDupAcks (2), ns-3 ReTxThreshold",
        get: |c| Value::Count(u64::from(c.dup_thresh)),
        set: |c, v| set_count(&mut c.dup_thresh, v),
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
            refused: &[(
                "dsack",
                "detection by DSACK (RFC 3708) is not implemented; use eifel, which \
                           needs timestamps",
            )],
        },
        doc: "Undo a loss reaction when timestamps show that nothing was lost (eifel), or that of \
              a timeout when the next two ACKs show it (f-rto).",
        source: "RFC 3522 §3.2, RFC 4015 §3; RFC 5682 §2.1",
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
        name: "rto-slop",
        side: Side::Sender,
        kind: span(Duration::ZERO, Duration::from_secs(4)),
        doc: "Added to the timeout after its minimum and its backoff; not to the first one of the \
              handshake.",
        source: "RFC 6298 has none; FreeBSD TCPT_RANGESET, TCPTV_CPU_VAR @3d3f8b11 (200 ms)",
        get: |c| Value::Duration(c.rto_slop),
        set: |c, v| set_duration(&mut c.rto_slop, v),
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
        doc: "The RTT is measured in whole ticks of this clock (`rtt-ticks`); zero measures \
              exactly.",
        source: "ODCTCP §6.2: FreeBSD has 1 ms",
        get: |c| Value::Duration(c.rtt_granularity),
        set: |c, v| set_duration(&mut c.rtt_granularity, v),
    },
    Switch {
        name: "rtt-ticks",
        side: Side::Sender,
        kind: ValueKind::Name { allowed: || names(RTT_TICKS), refused: &[] },
        doc: "Ticks in an RTT sample: at least one, from zero, or from zero with one more in the \
              first sample of a connection.",
        source: "ns-2 TcpAgent::rtt_update (at-least-one); FreeBSD tcp_xmit_timer @3d3f8b11 \
                 (first-plus-one)",
        get: |c| name_of(RTT_TICKS, c.rtt_ticks),
        set: |c, v| set_name(&mut c.rtt_ticks, RTT_TICKS, v),
    },
    Switch {
        name: "rtt-gains",
        side: Side::Sender,
        kind: ValueKind::Name { allowed: || names(RTT_GAINS), refused: &[] },
        doc: "Estimator of round trips: gains of 1/8 and 1/4 from the first sample on, or both 1/8 \
              from an SRTT of zero and an RTTVAR of 0.75 s.",
        source: "RFC 6298 §2.2, §2.3; INET TCPBaseAlg.cc @24582891, rttMeasurementComplete",
        get: |c| name_of(RTT_GAINS, c.rtt_gains),
        set: |c, v| set_name(&mut c.rtt_gains, RTT_GAINS, v),
    },
    Switch {
        name: "syn-retries",
        side: Side::Sender,
        kind: number(0, 127),
        doc: "SYN retransmissions before giving up.",
        source: "RFC 9293 §3.8.3",
        get: |c| Value::Count(u64::from(c.syn_retries)),
        set: |c, v| set_count(&mut c.syn_retries, v),
    },
    Switch {
        name: "syn-ack-retries",
        side: Side::Sender,
        kind: ValueKind::NameOrCount { allowed: || alloc::vec![AS_SYN], min: 0, max: 127 },
        doc: "SYN-ACK retransmissions before giving up: a number, or as many as `syn-retries`.",
        source: "RFC 9293 §3.8.3; Linux net.ipv4.tcp_synack_retries (5), FreeBSD \
                 SYNCACHE_MAXREXMTS (3)",
        get: |c| count_or(AS_SYN, c.syn_ack_retries),
        set: |c, v| set_count_or(&mut c.syn_ack_retries, AS_SYN, v),
    },
    Switch {
        name: "syn-linear-timeouts",
        side: Side::Sender,
        kind: number(0, 127),
        doc: "SYN retransmissions that do not double the timeout, before those that do.",
        source: "RFC 6298 §5.5 (0); FreeBSD tcp_syn_backoff @3d3f8b11 (4), Linux \
                 net.ipv4.tcp_syn_linear_timeouts",
        get: |c| Value::Count(u64::from(c.syn_linear_timeouts)),
        set: |c, v| set_count(&mut c.syn_linear_timeouts, v),
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
