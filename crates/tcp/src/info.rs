//! State that a connection reports, with the names of `tcp_info` where they exist.

use lowtide_units::{Duration, HostStamp, Instant, Rate};

use crate::cc::DelackDetection;
use crate::delay::DelayMode;
use crate::ecn::EcnMode;
use crate::send::sender::LimitedBy;
use crate::state::State;

/// Counters since the connection was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Payload bytes sent more than once.
    pub bytes_retrans: u64,
    /// Data segments sent, retransmissions included.
    pub data_segs_out: u64,
    /// Retransmission timeouts.
    pub rto_count: u64,
    /// Fast-recovery episodes.
    pub fast_retransmits: u64,
    /// Loss reactions undone as spurious.
    pub undos: u64,
    /// Tail loss probes sent (RFC 8985 §7).
    pub loss_probes: u64,
    /// Losses repaired by a tail loss probe without another loss signal.
    pub loss_probe_recoveries: u64,
    /// Reductions because of ECN.
    pub ecn_reductions: u64,
    /// Reductions because of queueing delay.
    pub delay_reductions: u64,
    /// Payload bytes that the decoder counted as CE.
    pub delivered_ce_bytes: u64,
    /// Segments that the decoder counted as CE; with Accurate ECN including packets without
    /// payload.
    pub delivered_ce_segs: u64,
    /// Segments rejected.
    pub rejected: u64,
    /// Challenge ACKs sent (RFC 5961).
    pub challenge_acks: u64,
    /// ACKs suppressed by the limit on challenge ACKs.
    pub throttled_acks: u64,
}

/// A snapshot of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Info {
    /// State.
    pub state: State,
    /// ECN as negotiated.
    pub ecn: EcnMode,
    /// Data is sent with ECT: ECN was negotiated, and no check has disabled it.
    pub ect: bool,
    /// With Accurate ECN: packets received with CE, with or without payload, except SYNs.
    pub received_ce_pkts: u64,
    /// With Accurate ECN: payload bytes received with ECT(1), CE and ECT(0), modulo 2^32.
    pub received_ecn_bytes: [u32; 3],
    /// As `received_ecn_bytes`, of our payload by the options that the peer sent.
    pub delivered_ecn_bytes: [u32; 3],
    /// SYN-ACKs of ours that the client's ACK reported with CE, 0 or 1.
    pub marked_syn_acks: u64,
    /// Name of the active congestion control. It differs from the configured one if that one cannot
    /// work, as documented in its file.
    pub cc: &'static str,
    /// Delay option as negotiated.
    pub delay: DelayMode,
    /// One-way queueing delay in the last echo, if the delay option is negotiated.
    pub queueing_delay: Option<Duration>,
    /// Round trip of the last echo between host timestamps, without the receiver's own delay
    /// (DX §V-A: `(t4 - t1) - (t3 - t2)`); noise may make it zero.
    pub stamped_rtt: Option<Duration>,
    /// Congestion window, bytes; zero before ESTABLISHED. During PRR: bytes in flight plus bytes
    /// that may be sent.
    pub snd_cwnd: u64,
    /// Slow-start threshold, bytes.
    pub snd_ssthresh: Option<u64>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// SRTT as this host reports it: in whole ticks of `rtt-granularity`.
    pub srtt_quantised: Option<Duration>,
    /// Mean deviation of the round-trip time.
    pub rttvar: Duration,
    /// The minimum round-trip time seen.
    pub min_rtt: Option<Duration>,
    /// Retransmission timeout, including backoff.
    pub rto: Duration,
    /// Size of the receive buffer, bytes; it grows if it is tuned.
    pub rcv_buffer: u64,
    /// Bytes in the network (RFC 6675 pipe).
    pub in_flight: u64,
    /// Payload bytes acknowledged.
    pub bytes_acked: u64,
    /// Payload bytes received in order.
    pub bytes_received: u64,
    /// Payload bytes received with CE.
    pub received_ce_bytes: u64,
    /// Payload bytes received, including duplicates.
    pub received_bytes: u64,
    /// The peer's window, bytes.
    pub snd_wnd: u64,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// The limit of the sender.
    pub limited_by: LimitedBy,
    /// The pacing rate, if data is paced.
    pub pacing_rate: Option<Rate>,
    /// In loss recovery.
    pub in_recovery: bool,
    /// A retransmission timeout fired, and the data outstanding then is not all acknowledged.
    pub after_rto: bool,
    /// Time when data was last sent or first acknowledged; before that, the start.
    pub last_progress: Instant,
    /// Departure of the last segment by the host's clock, if the driver timestamps.
    pub last_departure: Option<HostStamp>,
    /// ACKs of this end released by its delayed-ACK timer.
    pub delack_timeouts: u32,
    /// Total time that the data acknowledged by them had waited.
    pub delack_time: Duration,
    /// Correct guesses of the control at delayed-ACK timeouts.
    pub delack_detection: DelackDetection,
    /// Counters.
    pub counters: Counters,
}
