//! All settings of one end, as typed fields. [`crate::switches`] has their names, kinds, ranges and
//! sources; nothing else decides behaviour.

use lowtide_units::{Bytes, Duration};

use super::params::Params;
use crate::cc::GrowthCounts;
use crate::defence::{AckAccept, AckThrottle, RstAccept, SynAnswer, TimeWaitReset};

/// Negotiation of ECN (RFC 3168 §6.1.1, RFC 9768 §3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnNegotiation {
    /// Neither requested nor accepted.
    Off,
    /// Requested and accepted.
    Rfc3168,
    /// Accepted if the peer requests it, not requested.
    Passive,
    /// Accurate ECN requested and accepted; RFC 3168 with a peer that supports no more.
    AccEcn,
    /// Accurate ECN, or RFC 3168, accepted if the peer requests it; not requested.
    AccEcnPassive,
    /// Accurate ECN, or RFC 3168, accepted if the peer requests it; RFC 3168 requested.
    AccEcnRfc3168,
}

impl EcnNegotiation {
    /// True if our SYN requests ECN of some kind.
    pub const fn requests_ecn(self) -> bool {
        matches!(self, Self::Rfc3168 | Self::AccEcn | Self::AccEcnRfc3168)
    }

    /// True if our SYN requests Accurate ECN.
    pub const fn requests_accecn(self) -> bool {
        matches!(self, Self::AccEcn)
    }

    /// True if Accurate ECN is accepted.
    pub const fn accepts_accecn(self) -> bool {
        matches!(self, Self::AccEcn | Self::AccEcnPassive | Self::AccEcnRfc3168)
    }
}

/// Packets of an ECN connection that carry ECT(0).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EctClass {
    /// New data only (RFC 3168 §6.1.4 to §6.1.6).
    Data,
    /// Every packet, SYN and pure ACK included (Linux with a control that needs ECN).
    All,
    /// Every packet except SYN and SYN-ACK.
    AllButSyn,
    /// As [`Self::AllButSyn`] with Accurate ECN, else as [`Self::Data`] (Linux since 7.0).
    DataOrAccEcn,
}

/// Segments that carry the AccECN option; the names but `Recommended` are Linux's
/// (`net.ipv4.tcp_ecn_option`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccEcnOptionRule {
    /// None.
    Disabled,
    /// ACKs after a counter has changed (RFC 9768 §3.2.3.3, recommended simple scheme), and data
    /// that is shorter than a full segment by the option.
    Recommended,
    /// If the peer's options arrive: ACKs after the ECN field has changed, and three per round
    /// trip.
    Minimum,
    /// If the peer's options arrive: all, until such segments seem to be lost.
    Full,
    /// If the peer's options arrive: all.
    Persist,
}

/// Rules of Accurate ECN where Linux differs from RFC 9768.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccEcnRules {
    /// Those of RFC 9768.
    Rfc9768,
    /// Those of Linux since 7.0: every SYN after the handshake is answered with the handshake
    /// encoding; an ACE field on an ACK of no data counts if its timestamp is newer; data whose ECN
    /// field differs from that of the packet before is acknowledged at once.
    Linux,
}

/// Timestamps that a receiver echoes when one ACK covers several segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DelayEchoRule {
    /// The mean of all (DX §V-A, "LRO handling").
    Mean,
    /// The newest; the others are discarded (DX §V-A, "delayed ACK").
    Newest,
}

/// Packets on which the sender sets CWR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CwrRule {
    /// Never (DCTCP §3 does not mention it).
    Never,
    /// On the first new data after a reduction (RFC 3168 §6.1.2).
    AfterReduction,
}

/// Limit on ECN window cuts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CutRule {
    /// Once per window of data (RFC 3168 §6.1.2, RFC 8257 §3.3).
    PerWindow,
    /// On each ACK that reports a mark (TDCTCP algorithm 1).
    PerMarkedAck,
}

/// Round-trip sample of a handshake in which a SYN or SYN-ACK was sent more than once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HandshakeRtt {
    /// None (Karn's algorithm): data starts with a timeout of 3 s (RFC 6298 §5.7).
    Karn,
    /// The sample of the echoed timestamp, if timestamps were negotiated.
    Timestamps,
}

/// Earliest new cut after one at SND.NXT `R`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CutRoundEnd {
    /// When SND.UNA has reached `R`.
    AtPoint,
    /// When SND.UNA has passed `R`.
    PastPoint,
}

/// ACKs on which an ECN reaction forbids window growth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FreezeGrowth {
    /// Only the ACK that cuts (RFC 8257 §3.4).
    Off,
    /// The first ACK with ECE after one without (ns-2).
    FirstEce,
    /// Every ACK with ECE (RFC 3168 §6.1.2).
    EceAcks,
    /// All ACKs from the cut until its window of data is acknowledged ("congestion recovery"), as
    /// defined by [`CutRoundEnd`].
    Round,
}

/// Limit of the sender under which ACKs grow the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GrowthWhen {
    /// cwnd stopped the last attempt to send (RFC 7661 §3: not while the application is the limit).
    CwndLimited,
    /// cwnd is at most the peer's window, whatever the application does (FreeBSD).
    BelowRwnd,
    /// Always (ns-2, INET).
    Always,
    /// cwnd stopped a send within the last window of data; in slow start also while cwnd is less
    /// than twice the most segments outstanding in it (Linux `tcp_is_cwnd_limited`).
    WindowUsage,
}

/// Window from which an ECN cut starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CutFrom {
    /// cwnd.
    Cwnd,
    /// cwnd or the peer's window, whichever is smaller (ns-2).
    Window,
}

/// Quantity that a loss or a timeout reduces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossFrom {
    /// FlightSize (RFC 5681 §3.1 eq. 4).
    Flight,
    /// cwnd (Linux).
    Cwnd,
    /// cwnd or the peer's window, whichever is smaller (BSD, ns-2, INET).
    Window,
}

/// Data whose acknowledgement a small segment awaits with Nagle's algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NagleRule {
    /// All data (RFC 896, RFC 9293 §3.7.4).
    AnyData,
    /// An earlier small segment (Minshall's variant; Linux `tcp_minshall_check`).
    Minshall,
}

/// A probe of a closed window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowProbe {
    /// One byte beyond the window (RFC 9293 §3.8.6.1).
    OneByte,
    /// An empty segment with an old sequence number (Linux `tcp_xmit_probe_skb`).
    Empty,
}

/// The ACK of a FIN that arrives without data, after data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FinAck {
    /// At once.
    AtOnce,
    /// After `delack_timer`, without a DSACK (Linux `tcp_fin`).
    Delayed,
}

/// The segment that gives `RACK.rtt`, of those that one ACK delivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RackRtt {
    /// The one sent last (RFC 8985 §6.2).
    LastSent,
    /// The one processed last: the highest acknowledged, else the highest SACKed (Linux
    /// `tcp_rack_advance`).
    LastProcessed,
}

/// cwnd after an idle time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdleDecay {
    /// The restart window at once (RFC 5681 §4.1).
    AtOnce,
    /// Half for each RTO of it, not below the restart window (RFC 2861, Linux
    /// `tcp_cwnd_restart`).
    PerRto,
}

/// Number of ticks in a round-trip sample, with a clock that has ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RttTicks {
    /// At least one.
    AtLeastOne,
    /// Zero is possible.
    FromZero,
    /// Zero is possible, but the first sample of a connection is one tick more (FreeBSD).
    FirstPlusOne,
}

/// The estimator of round trips.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RttGains {
    /// Gains of 1/8 and 1/4; the first sample sets SRTT and RTTVAR (RFC 6298 §2.2, §2.3).
    Rfc6298,
    /// Gains of 1/8 and 1/8, from an SRTT of zero and an RTTVAR of 0.75 s (INET).
    Inet,
    /// Those of RFC 6298 in fixed point: SRTT in 1/32 of a tick, RTTVAR in 1/16 (FreeBSD
    /// `tcp_xmit_timer`). Without a tick as in RFC 6298.
    Freebsd,
    /// Those of RFC 6298 for SRTT; RTTVAR falls once per round trip (Linux `tcp_rtt_estimator`).
    Linux,
}

impl RttTicks {
    /// Minimum ticks of a sample.
    pub(crate) const fn least(self) -> u64 {
        match self {
            Self::AtLeastOne => 1,
            Self::FromZero | Self::FirstPlusOne => 0,
        }
    }
}

/// Loss detection and repair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecoveryRule {
    /// RFC 6675 with SACK, else RFC 6582.
    Sack,
    /// RFC 8985 (RACK) with SACK, else RFC 6582.
    Rack,
    /// RFC 6582 always.
    NewReno,
}

/// Course of a window reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reduction {
    /// At once; nothing is sent until the pipe is below the new window (RFC 5681 §3.2, RFC 3168
    /// §6.1.2).
    OneStep,
    /// In proportion to delivered data, over a round trip (RFC 9937). The window does not grow
    /// meanwhile, regardless of [`FreezeGrowth`].
    Prr,
}

/// Departure of data that the window permits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacingRule {
    /// At once.
    Off,
    /// At the rate of the control; at once if it has none.
    Control,
    /// At the rate of the control, else at one computed from the window and the round trip.
    Window,
}

/// Undo of spurious loss reactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UndoRule {
    /// Never.
    Off,
    /// If timestamps show that the original was delivered (Eifel, RFC 3522 and RFC 4015).
    Eifel,
    /// As `Eifel`, but after a timeout only (FreeBSD).
    EifelRto,
    /// As `Eifel`, also by an ACK of the whole flight from a peer that sent no DSACK (Linux
    /// `tcp_packet_delayed`). After a timeout also as `FRto`, and by data that arrives although it
    /// was not retransmitted.
    Timestamps,
    /// After a timeout, if the next two ACKs show it (F-RTO, RFC 5682).
    FRto,
}

/// Choice of the initial sequence number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IsnRule {
    /// `M + F(connection, secret)` with a clock `M` (RFC 6528 §3).
    Rfc6528,
    /// Random.
    Random,
}

/// Stateless answers of a listener to SYNs (RFC 4987 §3.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SynCookies {
    /// Never: a SYN that does not fit the backlog is dropped.
    Off,
    /// If the limit of half-open connections is reached.
    WhenFull,
}

/// Start of the TSval clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimestampOffset {
    /// `F` over addresses and ports, with a separate secret (RFC 7323 §5.4).
    PerConnection,
    /// `F` over the two addresses (Linux 6.18): later connections of a host have later timestamps.
    PerHostPair,
    /// Random.
    Random,
    /// At zero.
    Zero,
}

/// Sizing of the receive buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferTuning {
    /// As configured.
    Fixed,
    /// Grows by [`Config::buffer_tuning_rule`] up to the configured size.
    Auto,
}

/// The rule by which a receive buffer grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferTuningRule {
    /// None is known: [`BufferTuning::Auto`] is refused.
    None,
    /// FreeBSD 7 to 10.3: 64 KiB, and 16 KiB more per round trip.
    FreeBsd10,
    /// FreeBSD 14: 64 KiB, and half as much again per half a round trip.
    FreeBsd14,
    /// Linux 6.18: 64 KiB, and twice what was read in a round trip or more.
    Linux,
}

/// The initial window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InitialWindow {
    /// `min(10 MSS, max(2 MSS, 14600 B))`.
    Rfc6928,
    /// `min(4 MSS, max(2 MSS, 4380 B))`.
    Rfc3390,
    /// `n` segments.
    Segments(u32),
}

/// Lower bound applied by the minimum RTO.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RtoMinApplies {
    /// The whole timeout (RFC 6298 §2.4).
    Timeout,
    /// The variance term, so that the timeout is at least SRTT plus the minimum (Linux).
    Variance,
}

/// All settings of one end of a connection.
#[expect(clippy::struct_excessive_bools, reason = "independent switches")]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    // Sender.
    /// Name of the congestion control in its registry.
    pub cc: &'static str,
    /// Name of the feedback decoder in its registry.
    pub feedback: &'static str,
    /// Packets that carry ECT(0).
    pub ect: EctClass,
    /// Segments that carry the AccECN option.
    pub accecn_option: AccEcnOptionRule,
    /// Rules of Accurate ECN.
    pub accecn_rules: AccEcnRules,
    /// Rule for CWR.
    pub cwr: CwrRule,
    /// Limit on ECN cuts.
    pub cut: CutRule,
    /// Earliest next cut.
    pub recut: CutRoundEnd,
    /// Window from which an ECN cut starts.
    pub cut_from: CutFrom,
    /// Quantity that a loss or a timeout reduces.
    pub loss_from: LossFrom,
    /// Freeze of growth by ECN.
    pub freeze_growth: FreezeGrowth,
    /// Limit of the sender under which ACKs grow the window.
    pub growth_when: GrowthWhen,
    /// Unit of an ACK that grows the window.
    pub growth_counts: GrowthCounts,
    /// Minimum window after an ECN or loss reaction, in segments (1 or 2).
    pub window_floor: u32,
    /// Minimum ssthresh after such a reaction, in segments (1 or 2); never below the window.
    pub ssthresh_floor: u32,
    /// The initial window.
    pub initial_window: InitialWindow,
    /// Bound of the window after idle; `None` for the initial window.
    pub restart_window: Option<InitialWindow>,
    /// Initial ssthresh, bytes; `u32::MAX` for none.
    pub initial_ssthresh: u32,
    /// Byte counting: bytes per ACK that count in slow start, in segments (RFC 3465 L).
    pub abc_limit: u32,
    /// Restart from the restart window after an idle RTO (RFC 5681 §4.1).
    pub idle_restart: bool,
    /// cwnd after an idle time.
    pub idle_decay: IdleDecay,
    /// Loss recovery.
    pub recovery: RecoveryRule,
    /// Duplicate ACKs that indicate a loss (DupThresh).
    pub dup_thresh: u32,
    /// Window reduction after a loss or an ECN cut.
    pub reduction: Reduction,
    /// Send a tail loss probe (RFC 8985 §7); needs SACK.
    pub tail_loss_probe: bool,
    /// Time of the first probe without an RTT sample; zero for none.
    pub probe_without_rtt: Duration,
    /// The segment that gives `RACK.rtt`.
    pub rack_rtt: RackRtt,
    /// The retransmission timer also restarts when the first segment in flight is sent again.
    pub resend_restarts_rto: bool,
    /// In recovery after a timeout, the loss of a retransmission begins fast recovery.
    pub recovery_after_rto: bool,
    /// Assumed maximum ACK delay of the peer, for probes of a single segment.
    pub max_ack_delay: Duration,
    /// Added to the timers of tail loss probes and reordering, for coarse clocks.
    pub loss_timer_slack: Duration,
    /// Tick of the timers of tail loss probes and reordering; zero for any duration.
    pub loss_timer_granularity: Duration,
    /// Round-trip sample of a handshake with retransmissions.
    pub handshake_rtt: HandshakeRtt,
    /// Undo of a spurious loss reaction.
    pub undo: UndoRule,
    /// Send new data on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Hold back small segments while data is outstanding (RFC 9293 §3.7.4).
    pub nagle: bool,
    /// Data that holds a small segment back.
    pub nagle_rule: NagleRule,
    /// Pacing of data.
    pub pacing: PacingRule,
    /// RTO before the first sample.
    pub rto_initial: Duration,
    /// Minimum RTO.
    pub rto_min: Duration,
    /// Lower bound applied by the minimum RTO.
    pub rto_min_applies: RtoMinApplies,
    /// Added to the RTO.
    pub rto_slop: Duration,
    /// Maximum RTO.
    pub rto_max: Duration,
    /// Clock granularity G of RFC 6298; timeouts are whole multiples of it.
    pub rto_granularity: Duration,
    /// Tick of the clock that measures round trips; zero measures exactly.
    pub rtt_granularity: Duration,
    /// Ticks of a round-trip sample.
    pub rtt_ticks: RttTicks,
    /// The estimator of round trips.
    pub rtt_gains: RttGains,
    /// SYN retransmissions before giving up.
    pub syn_retries: u32,
    /// SYN-ACK retransmissions before giving up; `u32::MAX` for as many as of a SYN.
    pub syn_ack_retries: u32,
    /// SYN retransmissions after which the timeout is not doubled.
    pub syn_linear_timeouts: u32,
    /// Probes of a closed window.
    pub window_probe: WindowProbe,
    /// Consecutive data retransmission timeouts before giving up (R2 of RFC 9293 §3.8.3).
    pub retries: u32,
    /// Limit on unacknowledged plus unsent bytes of the application.
    pub send_buffer: Bytes,
    /// Maximum segments in one [`crate::Transmit`] (segmentation offload).
    pub tso_segments: u32,
    /// Bytes of the largest buffer passed to the NIC, with the room for headers that Linux leaves.
    pub gso_max: u32,
    /// New data below 1/`tso_defer` of the window waits for a larger burst; zero never waits.
    pub tso_defer: u32,

    // Receiver.
    /// Name of the acknowledgement policy in its registry.
    pub ack: &'static str,
    /// Acknowledge at least every `delack_segments` segments (m).
    pub delack_segments: u32,
    /// Maximum delay of an ACK.
    pub delack_timer: Duration,
    /// The ACK of a FIN without data.
    pub fin_ack: FinAck,
    /// Each segment of the first bytes of the stream is acknowledged at once.
    pub initial_quick_acks: Bytes,
    /// ACKs of data, the first of the connection, that are not delayed.
    pub initial_quick_ack_count: u32,
    /// Segments are acknowledged at once while the receive window grows.
    pub window_growth_acks: bool,
    /// A read of everything acknowledges data that ended with PSH or a short segment.
    pub push_acks: bool,
    /// An end that answers delays its ACKs.
    pub pingpong: bool,
    /// Receive buffer, which bounds the advertised window; its maximum if it is tuned.
    pub receive_buffer: Bytes,
    /// Sizing of the receive buffer.
    pub buffer_tuning: BufferTuning,
    /// The rule of [`BufferTuning::Auto`].
    pub buffer_tuning_rule: BufferTuningRule,
    /// Report duplicates (RFC 2883).
    pub dsack: bool,

    // Both sides of one connection.
    /// Largest IP packet, in bytes.
    pub mtu: u32,
    /// Minimum MSS from the peer or the path, bytes including options; at most that of `mtu`.
    pub min_mss: u32,
    /// ECN negotiation.
    pub ecn: EcnNegotiation,
    /// Lost SYNs end the request for ECN.
    pub ecn_fallback: bool,
    /// Offer and use timestamps (RFC 7323).
    pub timestamps: bool,
    /// Drop segments without timestamps once they are negotiated (RFC 7323 §3.2).
    pub timestamps_required: bool,
    /// The tick of TSval.
    pub timestamp_granularity: Duration,
    /// Offer and use SACK (RFC 2018).
    pub sack: bool,
    /// Offer and use window scaling (RFC 7323).
    pub window_scaling: bool,
    /// Offer and use the delay option of DX.
    pub delay_option: bool,
    /// Timestamps that an ACK of several segments echoes.
    pub delay_echo: DelayEchoRule,
    /// Tolerance above the minimum round trip that still counts as the minimum.
    pub delay_slack: Duration,
    /// Lifetime of a minimum round trip that is not met again; zero is unlimited.
    pub delay_lifetime: Duration,
    /// Duration of TIME-WAIT (2 MSL).
    pub time_wait: Duration,
    /// Effect of a RST in TIME-WAIT.
    pub time_wait_reset: TimeWaitReset,

    // Unpredictable numbers, and segments accepted from off-path senders.
    /// Initial sequence numbers.
    pub isn: IsnRule,
    /// The tick of the clock of initial sequence numbers.
    pub isn_tick: Duration,
    /// Start of the TSval clock.
    pub timestamp_offset: TimestampOffset,
    /// SYN cookies of a listener.
    pub syn_cookies: SynCookies,
    /// RST that ends the connection.
    pub rst_accept: RstAccept,
    /// Answer to a SYN in a synchronised state.
    pub syn_answer: SynAnswer,
    /// Oldest acknowledgement number that is accepted.
    pub ack_accept: AckAccept,
    /// Maximum challenge ACKs per interval; `u32::MAX` for no limit.
    pub challenge_ack_limit: u32,
    /// The interval of that limit.
    pub challenge_ack_interval: Duration,
    /// ACKs that count against that limit.
    pub ack_throttle: AckThrottle,

    // Liveness of the peer.
    /// Probe an idle connection (keep-alive).
    pub keep_alive: bool,
    /// Silence of the peer before the first probe.
    pub keep_alive_idle: Duration,
    /// The time between probes.
    pub keep_alive_interval: Duration,
    /// Unanswered probes before giving up.
    pub keep_alive_count: u32,
    /// Maximum time that data may stay unacknowledged or wait for a closed window; zero: until the
    /// retries are used up.
    pub user_timeout: Duration,

    /// Parameters of the chosen control, policy and decoder.
    pub params: Params,
}

impl InitialWindow {
    /// The window in bytes for segments of `mss` bytes.
    pub const fn bytes(self, mss: u32) -> u64 {
        let mss = mss as u64;
        match self {
            Self::Rfc6928 => const_min(10 * mss, const_max(2 * mss, 14_600)),
            Self::Rfc3390 => const_min(4 * mss, const_max(2 * mss, 4_380)),
            Self::Segments(n) => n as u64 * mss,
        }
    }
}

const fn const_min(a: u64, b: u64) -> u64 {
    if a < b { a } else { b }
}

const fn const_max(a: u64, b: u64) -> u64 {
    if a > b { a } else { b }
}

/// `GSO_LEGACY_MAX_SIZE` of Linux, bytes.
const GSO_LEGACY_MAX_SIZE: u32 = 65_536;
/// `MAX_TCP_HEADER` of Linux and one, bytes.
const GSO_HEADERS: u32 = 321;

impl Config {
    /// Returns the bytes of the largest burst that segmentation offload passes on.
    pub const fn largest_burst(&self) -> u64 {
        self.gso_max.saturating_sub(GSO_HEADERS) as u64
    }
    /// Returns the most segments of a burst. With BIG TCP only bytes limit it.
    pub const fn most_segments(&self) -> u32 {
        if self.gso_max > GSO_LEGACY_MAX_SIZE && self.tso_segments > 1 {
            u32::MAX
        } else {
            self.tso_segments
        }
    }
}

impl Default for Config {
    /// The `rfc` profile.
    fn default() -> Self {
        Self {
            cc: "newreno",
            feedback: "rfc3168",
            ect: EctClass::Data,
            accecn_option: AccEcnOptionRule::Recommended,
            accecn_rules: AccEcnRules::Rfc9768,
            cwr: CwrRule::AfterReduction,
            cut: CutRule::PerWindow,
            recut: CutRoundEnd::PastPoint,
            cut_from: CutFrom::Cwnd,
            loss_from: LossFrom::Flight,
            freeze_growth: FreezeGrowth::EceAcks,
            growth_when: GrowthWhen::CwndLimited,
            growth_counts: GrowthCounts::Bytes,
            window_floor: 2,
            ssthresh_floor: 1,
            initial_window: InitialWindow::Rfc6928,
            restart_window: None,
            initial_ssthresh: u32::MAX,
            abc_limit: 2,
            idle_restart: true,
            idle_decay: IdleDecay::AtOnce,
            recovery: RecoveryRule::Sack,
            dup_thresh: 3,
            reduction: Reduction::OneStep,
            tail_loss_probe: false,
            probe_without_rtt: Duration::ZERO,
            rack_rtt: RackRtt::LastSent,
            resend_restarts_rto: false,
            recovery_after_rto: false,
            max_ack_delay: Duration::from_ms(200),
            loss_timer_slack: Duration::ZERO,
            loss_timer_granularity: Duration::ZERO,
            handshake_rtt: HandshakeRtt::Karn,
            undo: UndoRule::Off,
            limited_transmit: true,
            nagle: true,
            nagle_rule: NagleRule::AnyData,
            pacing: PacingRule::Control,
            rto_initial: Duration::from_secs(1),
            rto_min: Duration::from_secs(1),
            rto_min_applies: RtoMinApplies::Timeout,
            rto_slop: Duration::ZERO,
            rto_max: Duration::from_secs(60),
            rto_granularity: Duration::from_ms(1),
            rtt_granularity: Duration::ZERO,
            rtt_ticks: RttTicks::AtLeastOne,
            rtt_gains: RttGains::Rfc6298,
            syn_retries: 7,
            syn_ack_retries: u32::MAX,
            syn_linear_timeouts: 0,
            window_probe: WindowProbe::OneByte,
            retries: 15,
            send_buffer: Bytes::new(4_000_000),
            tso_segments: 1,
            gso_max: GSO_LEGACY_MAX_SIZE,
            tso_defer: 0,
            ack: "rfc3168",
            delack_segments: 2,
            delack_timer: Duration::from_ms(200),
            fin_ack: FinAck::AtOnce,
            initial_quick_acks: Bytes::new(0),
            initial_quick_ack_count: 0,
            window_growth_acks: false,
            push_acks: false,
            pingpong: false,
            receive_buffer: Bytes::new(4_000_000),
            buffer_tuning: BufferTuning::Fixed,
            buffer_tuning_rule: BufferTuningRule::None,
            dsack: true,
            mtu: 1500,
            min_mss: 48,
            ecn: EcnNegotiation::Off,
            ecn_fallback: true,
            timestamps: true,
            timestamps_required: true,
            timestamp_granularity: Duration::from_ms(1),
            sack: true,
            window_scaling: true,
            delay_option: false,
            delay_echo: DelayEchoRule::Mean,
            delay_slack: Duration::from_ns(50),
            delay_lifetime: Duration::ZERO,
            time_wait: Duration::from_secs(60),
            time_wait_reset: TimeWaitReset::Ignore,
            isn: IsnRule::Rfc6528,
            isn_tick: Duration::from_us(4),
            timestamp_offset: TimestampOffset::PerConnection,
            syn_cookies: SynCookies::Off,
            rst_accept: RstAccept::Exact,
            syn_answer: SynAnswer::ChallengeAck,
            ack_accept: AckAccept::MaxWindow,
            challenge_ack_limit: 10,
            challenge_ack_interval: Duration::from_secs(5),
            ack_throttle: AckThrottle::Challenges,
            keep_alive: false,
            keep_alive_idle: Duration::from_secs(7200),
            keep_alive_interval: Duration::from_secs(75),
            keep_alive_count: 9,
            user_timeout: Duration::ZERO,
            params: Params::new(),
        }
    }
}
