//! Switches of the end that sends the data.

use alloc::vec::Vec;

use lowtide_schema::{Value, ValueKind};
use lowtide_units::Duration;

use super::field::{
    FLAG, Field, Named, ON_OFF, choice, name_or_number, names, no_limit, number, size, span,
    switches, variants,
};
use super::{Side, Switch};
use crate::cc::GrowthCounts;
use crate::settings::config::{
    CutFrom, CutRoundEnd, CutRule, CwrRule, EctClass, FreezeGrowth, GrowthWhen, HandshakeRtt,
    IdleDecay, InitialWindow, LossFrom, NagleRule, PacingRule, RackRtt, RecoveryRule, Reduction,
    RtoMinApplies, RttGains, RttTicks, UndoRule, WindowProbe,
};
use crate::{cc, feedback};

variants! {
    EctClass {
        "data" Data, "all" All, "all-but-syn" AllButSyn, "data-or-accecn" DataOrAccEcn,
    }
    CwrRule { "never" Never, "after-reduction" AfterReduction }
    CutRule { "per-window" PerWindow, "per-marked-ack" PerMarkedAck }
    CutRoundEnd { "at-point" AtPoint, "past-point" PastPoint }
    HandshakeRtt { "karn" Karn, "timestamps" Timestamps }
    FreezeGrowth { "off" Off, "first-ece" FirstEce, "ece-acks" EceAcks, "round" Round }
    CutFrom { "cwnd" Cwnd, "window" Window }
    LossFrom { "flight" Flight, "cwnd" Cwnd, "window" Window }
    GrowthWhen {
        "cwnd-limited" CwndLimited, "below-rwnd" BelowRwnd, "always" Always,
        "window-usage" WindowUsage,
    }
    GrowthCounts {
        "bytes" Bytes, "limited-bytes" LimitedBytes, "acks" Acks, "delivered" Delivered,
    }
    NagleRule { "any-data" AnyData, "minshall" Minshall }
    RackRtt { "last-sent" LastSent, "last-processed" LastProcessed }
    WindowProbe { "one-byte" OneByte, "empty" Empty }
    IdleDecay { "at-once" AtOnce, "per-rto" PerRto }
    RecoveryRule { "sack" Sack, "rack" Rack, "newreno" NewReno }
    Reduction { "one-step" OneStep, "prr" Prr }
    PacingRule { "off" Off, "control" Control, "window" Window }
    UndoRule { "off" Off, "eifel" Eifel, "eifel-rto" EifelRto, "timestamps" Timestamps, "f-rto" FRto }
    RtoMinApplies { "timeout" Timeout, "variance" Variance }
    RttTicks { "at-least-one" AtLeastOne, "from-zero" FromZero, "first-plus-one" FirstPlusOne }
    RttGains { "rfc6298" Rfc6298, "inet" Inet, "freebsd" Freebsd, "linux" Linux }
}

/// Initial windows by RFC; others are numbers of segments.
impl Named for InitialWindow {
    const NAMES: &'static [(&'static str, Self)] =
        &[("rfc6928", Self::Rfc6928), ("rfc3390", Self::Rfc3390)];
}

impl Field for InitialWindow {
    fn value(&self, _: ValueKind) -> Value {
        match self {
            Self::Segments(n) => Value::Count(u64::from(*n)),
            named => named.named_value(),
        }
    }

    fn of(value: &Value, kind: ValueKind) -> Option<Self> {
        match value {
            Value::Count(_) => u32::of(value, kind).map(Self::Segments),
            _ => Self::from_name(value),
        }
    }
}

/// A restart window: `None` is the initial window.
impl Field for Option<InitialWindow> {
    fn value(&self, kind: ValueKind) -> Value {
        self.map_or(Value::Name(INITIAL), |window| window.value(kind))
    }

    fn of(value: &Value, kind: ValueKind) -> Option<Self> {
        if value.name() == Some(INITIAL) {
            return Some(None);
        }
        InitialWindow::of(value, kind).map(Some)
    }
}

/// The restart window that is the initial window.
const INITIAL: &str = "initial";

/// The names of restart windows.
fn restart_windows() -> Vec<&'static str> {
    let mut all = InitialWindow::names();
    all.insert(0, INITIAL);
    all
}

pub(super) const SENDER: &[Switch] = switches! {
    "cc", Sender, (cc: names(|| cc::REGISTRY.names())),
        "Congestion control: how much may be in flight.",
        "RFC 5681";
    "feedback", Sender, (feedback: names(|| feedback::REGISTRY.names())),
        "Feedback decoder: the sender's interpretation of the echoed ECN bits.",
        "RFC 3168 §6.1.2, RFC 8257 §3.3";
    "ect", Sender, (ect: choice::<EctClass>()),
        "The packets of an ECN connection that carry ECT(0); `data-or-accecn`: with Accurate ECN \
         all but SYNs, else new data.",
        "RFC 3168 §6.1.4 to §6.1.6, RFC 8257 §3.6";
    "cwr", Sender, (cwr: choice::<CwrRule>()),
        "The packets on which CWR is set.",
        "RFC 3168 §6.1.2";
    "cut", Sender, (cut: choice::<CutRule>()),
        "The maximum rate of ECN window reductions.",
        "RFC 3168 §6.1.2, RFC 8257 §3.3";
    "recut", Sender, (recut: choice::<CutRoundEnd>()),
        "The next ECN reduction needs SND.UNA at the SND.NXT of the last one, or past it.",
        "RFC 3168 §6.1.2 leaves it open";
    "cut-from", Sender, (cut_from: choice::<CutFrom>()),
        "The window from which an ECN cut starts: cwnd, or the peer's window if it is \
         smaller. It matters if cwnd grows beyond the peer's window (`growth-when`).",
        "RFC 3168 §6.1.2 (cwnd); ns-2 TcpAgent::slowdown, windowd";
    "loss-from", Sender, (loss_from: choice::<LossFrom>()),
        "The quantity that a loss or a timeout reduces: FlightSize, cwnd, or the smaller of \
         cwnd and the peer's window. `dctcp.loss-from = \"cwnd\"` overrides it.",
        "RFC 5681 §3.1 eq. 4 (flight); Linux tcp_reno_ssthresh (cwnd); INET \
         recalculateSlowStartThreshold @4ab1fe0b, ns-2 \
         windowd (window)";
    "freeze-growth", Sender, (freeze_growth: choice::<FreezeGrowth>()),
        "The ACKs on which the window does not grow because of an ECN reaction.",
        "RFC 3168 §6.1.2, RFC 8257 §3.4; DCTCP patch for ns-2.35 (first-ece)";
    "growth-when", Sender, (growth_when: choice::<GrowthWhen>()),
        "ACKs grow the window if cwnd stopped the last attempt to send, if cwnd is at most \
         the peer's window, always, or if cwnd stopped a send within the last window of data, \
         in slow start also while cwnd is below twice the data outstanding in it (window-usage).",
        "RFC 7661 §3 (cwnd-limited); FreeBSD cc_ack_received @3d3f8b11 (below-rwnd); INET \
         TCPNewReno.cc @1ae8f685 (always); Linux tcp_is_cwnd_limited (window-usage)";
    "growth-counts", Sender, (growth_counts: choice::<GrowthCounts>()),
        "The unit of growth: the bytes that an ACK acknowledges, these with `abc-limit` as \
         their limit in congestion avoidance too, one segment per ACK, so that delayed ACKs slow \
         growth down, or the bytes that it newly delivers, not SACKed before, after a timeout too.",
        "RFC 3465 §2.1 (bytes); FreeBSD cc_ack_received @3d3f8b11 (limited-bytes); RFC \
         5681 §3.1, ns-2 opencwnd, INET receivedDataAck (acks); Linux tcp_cong_avoid (delivered)";
    "window-floor", Sender, (window_floor: number(1, 2)),
        "The minimum window after an ECN or loss reaction, in segments.",
        "RFC 5681 §3.1 eq. 4 (2), RFC 3168 §6.1.2 (1)";
    "ssthresh-floor", Sender, (ssthresh_floor: number(1, 2)),
        "The minimum ssthresh after such a reaction, in segments; with 1 `window-floor` \
         decides.",
        "RFC 5681 §3.1 eq. 4 and ns-2's slowdown (2); RFC 3168 §6.1.2 (1)";
    "initial-window", Sender, (initial_window: name_or_number(InitialWindow::names, 1, 1000)),
        "The initial window: by RFC, or in segments.",
        "RFC 6928 §2, RFC 3390 §1";
    "restart-window", Sender, (restart_window: name_or_number(restart_windows, 1, 1000)),
        "The limit of the window after idle: the initial window, by RFC, or in segments.",
        "RFC 5681 §4.1 (initial); FreeBSD newreno_after_idle @3d3f8b11 (rfc3390)";
    "initial-ssthresh", Sender,
        (initial_ssthresh: name_or_number(no_limit, 1, u32::MAX as u64 - 1)),
        "ssthresh at the start, in bytes: slow start ends there before any loss.",
        "RFC 5681 §3.1: arbitrarily high (none); INET TCPTahoeRenoFamily.cc @4ab1fe0b \
         (65535), ns-2 TcpAgent::reset (window_)";
    "abc-limit", Sender, (abc_limit: name_or_number(no_limit, 1, 65_535)),
        "Bytes per ACK that count in slow start, in segments (L); none counts them all.",
        "RFC 3465 §2.2";
    "idle-restart", Sender, (idle_restart: FLAG),
        "Restart from `restart-window` when nothing was sent for one RTO.",
        "RFC 5681 §4.1";
    "idle-decay", Sender, (idle_decay: choice::<IdleDecay>()),
        "After idle the window is the restart window at once, or half for each RTO without data, \
         and not below it.",
        "RFC 5681 §4.1; RFC 2861 §3.1, Linux tcp_cwnd_restart (per-rto)";
    "recovery", Sender, (recovery: choice::<RecoveryRule>()),
        "Loss detection: by SACK, by time (rack), or by duplicate ACKs (newreno; always \
         without SACK).",
        "RFC 6675, RFC 8985, RFC 6582";
    "dup-thresh", Sender, (dup_thresh: number(1, 255)),
        "Duplicate ACKs, or SACKed runs above a segment, that indicate a loss (DupThresh); \
         RACK has its own constant.",
        "RFC 5681 §3.2, RFC 6675 §2 (3); Windows TcpMaxDupAcks (2), ns-3 ReTxThreshold";
    "reduction", Sender, (reduction: choice::<Reduction>()),
        "Window reduction after a loss or ECN: at once or over a round trip.",
        "RFC 5681 §3.2, RFC 3168 §6.1.2, RFC 9937";
    "tail-loss-probe", Sender, (tail_loss_probe: ON_OFF),
        "Send a probe when the tail of a flight stays unacknowledged; needs SACK.",
        "RFC 8985 §7";
    "probe-without-rtt", Sender,
        (probe_without_rtt: span(Duration::ZERO, Duration::from_secs(10))),
        "The timer of tail loss probes before the first RTT sample; 0 sends none.",
        "RFC 8985 §7.2; Linux tcp_schedule_loss_probe: TCP_TIMEOUT_INIT (1 s)";
    "rack-rtt", Sender, (rack_rtt: choice::<RackRtt>()),
        "The segment that gives RACK.rtt, of those that an ACK delivers: the one sent last, or \
         the one processed last (the highest acknowledged, else the highest SACKed).",
        "RFC 8985 §6.2; Linux tcp_rack_advance (last-processed)";
    "resend-restarts-rto", Sender, (resend_restarts_rto: FLAG),
        "The retransmission timer restarts also when the first segment in flight is sent again, \
         and while SACKs arrive for data that was sent before that.",
        "RFC 6298 §5.3: ACKs of new data; Linux tcp_xmit_retransmit_queue, tcp_clean_rtx_queue";
    "recovery-after-rto", Sender, (recovery_after_rto: FLAG),
        "While a timeout is repaired, the loss of a retransmission begins fast recovery, with \
         its reduction; needs RACK.",
        "RFC 8985 has none; Linux tcp_fastretrans_alert, FLAG_LOST_RETRANS";
    "max-ack-delay", Sender, (max_ack_delay: span(Duration::ZERO, Duration::from_secs(10))),
        "The peer's maximum delay of the ACK of a single segment, as assumed by tail loss \
         probes.",
        "RFC 8985 §7.2";
    "loss-timer-slack", Sender, (loss_timer_slack: span(Duration::ZERO, Duration::from_secs(10))),
        "Added to the timers of tail loss probes and reordering, for coarse clocks; not to a \
         probe timer that includes max-ack-delay.",
        "Linux TCP_TIMEOUT_MIN_US";
    "loss-timer-granularity", Sender,
        (loss_timer_granularity: span(Duration::ZERO, Duration::from_secs(1))),
        "The timers of tail loss probes and reordering are rounded up to multiples of this; 0 \
         for no rounding.",
        "Linux usecs_to_jiffies";
    "handshake-rtt", Sender, (handshake_rtt: choice::<HandshakeRtt>()),
        "The RTT sample of a retransmitted handshake: none, so data starts with an RTO of 3 \
         s, or from its timestamps.",
        "RFC 6298 §5.7";
    "undo", Sender, (undo: ValueKind::Name {
        allowed: UndoRule::names,
        refused: &[(
            "dsack",
            "detection by DSACK (RFC 3708) is not implemented; use eifel, which needs timestamps",
        )],
    }),
        "Undo a loss reaction, or that of a timeout only (eifel-rto), when timestamps show that \
         nothing was lost (eifel), or that of a timeout when the next two ACKs show it (f-rto). \
         `timestamps` is eifel and f-rto as in Linux: also by an ACK of the whole flight from a \
         peer without DSACK, and after a timeout by any data that was not sent again.",
        "RFC 3522 §3.2, RFC 4015 §3; FreeBSD t_badrxtwin (eifel-rto); RFC 5682 §2.1; Linux \
         tcp_packet_delayed, tcp_process_loss (timestamps)";
    "limited-transmit", Sender, (limited_transmit: FLAG),
        "Send new data on the first two duplicate ACKs.",
        "RFC 3042";
    "nagle", Sender, (nagle: FLAG),
        "Hold back small segments while data is outstanding.",
        "RFC 9293 §3.7.4";
    "nagle-rule", Sender, (nagle_rule: choice::<NagleRule>()),
        "With `nagle` a small segment waits while any data is unacknowledged, or while an \
         earlier small segment is.",
        "RFC 896, RFC 9293 §3.7.4; Linux tcp_minshall_check (minshall)";
    "pacing", Sender, (pacing: choice::<PacingRule>()),
        "Pacing of data: none, at the rate that the congestion control sets (none without \
         one), or at 1.2 windows per round trip (2 in slow start).",
        "HULL (NSDI 2012) §4.3; Linux tcp_update_pacing_rate";
    "rto-initial", Sender, (rto_initial: span(Duration::from_us(1), Duration::from_secs(120))),
        "Retransmission timeout before the first round-trip sample.",
        "RFC 6298 §2.1";
    "rto-min", Sender, (rto_min: span(Duration::from_us(1), Duration::from_secs(120))),
        "The minimum retransmission timeout.",
        "RFC 6298 §2.4";
    "rto-min-applies", Sender, (rto_min_applies: choice::<RtoMinApplies>()),
        "The minimum applies to the whole timeout or to its variance term.",
        "RFC 6298 §2.4; Linux tcp_rtt_estimator";
    "rto-slop", Sender, (rto_slop: span(Duration::ZERO, Duration::from_secs(4))),
        "Added to the timeout after its minimum and its backoff; not to the first one of the \
         handshake.",
        "RFC 6298 has none; FreeBSD TCPT_RANGESET, TCPTV_CPU_VAR @3d3f8b11 (200 ms)";
    "rto-max", Sender, (rto_max: span(Duration::from_ms(1), Duration::from_secs(3600))),
        "The maximum retransmission timeout, backoff included.",
        "RFC 6298 §2.5: at least 60 s";
    "rto-granularity", Sender,
        (rto_granularity: span(Duration::from_ns(1), Duration::from_secs(1))),
        "Clock granularity G; timeouts are whole multiples of it.",
        "RFC 6298 §4";
    "rtt-granularity", Sender, (rtt_granularity: span(Duration::ZERO, Duration::from_secs(1))),
        "The RTT is measured in whole ticks of this clock (`rtt-ticks`); zero measures \
         exactly.",
        "ODCTCP §6.2: FreeBSD has 1 ms";
    "rtt-ticks", Sender, (rtt_ticks: choice::<RttTicks>()),
        "Ticks in an RTT sample: at least one, from zero, or from zero with one more in the \
         first sample of a connection.",
        "ns-2 TcpAgent::rtt_update (at-least-one); FreeBSD tcp_xmit_timer @3d3f8b11 \
         (first-plus-one)";
    "rtt-gains", Sender, (rtt_gains: choice::<RttGains>()),
        "Estimator of round trips: gains of 1/8 and 1/4 from the first sample on (rfc6298); both \
         1/8 from an SRTT of zero and an RTTVAR of 0.75 s (inet); those of RFC 6298 in 1/32 and \
         1/16 of a tick, rounded down (freebsd); those of RFC 6298, but RTTVAR falls once per \
         round trip, and a shorter one raises it by an eighth of its share (linux).",
        "RFC 6298 §2.2, §2.3; INET TCPBaseAlg.cc @24582891, rttMeasurementComplete; FreeBSD \
         tcp_xmit_timer @3d3f8b11; Linux tcp_rtt_estimator";
    "syn-retries", Sender, (syn_retries: number(0, 127)),
        "SYN retransmissions before giving up.",
        "RFC 9293 §3.8.3";
    "syn-ack-retries", Sender, (syn_ack_retries: name_or_number(|| alloc::vec!["as-syn"], 0, 127)),
        "SYN-ACK retransmissions before giving up: a number, or as many as `syn-retries`.",
        "RFC 9293 §3.8.3; Linux net.ipv4.tcp_synack_retries (5), FreeBSD \
         SYNCACHE_MAXREXMTS (3)";
    "syn-linear-timeouts", Sender, (syn_linear_timeouts: number(0, 127)),
        "SYN retransmissions that do not double the timeout, before those that do.",
        "RFC 6298 §5.5 (0); FreeBSD tcp_syn_backoff @3d3f8b11 (4), Linux \
         net.ipv4.tcp_syn_linear_timeouts";
    "window-probe", Sender, (window_probe: choice::<WindowProbe>()),
        "A probe of a closed window: a byte beyond it, or an empty segment with an old sequence \
         number.",
        "RFC 9293 §3.8.6.1; Linux tcp_xmit_probe_skb (empty)";
    "retries", Sender, (retries: number(1, 255)),
        "Retransmission timeouts in a row before the connection is given up (R2).",
        "RFC 9293 §3.8.3";
    "send-buffer", Sender, (send_buffer: size(1, 1 << 40)),
        "Send buffer in bytes: the maximum of unsent and unacknowledged data.",
        "RFC 9293 §3.9.1";
    "tso-segments", Sender, (tso_segments: number(1, 64)),
        "Maximum segments passed to the NIC at once (segmentation offload), of together at most \
         `gso-max` less 321 B; 1 is no offload. Above 64 KiB `gso-max` alone decides.",
        "Linux sk_gso_max_size: 64 KiB less MAX_TCP_HEADER";
    "gso-max", Sender, (gso_max: number(8_192, 524_280)),
        "Most bytes passed to the NIC at once; above 65,536 it is BIG TCP, over IPv6 since Linux \
         5.19 and over IPv4 since 6.3.",
        "Linux gso_max_size and gso_ipv4_max_size of a device: 65,536 by default, at most 8 x 65,535";
    "tso-defer", Sender, (tso_defer: number(0, 64)),
        "Less than one over this of the window waits for the next ACK and a larger burst, with \
         or without segmentation offload; PSH ends a burst. 0 never waits.",
        "Linux net.ipv4.tcp_tso_win_divisor, 3 by default";
};
