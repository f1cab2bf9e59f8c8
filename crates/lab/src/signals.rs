//! Congestion signals that the senders of a traffic group sent and received, summed over its flows.

use lowtide_rows::{EcnCounters, FlowRow, SharedText};
use lowtide_tcp::EcnMode;
use serde::Serialize;

/// Congestion signals of a group's flows: segments after the warm-up, bytes and reductions over the
/// whole run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct SignalFacts {
    /// Congestion control that the senders requested, if all requested the same.
    pub cc: Option<String>,
    /// Effective congestion control, if it is the same for all.
    pub cc_used: Option<String>,
    /// Payload bytes of a full segment, if it is the same for all.
    pub mss_bytes: Option<u32>,
    /// Flows that negotiated ECN.
    pub ecn_flows: usize,
    /// Flows that negotiated Accurate ECN: there ECE and CWR are bits of a counter (RFC 9768
    /// §3.2.2), so their counts do not have the meaning of RFC 3168.
    pub accecn_flows: usize,
    /// Data segments sent, retransmissions included.
    pub data_segments: u64,
    /// Data segments with an ECN-capable codepoint.
    pub ect_segments: u64,
    /// Data segments with CWR.
    pub cwr_segments: u64,
    /// Data segments that reached the receivers.
    pub arrived_segments: u64,
    /// Data segments that reached the receivers with CE.
    pub received_ce_segments: u64,
    /// ACKs that reached the senders.
    pub acks: u64,
    /// ACKs with ECE that reached the senders.
    pub ece_acks: u64,
    /// Payload bytes that arrived, including duplicates.
    pub received_bytes: u64,
    /// Payload bytes that arrived with CE.
    pub received_ce_bytes: u64,
    /// Payload bytes that the senders' decoders counted as marked.
    pub delivered_ce_bytes: u64,
    /// Window reductions because of ECN.
    pub ecn_reductions: u64,
    /// Recovery episodes begun by duplicate ACKs or SACK.
    pub fast_retransmits: u64,
}

impl SignalFacts {
    /// Sums over flows; `None` if an end of a flow did not count all of it.
    pub(crate) fn new(flows: &[&FlowRow]) -> Option<Self> {
        let sum =
            |of: fn(&FlowRow) -> Option<u64>| flows.iter().map(|f| of(f)).sum::<Option<u64>>();
        let wire = flows.iter().try_fold(EcnCounters::default(), |sum, flow| {
            flow.ecn_counters.map(|counters| sum.plus(&counters))
        })?;
        let first = flows.first();
        let common = |of: fn(&FlowRow) -> &SharedText| {
            let one = first.map(|f| of(f)).filter(|cc| flows.iter().all(|f| of(f) == *cc));
            one.map(ToString::to_string)
        };
        let mss = first.and_then(|f| f.mss_bytes);
        Some(Self {
            cc: common(|f| &f.cc),
            cc_used: common(|f| &f.cc_used),
            mss_bytes: mss.filter(|_| flows.iter().all(|f| f.mss_bytes == mss)),
            ecn_flows: flows.iter().filter(|f| f.ecn).count(),
            accecn_flows: flows.iter().filter(|f| f.ecn_mode == EcnMode::AccEcn.name()).count(),
            data_segments: wire.data_segs_out_after_warmup,
            ect_segments: wire.ect_segs_out_after_warmup,
            cwr_segments: wire.cwr_segs_out_after_warmup,
            arrived_segments: wire.data_segs_in_after_warmup,
            received_ce_segments: wire.ce_segs_in_after_warmup,
            acks: wire.acks_in_after_warmup,
            ece_acks: wire.ece_acks_in_after_warmup,
            received_bytes: sum(|f| f.received_bytes)?,
            received_ce_bytes: sum(|f| f.received_ce_bytes)?,
            delivered_ce_bytes: sum(|f| f.tcp.delivered_ce_bytes)?,
            ecn_reductions: sum(|f| f.tcp.ecn_reductions)?,
            fast_retransmits: sum(|f| f.tcp.fast_retransmits)?,
        })
    }

    /// Adds another seed; the initial value is `default`.
    pub fn merge(self, other: &Self) -> Self {
        let first = self == Self::default();
        Self {
            cc: if first {
                other.cc.clone()
            } else {
                self.cc.filter(|c| Some(c) == other.cc.as_ref())
            },
            cc_used: if first {
                other.cc_used.clone()
            } else {
                self.cc_used.filter(|c| Some(c) == other.cc_used.as_ref())
            },
            mss_bytes: if first {
                other.mss_bytes
            } else {
                self.mss_bytes.filter(|m| Some(*m) == other.mss_bytes)
            },
            ecn_flows: self.ecn_flows + other.ecn_flows,
            accecn_flows: self.accecn_flows + other.accecn_flows,
            data_segments: self.data_segments + other.data_segments,
            ect_segments: self.ect_segments + other.ect_segments,
            cwr_segments: self.cwr_segments + other.cwr_segments,
            arrived_segments: self.arrived_segments + other.arrived_segments,
            received_ce_segments: self.received_ce_segments + other.received_ce_segments,
            received_bytes: self.received_bytes + other.received_bytes,
            received_ce_bytes: self.received_ce_bytes + other.received_ce_bytes,
            acks: self.acks + other.acks,
            ece_acks: self.ece_acks + other.ece_acks,
            delivered_ce_bytes: self.delivered_ce_bytes + other.delivered_ce_bytes,
            ecn_reductions: self.ecn_reductions + other.ecn_reductions,
            fast_retransmits: self.fast_retransmits + other.fast_retransmits,
        }
    }
}
