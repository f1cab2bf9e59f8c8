//! What a connection shows of itself, with the names of `tcp_info` where one exists.

use lowtide_units::{Duration, HostStamp, Instant, Rate};

use crate::cc::DelackDetection;
use crate::delay::DelayMode;
use crate::ecn::EcnMode;
use crate::sender::LimitedBy;
use crate::state::State;

/// Counters since the connection was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Payload bytes sent more than once.
    pub bytes_retrans: u64,
    /// Data segments sent, retransmissions included.
    pub data_segs_out: u64,
    /// Retransmission timeouts.
    pub rto_count: u64,
    /// Fast-recovery episodes.
    pub fast_retransmits: u64,
    /// Loss reactions that were taken back.
    pub undos: u64,
    /// Tail loss probes sent (RFC 8985 §7).
    pub loss_probes: u64,
    /// Losses that such a probe repaired unseen.
    pub loss_probe_recoveries: u64,
    /// Reductions because of ECN.
    pub ecn_reductions: u64,
    /// Reductions because of queueing delay.
    pub delay_reductions: u64,
    /// Payload bytes that the decoder counted as CE.
    pub delivered_ce_bytes: u64,
    /// Segments that the decoder counted as CE; with Accurate ECN packets without payload as well.
    pub delivered_ce_segs: u64,
    /// Segments that were not used.
    pub rejected: u64,
    /// Challenge ACKs sent (RFC 5961).
    pub challenge_acks: u64,
    /// ACKs that the limit on challenge ACKs held back.
    pub throttled_acks: u64,
}

/// One look at a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Info {
    /// State.
    pub state: State,
    /// ECN as agreed.
    pub ecn: EcnMode,
    /// Data is sent with ECT: ECN was agreed, and nothing spoke against it.
    pub ect: bool,
    /// With Accurate ECN: packets that came with CE, with payload or without, SYNs apart.
    pub received_ce_pkts: u64,
    /// Name of the congestion control that acts: another than the wished one where that one cannot
    /// work, as its file says.
    pub cc: &'static str,
    /// Host stamps as agreed.
    pub delay: DelayMode,
    /// Time in queues that the last echo told of, one way, where host stamps are agreed.
    pub queueing_delay: Option<Duration>,
    /// Congestion window, bytes; zero before ESTABLISHED. While PRR brings it down: what is in flight and
    /// what may go.
    pub snd_cwnd: u64,
    /// Slow-start threshold, bytes.
    pub snd_ssthresh: Option<u64>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// The same as this host shows it: in whole ticks of `rtt-granularity`.
    pub srtt_quantised: Option<Duration>,
    /// Its mean deviation.
    pub rttvar: Duration,
    /// The least round-trip time seen.
    pub min_rtt: Option<Duration>,
    /// Retransmission timeout, backoff included.
    pub rto: Duration,
    /// Bytes in the network (RFC 6675 pipe).
    pub in_flight: u64,
    /// Payload bytes acknowledged.
    pub bytes_acked: u64,
    /// Payload bytes received in order.
    pub bytes_received: u64,
    /// Of all payload bytes that came, those with CE.
    pub marked_bytes: u64,
    /// All payload bytes that came, duplicates included.
    pub received_bytes: u64,
    /// The peer's window, bytes.
    pub snd_wnd: u64,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// What limits the sender.
    pub limited_by: LimitedBy,
    /// The rate at which data is spaced, where it is.
    pub pacing_rate: Option<Rate>,
    /// In loss recovery.
    pub in_recovery: bool,
    /// A retransmission timeout fired, and what was outstanding then is not all acknowledged.
    pub after_rto: bool,
    /// When data was last sent, or acknowledged for the first time; the start before that.
    pub last_progress: Instant,
    /// The host's clock when the last segment really left, where the driver stamps.
    pub last_departure: Option<HostStamp>,
    /// ACKs of this end that its delayed-ACK timer released.
    pub delack_timeouts: u32,
    /// How long the data that they acknowledge had waited, all together.
    pub delack_time: Duration,
    /// How often the control guessed right at delayed-ACK timeouts.
    pub delack_detection: DelackDetection,
    /// Counters.
    pub counters: Counters,
}
