//! A snapshot of a connection.

use lowtide_tcp::units::{Duration, Rate};
use lowtide_tcp::{Connection, Info};
use pyo3::prelude::*;

use super::values::state_name;

/// State of a connection, with the names of Linux's `tcp_info` where they exist. Sizes are bytes,
/// times picoseconds, rates bit/s.
#[pyclass(frozen, get_all, module = "lowtide")]
#[derive(Clone, Debug)]
pub(crate) struct ConnectionInfo {
    /// State as RFC 9293 names it, as "ESTABLISHED".
    state: &'static str,
    /// The active congestion control. A control that cannot work runs as NewReno.
    cc: &'static str,
    /// ECN as negotiated: "off", "rfc3168" or "accecn".
    ecn: &'static str,
    /// Data is sent with ECT.
    ect: bool,
    /// Congestion window, bytes; zero before ESTABLISHED.
    cwnd: u64,
    /// Slow-start threshold, bytes; None before the first reaction.
    ssthresh: Option<u64>,
    /// Share of marked data as the control estimates it, 0 to 1; None for one without alpha.
    alpha: Option<f64>,
    /// Smoothed round-trip time, ps.
    srtt: Option<u64>,
    /// Mean deviation of the round-trip time, ps.
    rttvar: u64,
    /// Minimum round-trip time seen, ps.
    min_rtt: Option<u64>,
    /// Retransmission timeout with backoff, ps.
    rto: u64,
    /// Queueing delay in the last echo of the delay option, ps.
    queueing_delay: Option<u64>,
    /// Pacing rate, bit/s, if data is paced.
    pacing_rate: Option<u64>,
    /// Bytes in flight (RFC 6675 pipe).
    in_flight: u64,
    /// Payload bytes acknowledged.
    bytes_acked: u64,
    /// Payload bytes received in order.
    bytes_received: u64,
    /// Payload bytes received with CE.
    received_ce_bytes: u64,
    /// Window of the peer, bytes.
    snd_wnd: u64,
    /// Payload bytes of a full segment.
    mss: u32,
    /// The limit of the sender: application, cwnd, receive-window or send-buffer.
    limited_by: &'static str,
    /// In loss recovery.
    in_recovery: bool,
    /// A retransmission timeout fired, and the data outstanding then is not all acknowledged.
    after_rto: bool,
    /// Data segments sent, retransmissions included.
    data_segs_out: u64,
    /// Payload bytes retransmitted.
    bytes_retrans: u64,
    /// Retransmission timeouts.
    rto_count: u64,
    /// Episodes of fast recovery.
    fast_retransmits: u64,
    /// Loss reactions undone as spurious.
    undos: u64,
    /// Tail loss probes sent.
    loss_probes: u64,
    /// Reductions because of ECN.
    ecn_reductions: u64,
    /// Reductions because of queueing delay.
    delay_reductions: u64,
    /// Payload bytes that the feedback decoder counted as CE.
    delivered_ce_bytes: u64,
    /// Segments rejected.
    rejected: u64,
}

impl From<&Connection> for ConnectionInfo {
    fn from(conn: &Connection) -> Self {
        let info: Info = conn.info();
        let counters = info.counters;
        Self {
            state: state_name(Some(info.state)),
            cc: info.cc,
            ecn: info.ecn.name(),
            ect: info.ect,
            cwnd: info.snd_cwnd,
            ssthresh: info.snd_ssthresh,
            alpha: conn.alpha_q20().map(|alpha| alpha as f64 / f64::from(1 << 20)),
            srtt: info.srtt.map(Duration::as_ps),
            rttvar: info.rttvar.as_ps(),
            min_rtt: info.min_rtt.map(Duration::as_ps),
            rto: info.rto.as_ps(),
            queueing_delay: info.queueing_delay.map(Duration::as_ps),
            pacing_rate: info.pacing_rate.map(Rate::as_bps),
            in_flight: info.in_flight,
            bytes_acked: info.bytes_acked,
            bytes_received: info.bytes_received,
            received_ce_bytes: info.received_ce_bytes,
            snd_wnd: info.snd_wnd,
            mss: info.mss,
            limited_by: info.limited_by.name(),
            in_recovery: info.in_recovery,
            after_rto: info.after_rto,
            data_segs_out: counters.data_segs_out,
            bytes_retrans: counters.bytes_retrans,
            rto_count: counters.rto_count,
            fast_retransmits: counters.fast_retransmits,
            undos: counters.undos,
            loss_probes: counters.loss_probes,
            ecn_reductions: counters.ecn_reductions,
            delay_reductions: counters.delay_reductions,
            delivered_ce_bytes: counters.delivered_ce_bytes,
            rejected: counters.rejected,
        }
    }
}

#[pymethods]
impl ConnectionInfo {
    fn __repr__(&self) -> String {
        let Self { state, cc, cwnd, in_flight, .. } = self;
        format!(
            "lowtide.ConnectionInfo(state={state:?}, cc={cc:?}, cwnd={cwnd}, in_flight={in_flight})"
        )
    }
}
