//! Snapshot of one end of a connection, for both stacks.

use lowtide_host::tcp_counters;
use lowtide_rows::TcpCounters;
use lowtide_sockets::ConnInfo;
use lowtide_tcp::EcnMode;
use lowtide_units::{Duration, Rate};

/// Values of one end; `None` if the stack does not provide them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct SocketInfo {
    /// The active congestion control.
    pub(crate) cc: String,
    /// ECN was negotiated.
    pub(crate) ecn: Option<bool>,
    /// ECN mode, if the stack reports it.
    pub(crate) ecn_mode: Option<EcnMode>,
    pub(crate) delay_option: bool,
    pub(crate) mss: Option<u32>,
    pub(crate) cwnd: Option<u64>,
    pub(crate) ssthresh: Option<u64>,
    pub(crate) srtt: Option<Duration>,
    pub(crate) srtt_quantised: Option<Duration>,
    pub(crate) rto: Option<Duration>,
    pub(crate) in_flight: Option<u64>,
    pub(crate) pacing_rate: Option<Rate>,
    pub(crate) alpha_q20: Option<u64>,
    pub(crate) queueing_delay: Option<Duration>,
    /// Payload bytes acknowledged by the peer.
    pub(crate) acked: Option<u64>,
    /// Payload bytes written and not acknowledged.
    pub(crate) unacknowledged: Option<u64>,
    /// Payload bytes received in order.
    pub(crate) received: Option<u64>,
    pub(crate) segments_in: Option<u64>,
    /// Counters of this end, as sender and as receiver.
    pub(crate) tcp: TcpCounters,
    /// Segments that the peer reported as marked, as precisely as its feedback allows.
    pub(crate) delivered_ce_segs: Option<u64>,
    /// Payload bytes received with CE.
    pub(crate) received_ce_bytes: Option<u64>,
    /// All payload bytes received, duplicates included.
    pub(crate) received_bytes: Option<u64>,
}

impl SocketInfo {
    /// Snapshot of a lowtide connection.
    pub(crate) fn from_lowtide(info: &ConnInfo) -> Self {
        let tcp = &info.tcp;
        Self {
            cc: tcp.cc.to_owned(),
            ecn: Some(tcp.ecn != EcnMode::Off),
            ecn_mode: Some(tcp.ecn),
            delay_option: tcp.delay == lowtide_tcp::DelayMode::On,
            mss: Some(tcp.mss),
            cwnd: Some(tcp.snd_cwnd),
            ssthresh: tcp.snd_ssthresh,
            srtt: tcp.srtt,
            srtt_quantised: tcp.srtt_quantised,
            rto: Some(tcp.rto),
            in_flight: Some(tcp.in_flight),
            pacing_rate: tcp.pacing_rate,
            alpha_q20: info.alpha_q20,
            queueing_delay: tcp.queueing_delay,
            acked: Some(tcp.bytes_acked),
            unacknowledged: None,
            received: Some(tcp.bytes_received),
            segments_in: None,
            tcp: tcp_counters(
                Some((tcp.counters, tcp.delack_detection)),
                Some((tcp.delack_timeouts, tcp.delack_time)),
            ),
            delivered_ce_segs: Some(tcp.counters.delivered_ce_segs),
            received_ce_bytes: Some(tcp.received_ce_bytes),
            received_bytes: Some(tcp.received_bytes),
        }
    }
}
