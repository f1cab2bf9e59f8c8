//! The counters of a flow's two connections as columns.

use lowtide_rows::TcpCounters;
use lowtide_tcp::Counters;
use lowtide_tcp::cc::DelackDetection;
use lowtide_units::Duration;

/// Returns the counters of a flow from those of its ends. An end that never opened has counted
/// nothing. `sender` has the counters of the connection and of its control; `delack` is the
/// receiver's number of delayed-ACK timeouts, and their total delay.
pub fn tcp_counters(
    sender: Option<(Counters, DelackDetection)>,
    delack: Option<(u32, Duration)>,
) -> TcpCounters {
    let (counters, detection) = sender.unwrap_or_default();
    TcpCounters {
        bytes_retrans: Some(counters.bytes_retrans),
        data_segs_out: Some(counters.data_segs_out),
        rto_count: Some(counters.rto_count),
        fast_retransmits: Some(counters.fast_retransmits),
        undos: Some(counters.undos),
        ecn_reductions: Some(counters.ecn_reductions),
        delack_timeouts: Some(delack.map_or(0, |(timeouts, _)| u64::from(timeouts))),
        delack_time_ps: Some(delack.map_or(0, |(_, time)| time.as_ps())),
        delack_detected: Some(u64::from(detection.true_positives)),
        delack_missed: Some(u64::from(detection.false_negatives)),
        delack_false_positives: Some(u64::from(detection.false_positives)),
        delay_reductions: Some(counters.delay_reductions),
        delivered_ce_bytes: Some(counters.delivered_ce_bytes),
    }
}
