//! Everything that two ends may do differently, as typed fields. The names, kinds, ranges and sources
//! that people write are in [`crate::switches`]; nothing else decides behaviour.

use lowtide_units::{Bytes, Duration};

use crate::defence::{AckAccept, AckThrottle, RstAccept, SynAnswer, TimeWaitReset};
use crate::params::Params;

/// How ECN is negotiated (RFC 3168 §6.1.1, RFC 9768 §3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnNegotiation {
    /// Neither asked for nor accepted.
    Off,
    /// Asked for and accepted.
    Rfc3168,
    /// Accepted when the peer asks, not asked for.
    Passive,
    /// Accurate ECN asked for and accepted; RFC 3168 with a peer that has no more.
    AccEcn,
    /// Accurate ECN, or RFC 3168, accepted when the peer asks, nothing asked for.
    AccEcnPassive,
}

impl EcnNegotiation {
    /// Our SYN asks for ECN of some kind.
    pub const fn requests_ecn(self) -> bool {
        matches!(self, Self::Rfc3168 | Self::AccEcn)
    }
    /// Accurate ECN is accepted.
    pub const fn accepts_accecn(self) -> bool {
        matches!(self, Self::AccEcn | Self::AccEcnPassive)
    }
}

/// Which packets of an ECN connection carry ECT(0).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EctClass {
    /// New data only (RFC 3168 §6.1.4 to §6.1.6).
    Data,
    /// Every packet, SYN and pure ACK included (Linux with a control that needs ECN).
    All,
    /// Every packet but SYN and SYN-ACK.
    AllButSyn,
}

/// What receivers echo when one ACK stands for several segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DelayEchoRule {
    /// The mean of all (DX §V-A, "LRO handling").
    Mean,
    /// The newest; the others are discarded (DX §V-A, "delayed ACK").
    Newest,
}

/// When the sender sets CWR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CwrRule {
    /// Never (DCTCP §3 does not mention it).
    Never,
    /// On the first new data after a reduction (RFC 3168 §6.1.2).
    AfterReduction,
}

/// How often ECN may cut the window.
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
    /// That of the echoed timestamp, where timestamps are agreed.
    Timestamps,
}

/// When a new cut becomes possible after one at which SND.NXT was `R`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CutRoundEnd {
    /// When SND.UNA has reached `R`.
    AtPoint,
    /// When SND.UNA has passed `R`.
    PastPoint,
}

/// When the window may not grow because of an ECN reaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FreezeGrowth {
    /// Only on the very ACK that cuts (RFC 8257 §3.4).
    Off,
    /// On every ACK that carries ECE (RFC 3168 §6.1.2).
    EceAcks,
    /// From the cut until its window of data is acknowledged ("congestion recovery"), as [`CutRoundEnd`]
    /// says it.
    Round,
}

/// How losses are found and repaired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecoveryRule {
    /// RFC 6675 where SACK was agreed, else RFC 6582.
    Sack,
    /// RFC 8985 (RACK) where SACK was agreed, else RFC 6582.
    Rack,
    /// RFC 6582 always.
    NewReno,
}

/// How the window comes down to what a reaction leaves of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reduction {
    /// At once; nothing is sent until the pipe has drained below it (RFC 5681 §3.2, RFC 3168 §6.1.2).
    OneStep,
    /// In proportion to what is delivered, over a round trip (RFC 9937). The window does not grow
    /// meanwhile, whatever [`FreezeGrowth`] says.
    Prr,
}

/// When data that the window lets go really goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacingRule {
    /// At once.
    Off,
    /// At the rate that the control states; at once where it states none.
    Control,
    /// At the rate that the control states, else at one that follows from the window and the round
    /// trip.
    Window,
}

/// Whether a loss reaction that was not needed is taken back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UndoRule {
    /// Never.
    Off,
    /// When timestamps show that the original got through (Eifel, RFC 3522 and RFC 4015).
    Eifel,
}

/// How the initial sequence number is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IsnRule {
    /// `M + F(connection, secret)` with a clock `M` (RFC 6528 §3).
    Rfc6528,
    /// Drawn.
    Random,
}

/// Whether a listener answers SYNs without state (RFC 4987 §3.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SynCookies {
    /// Never: a SYN that finds no room is dropped.
    Off,
    /// Where as many connections are half open as may be.
    WhenFull,
}

/// Where the clock of TSval begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimestampOffset {
    /// `F` over addresses and ports, with a secret of its own (RFC 7323 §5.4).
    PerConnection,
    /// `F` over the two addresses (Linux 6.18): what comes later from a host has a later stamp.
    PerHostPair,
    /// Drawn.
    Random,
    /// At zero.
    Zero,
}

/// The initial window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InitialWindow {
    /// `min(10 MSS, max(2 MSS, 14600 B))`.
    Rfc6928,
    /// `min(4 MSS, max(2 MSS, 4380 B))`.
    Rfc3390,
    /// That many segments.
    Segments(u32),
}

/// What the minimum RTO bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RtoMinApplies {
    /// The whole timeout (RFC 6298 §2.4).
    Timeout,
    /// The variance term, so that the timeout is at least SRTT plus the minimum (Linux).
    Variance,
}

/// All settings of one side of a connection.
#[expect(clippy::struct_excessive_bools, reason = "independent switches")]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    // Sender.
    /// Name of the congestion control in its registry.
    pub cc: &'static str,
    /// Name of the feedback decoder in its registry.
    pub feedback: &'static str,
    /// Which packets carry ECT(0).
    pub ect: EctClass,
    /// When CWR is set.
    pub cwr: CwrRule,
    /// How often ECN may cut.
    pub cut: CutRule,
    /// When the next cut is possible.
    pub recut: CutRoundEnd,
    /// When growth stops for ECN.
    pub freeze_growth: FreezeGrowth,
    /// The least window after an ECN or loss reaction, in segments (1 or 2).
    pub window_floor: u32,
    /// The least ssthresh after such a reaction, in segments (1 or 2); never below the window.
    pub ssthresh_floor: u32,
    /// The window at the start and the bound after idle.
    pub initial_window: InitialWindow,
    /// Byte counting: bytes per ACK that count in slow start, in segments (RFC 3465 L).
    pub abc_limit: u32,
    /// Restart from the initial window after an idle RTO (RFC 5681 §4.1).
    pub idle_restart: bool,
    /// Loss recovery.
    pub recovery: RecoveryRule,
    /// How the window comes down after a loss or an ECN cut.
    pub reduction: Reduction,
    /// Probe when the tail of a flight stays unacknowledged (RFC 8985 §7); needs SACK.
    pub tail_loss_probe: bool,
    /// How long the peer may hold an ACK back, as far as probes of a single segment reckon.
    pub max_ack_delay: Duration,
    /// Added to the timers of tail loss probes and reordering, for clocks that are coarse.
    pub loss_timer_slack: Duration,
    /// The timers of tail loss probes and reordering run for whole multiples of this; zero for any duration.
    pub loss_timer_granularity: Duration,
    /// Round-trip sample of a handshake that was repeated.
    pub handshake_rtt: HandshakeRtt,
    /// Taking back a loss reaction.
    pub undo: UndoRule,
    /// Send new data on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Hold back small segments while data is outstanding (RFC 9293 §3.7.4).
    pub nagle: bool,
    /// How data is spaced.
    pub pacing: PacingRule,
    /// RTO before the first sample.
    pub rto_initial: Duration,
    /// The least RTO.
    pub rto_min: Duration,
    /// What the least RTO bounds.
    pub rto_min_applies: RtoMinApplies,
    /// The largest RTO.
    pub rto_max: Duration,
    /// Clock granularity G of RFC 6298; timeouts are whole multiples of it.
    pub rto_granularity: Duration,
    /// The tick of the clock that round trips are measured with; zero measures exactly.
    pub rtt_granularity: Duration,
    /// SYN and SYN-ACK retransmissions before giving up.
    pub syn_retries: u32,
    /// Data retransmission timeouts in a row before giving up (R2 of RFC 9293 §3.8.3).
    pub retries: u32,
    /// Bytes that the application may have unacknowledged or unsent.
    pub send_buffer: Bytes,
    /// Most segments in one [`crate::Transmit`] (segmentation offload).
    pub tso_segments: u32,
    /// New data that is less than one over this of the window waits for a larger burst; zero never waits.
    pub tso_defer: u32,

    // Receiver.
    /// Name of the acknowledgement policy in its registry.
    pub ack: &'static str,
    /// Acknowledge at least every so many segments (m).
    pub delack_segments: u32,
    /// The longest an ACK waits.
    pub delack_timer: Duration,
    /// Receive buffer, which bounds the window that is offered.
    pub receive_buffer: Bytes,
    /// Report duplicates (RFC 2883).
    pub dsack: bool,

    // Both sides of one connection.
    /// Largest IP packet, in bytes.
    pub mtu: u32,
    /// The least MSS that the peer or a path can bring about, bytes with options; not above that of `mtu`.
    pub min_mss: u32,
    /// ECN negotiation.
    pub ecn: EcnNegotiation,
    /// SYNs that get lost end the wish for ECN.
    pub ecn_fallback: bool,
    /// Offer and use timestamps (RFC 7323).
    pub timestamps: bool,
    /// The tick of TSval.
    pub timestamp_granularity: Duration,
    /// Offer and use SACK (RFC 2018).
    pub sack: bool,
    /// Offer and use window scaling (RFC 7323).
    pub window_scaling: bool,
    /// Offer and use the delay option of DX.
    pub delay_option: bool,
    /// What an ACK of several segments echoes of their stamps.
    pub delay_echo: DelayEchoRule,
    /// How far above the least round trip still counts as the least.
    pub delay_slack: Duration,
    /// How long a least round trip that is not met is kept; zero is for ever.
    pub delay_lifetime: Duration,
    /// How long TIME-WAIT lasts (2 MSL).
    pub time_wait: Duration,
    /// What a RST does in TIME-WAIT.
    pub time_wait_reset: TimeWaitReset,

    // Numbers that strangers cannot guess, and what strangers may send.
    /// Initial sequence numbers.
    pub isn: IsnRule,
    /// The tick of their clock.
    pub isn_tick: Duration,
    /// Where the clock of TSval begins.
    pub timestamp_offset: TimestampOffset,
    /// SYN cookies of a listener.
    pub syn_cookies: SynCookies,
    /// Which RST ends the connection.
    pub rst_accept: RstAccept,
    /// What a SYN in a synchronised state gets.
    pub syn_answer: SynAnswer,
    /// How old an acknowledgement number may be.
    pub ack_accept: AckAccept,
    /// Challenge ACKs in one interval; `u32::MAX` for no limit.
    pub challenge_ack_limit: u32,
    /// That interval.
    pub challenge_ack_interval: Duration,
    /// Which ACKs count.
    pub ack_throttle: AckThrottle,

    // Whether the peer is still there.
    /// Probe a connection on which nothing happens.
    pub keep_alive: bool,
    /// How long nothing must have been heard before the first probe.
    pub keep_alive_idle: Duration,
    /// The time between probes.
    pub keep_alive_interval: Duration,
    /// Unanswered probes before giving up.
    pub keep_alive_count: u32,
    /// How long sent data may stay unacknowledged, or wait for a closed window; zero for as long as
    /// the retries last.
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

impl Default for Config {
    /// The `rfc` profile.
    fn default() -> Self {
        Self {
            cc: "newreno",
            feedback: "rfc3168",
            ect: EctClass::Data,
            cwr: CwrRule::AfterReduction,
            cut: CutRule::PerWindow,
            recut: CutRoundEnd::PastPoint,
            freeze_growth: FreezeGrowth::EceAcks,
            window_floor: 2,
            ssthresh_floor: 1,
            initial_window: InitialWindow::Rfc6928,
            abc_limit: 2,
            idle_restart: true,
            recovery: RecoveryRule::Sack,
            reduction: Reduction::OneStep,
            tail_loss_probe: false,
            max_ack_delay: Duration::from_ms(200),
            loss_timer_slack: Duration::ZERO,
            loss_timer_granularity: Duration::ZERO,
            handshake_rtt: HandshakeRtt::Karn,
            undo: UndoRule::Off,
            limited_transmit: true,
            nagle: true,
            pacing: PacingRule::Control,
            rto_initial: Duration::from_secs(1),
            rto_min: Duration::from_secs(1),
            rto_min_applies: RtoMinApplies::Timeout,
            rto_max: Duration::from_secs(60),
            rto_granularity: Duration::from_ms(1),
            rtt_granularity: Duration::ZERO,
            syn_retries: 7,
            retries: 15,
            send_buffer: Bytes::new(4_000_000),
            tso_segments: 1,
            tso_defer: 0,
            ack: "rfc3168",
            delack_segments: 2,
            delack_timer: Duration::from_ms(200),
            receive_buffer: Bytes::new(4_000_000),
            dsack: true,
            mtu: 1500,
            min_mss: 48,
            ecn: EcnNegotiation::Off,
            ecn_fallback: true,
            timestamps: true,
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
