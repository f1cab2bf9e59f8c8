//! The counters of a flow's two connections as columns.

use lowtide_rows::TcpCounters;
use lowtide_tcp::Info;

/// Returns the counters of a flow from those of its ends. An end that never opened has counted
/// nothing.
pub fn tcp_counters(sender: Option<&Info>, receiver: Option<&Info>) -> TcpCounters {
    let counters = sender.map(|s| s.counters).unwrap_or_default();
    let detection = sender.map(|s| s.delack_detection).unwrap_or_default();
    TcpCounters {
        bytes_retrans: Some(counters.bytes_retrans),
        data_segs_out: Some(counters.data_segs_out),
        rto_count: Some(counters.rto_count),
        fast_retransmits: Some(counters.fast_retransmits),
        ecn_reductions: Some(counters.ecn_reductions),
        delack_timeouts: Some(receiver.map_or(0, |r| u64::from(r.delack_timeouts))),
        delack_time_ps: Some(receiver.map_or(0, |r| r.delack_time.as_ps())),
        delack_detected: Some(u64::from(detection.true_positives)),
        delack_missed: Some(u64::from(detection.false_negatives)),
        delack_false_positives: Some(u64::from(detection.false_positives)),
        delay_reductions: Some(counters.delay_reductions),
        delivered_ce_bytes: Some(counters.delivered_ce_bytes),
    }
}
