//! The table of flows, and the counters of their ends.

use crate::shared_text::SharedText;
use crate::table::{group, names, table};

names! {
    /// The final status of a flow or a query.
    FlowStatus:
    /// All bytes were delivered to the receiving application.
    Complete = "complete";
    /// The run ended first, or the flow has no size.
    Unfinished = "unfinished";
    /// The connection failed: reset, refused, or timed out.
    Failed = "failed";
}

names! {
    /// The reason why a sized flow was waiting at the end of the run or at its failure.
    StallReason:
    /// Its application had not opened it.
    NotStarted = "not-started";
    /// The handshake was not complete.
    Handshake = "handshake";
    /// Loss recovery after an RTO, or waiting for an RTO or a delayed ACK: data in flight, and no
    /// transmission or new ACK for two SRTTs.
    Rto = "rto";
    /// Zero window.
    ZeroWindow = "zero-window";
    /// The receive window was open but limited the sender.
    ReceiveWindow = "receive-window";
    /// The application had written no more data.
    Application = "application";
    /// Not stalled: it was sending, or its last data were in flight.
    Sending = "sending";
}

names! {
    /// The sending end of a connection.
    Role:
    /// The client, which opened the connection.
    Flow = "flow";
    /// The server of a query, which sends the answers.
    Answers = "answers";
}

names! {
    /// Class of a host in a mixed deployment.
    DeploymentClass:
    /// A host that was not moved.
    Old = "old";
    /// A host that was moved to the deployed stack.
    New = "new";
}

group! {
    /// Counters of TCP at the ends of a flow over the whole run. Values that an end did not count
    /// are null, as the kernel reports less than the simulator.
    #[derive(Copy, Eq, Default)]
    TcpCounters:
    bytes_retrans: Option<u64>, "bytes", "Retransmitted payload bytes.";
    data_segs_out: Option<u64>, "segments", "Data segments sent, retransmissions included.";
    rto_count: Option<u64>, "", "Retransmission timeouts at the sender.";
    fast_retransmits: Option<u64>, "", "Recovery episodes begun by duplicate ACKs or SACK.";
    undos: Option<u64>, "", "Loss reactions undone as spurious: nothing was lost.";
    ecn_reductions: Option<u64>, "", "Window reductions because of ECN.";
    delack_timeouts: Option<u64>, "", "ACKs sent by the receiver's delayed-ACK timer.";
    delack_time_ps: Option<u64>, "ps", "Total time that these ACKs were delayed.";
    delack_detected: Option<u64>, "", "Of these, ACKs that the sender's heuristic detected (tdctcp).";
    delack_missed: Option<u64>, "", "Of these, ACKs that the heuristic missed.";
    delack_false_positives: Option<u64>, "", "False positives of the heuristic.";
    delay_reductions: Option<u64>, "", "Window reductions because of queueing delay.";
    delivered_ce_bytes: Option<u64>, "bytes", "Payload bytes that the sender's decoder counted as marked.";
}

group! {
    /// ECN bits of a flow's segments on the wire after the warm-up, as its two hosts see them.
    /// With Accurate ECN the flags are a counter and have another meaning.
    #[derive(Copy, Eq, Default)]
    EcnCounters:
    data_segs_out_after_warmup: u64, "segments", "Data segments sent after the warm-up.";
    ect_segs_out_after_warmup: u64, "segments", "Of these, segments with an ECN-capable codepoint.";
    cwr_segs_out_after_warmup: u64, "segments", "Of these, segments with CWR.";
    data_segs_in_after_warmup: u64, "segments", "Data segments that reached the receiver after the warm-up.";
    ce_segs_in_after_warmup: u64, "segments", "Of these, segments with CE.";
    acks_in_after_warmup: u64, "segments", "ACKs that reached the sender after the warm-up.";
    ece_acks_in_after_warmup: u64, "segments", "Of these, ACKs with ECE.";
}

impl EcnCounters {
    /// Returns the sum.
    #[must_use]
    pub const fn plus(&self, more: &Self) -> Self {
        Self {
            data_segs_out_after_warmup: self.data_segs_out_after_warmup
                + more.data_segs_out_after_warmup,
            ect_segs_out_after_warmup: self.ect_segs_out_after_warmup
                + more.ect_segs_out_after_warmup,
            cwr_segs_out_after_warmup: self.cwr_segs_out_after_warmup
                + more.cwr_segs_out_after_warmup,
            data_segs_in_after_warmup: self.data_segs_in_after_warmup
                + more.data_segs_in_after_warmup,
            ce_segs_in_after_warmup: self.ce_segs_in_after_warmup + more.ce_segs_in_after_warmup,
            acks_in_after_warmup: self.acks_in_after_warmup + more.acks_in_after_warmup,
            ece_acks_in_after_warmup: self.ece_acks_in_after_warmup + more.ece_acks_in_after_warmup,
        }
    }
}

table! {
    #[derive(Eq)]
    FlowRow, "flows", "One flow.":
    flow: u32, "", "Number of the flow in its run.";
    group: SharedText, "", "Traffic group.";
    role: Role, "", "The sending end: flow for the client that opened the connection, answers for the server of a query.";
    src: SharedText, "", "Sending host.";
    dst: SharedText, "", "Receiving host.";
    src_deployment: Option<DeploymentClass>, "", "Class of the sending host in the scenario's deployment, old or new; null without a deployment.";
    dst_deployment: Option<DeploymentClass>, "", "Class of the receiving host in the scenario's deployment, old or new; null without a deployment.";
    sport: u16, "", "Port of the sender.";
    dport: u16, "", "Port of the receiver.";
    size_bytes: Option<u64>, "bytes", "Requested bytes; null for an unlimited flow and for a connection that stays open between queries.";
    start_ps: u64, "ps", "Time of the application's open; with `connect = \"early\"` of its first write.";
    counted: Option<bool>, "", "Whether statistics count it: docs/reference/measures.md has the rule; null in a table of an earlier version.";
    established_ps: Option<u64>, "ps", "End of the handshake at the client.";
    delivered_ps: Option<u64>, "ps", "Delivery of the last byte to the receiving application.";
    fct_ps: Option<u64>, "ps", "From `start_ps` to the last byte delivered.";
    transfer_ps: Option<u64>, "ps", "fct_ps without the part of the handshake after `start_ps`.";
    ideal_ps: Option<u64>, "ps", "fct_ps of the flow alone on its path, without queues and window limits; null for an unlimited flow.";
    delivered_bytes: u64, "bytes", "Bytes that reached the receiving application.";
    delivered_after_warmup_bytes: u64, "bytes", "Of these, bytes delivered after the warm-up.";
    /// Counters of TCP at its ends.
    tcp: TcpCounters;
    /// ECN bits of its segments; `None` if its hosts do not see them.
    ecn_counters: Option<EcnCounters>;
    received_ce_bytes: Option<u64>, "bytes", "Payload bytes that arrived with CE.";
    received_bytes: Option<u64>, "bytes", "Payload bytes that arrived, duplicates included.";
    srtt_ns: Option<u64>, "ns", "Smoothed round-trip time at the end of the flow.";
    srtt_quantised_ns: Option<u64>, "ns", "srtt_ns as the host reports it: in whole ticks of its clock (switch rtt-granularity), at least one.";
    mss_bytes: Option<u32>, "bytes", "Payload bytes of a full segment; null for a flow that never opened.";
    cc: SharedText, "", "Congestion control that the sender requested.";
    cc_used: SharedText, "", "Congestion control in use: newreno if the requested one needs the delay option or ECN and that was not negotiated.";
    feedback: SharedText, "", "Feedback decoder configured for the sender.";
    ack: SharedText, "", "Acknowledgement policy configured for the receiver.";
    ecn: bool, "", "Whether ECN was negotiated.";
    ecn_requested: SharedText, "", "ECN mode that the client requested: the switch `ecn`.";
    ecn_mode: SharedText, "", "Negotiated ECN mode: off, rfc3168 or accecn.";
    feedback_used: Option<SharedText>, "", "Decoder in use; null without ECN.";
    ack_used: SharedText, "", "Acknowledgement policy in use.";
    delay_option: bool, "", "Whether the delay option of DX was negotiated.";
    blocked_on: Option<StallReason>, "", "State of a finite flow that did not complete: not-started, handshake, rto, zero-window, receive-window, application, or sending; null if it completed, or if the state is unknown.";
    status: FlowStatus, "", "complete, unfinished or failed.";
    error: Option<SharedText>, "", "Cause of the failure of the connection.";
}

impl FlowRow {
    /// Returns whether statistics count the flow. Earlier versions counted all.
    pub fn is_counted(&self) -> bool {
        self.counted.unwrap_or(true)
    }
}

// A run keeps a row for each of its flows, perhaps a million.
const _: () = assert!(size_of::<FlowRow>() <= 576);
