//! The tables: every column with its unit and what it says.
//!
//! Contract: names follow `ss -ti` and `tcp_info` where they have one, with the unit as a suffix.
//! A value that does not exist is null. Every table begins with `run`, `scheme`, one column per
//! swept key, and `seed`.

use crate::table::table;

table! {
    /// One run.
    RunRow, "runs":
    digest: String, "", "Digest of the observable physics, 16 hexadecimal digits.";
    reason: String, "", "Why the run ended: time, done or idle.";
    ended_ps: u64, "ps", "When the run ended.";
    warmup_ps: u64, "ps", "From when on queues and goodput were counted.";
    flows: u64, "", "Flows of the run.";
    complete: u64, "", "Flows of which every byte was delivered.";
    unfinished: u64, "", "Flows with a size that the end of the run cut off.";
    failed: u64, "", "Flows whose connection failed.";
    endless: u64, "", "Flows without a size, which ran until the end.";
    hops: u64, "packets", "Packets serialised by any output queue, hosts and ACKs included.";
    events: u64, "", "Events taken from the event queue.";
    segments: u64, "segments", "TCP segments handed to a connection.";
    rejected: u64, "segments", "Segments dropped as malformed or unacceptable.";
    cut: u64, "packets", "Packets lost with links that failed, after the warm-up.";
    unrouted: u64, "packets", "Packets dropped after the warm-up because a switch had no way to their host.";
}

table! {
    /// One flow. What an end did not count is null: the kernel tells less of itself than the simulator knows.
    FlowRow, "flows":
    flow: u32, "", "Number of the flow in its run.";
    group: String, "", "Traffic group.";
    role: String, "", "Who sends: flow, the client that opened the connection; or answers, the server that a query asked.";
    src: String, "", "Sending host.";
    dst: String, "", "Receiving host.";
    sport: u16, "", "Port of the sender.";
    dport: u16, "", "Port of the receiver.";
    size_bytes: Option<u64>, "bytes", "Bytes asked for; null for a flow without an end and for a connection that stays open from query to query.";
    start_ps: u64, "ps", "When the application opened the connection.";
    established_ps: Option<u64>, "ps", "When the handshake was over at the client.";
    delivered_ps: Option<u64>, "ps", "When the last byte reached the receiving application.";
    fct_ps: Option<u64>, "ps", "From the application's open to its last byte delivered.";
    transfer_ps: Option<u64>, "ps", "The same without the handshake.";
    ideal_ps: Option<u64>, "ps", "What fct_ps would be alone on the path, without queues and windows; null without a size.";
    delivered_bytes: u64, "bytes", "Bytes that reached the receiving application.";
    delivered_after_warmup_bytes: u64, "bytes", "Of these, bytes that came after the warm-up.";
    bytes_retrans: Option<u64>, "bytes", "Payload bytes sent more than once.";
    data_segs_out: Option<u64>, "segments", "Data segments sent, retransmissions included.";
    rto_count: Option<u64>, "", "Retransmission timeouts at the sender.";
    fast_retransmits: Option<u64>, "", "Recovery episodes begun by duplicate ACKs or SACK.";
    ecn_reductions: Option<u64>, "", "Window reductions because of ECN.";
    delack_timeouts: Option<u64>, "", "ACKs that the receiver's delayed-ACK timer released.";
    delack_time_ps: Option<u64>, "ps", "How long their data had waited, all together.";
    delack_found: Option<u64>, "", "Of these, found by the sender's rule, where its control guesses (tdctcp).";
    delack_missed: Option<u64>, "", "Of these, not found by the rule.";
    delack_imagined: Option<u64>, "", "ACKs that the rule took for such and that were not.";
    delay_reductions: Option<u64>, "", "Window reductions because of queueing delay.";
    heard_ce_bytes: Option<u64>, "bytes", "Payload bytes that the sender's decoder took for marked.";
    warm_data_segs_out: Option<u64>, "segments", "Data segments sent after the warm-up.";
    warm_ect_segs_out: Option<u64>, "segments", "Of these, segments with an ECN-capable codepoint.";
    warm_cwr_segs_out: Option<u64>, "segments", "Of these, segments with CWR.";
    warm_data_segs_in: Option<u64>, "segments", "Data segments that reached the receiver after the warm-up.";
    warm_ce_segs_in: Option<u64>, "segments", "Of these, segments with CE.";
    warm_acks_in: Option<u64>, "segments", "ACKs that reached the sender after the warm-up.";
    warm_ece_acks_in: Option<u64>, "segments", "Of these, ACKs with ECE.";
    marked_bytes: Option<u64>, "bytes", "Payload bytes that arrived with CE.";
    received_bytes: Option<u64>, "bytes", "Payload bytes that arrived, duplicates included.";
    srtt_ns: Option<u64>, "ns", "Smoothed round-trip time at the end of the flow.";
    srtt_shown_ns: Option<u64>, "ns", "The same as the host shows it: in whole ticks of the clock that it measures with (switch rtt-granularity), one at least.";
    mss_bytes: Option<u32>, "bytes", "Payload bytes of a full segment; null for a flow that never opened.";
    cc: String, "", "Congestion control that the sender wished for.";
    cc_used: String, "", "Congestion control that governed: newreno where the wished one needs the delay option or ECN and that was not agreed.";
    feedback: String, "", "Feedback decoder that was set for the sender.";
    ack: String, "", "Acknowledgement policy that was set for the receiver.";
    ecn: bool, "", "Whether ECN was agreed.";
    ecn_wish: String, "", "What the client wished of ECN: the switch `ecn`.";
    ecn_mode: String, "", "What was agreed: off, rfc3168 or accecn.";
    feedback_used: Option<String>, "", "Decoder that was really used; null without ECN.";
    ack_used: String, "", "Acknowledgement policy that was really used.";
    delay_option: bool, "", "Whether the delay option of DX was agreed.";
    stopped: Option<String>, "", "What a flow with a size that did not complete waited for: not-started, handshake, rto, zero-window, receive-window, application, or sending; null where it completed, or nobody knows.";
    status: String, "", "complete, unfinished or failed.";
    error: Option<String>, "", "Why the connection failed.";
}

impl FlowRow {
    /// The `role` of a connection over which queries are answered.
    pub const ANSWERS: &'static str = "answers";
}

table! {
    /// One query: a request to each of some servers at once, and their answers. The table is there only when
    /// there are askers.
    QueryRow, "queries":
    group: String, "", "Traffic group.";
    asker: u32, "", "Number of the asker in its run: one client and its servers.";
    query: u32, "", "Number of the query, from zero for each asker.";
    client: String, "", "The host that asks.";
    fan_out: u32, "", "Servers that it asks.";
    start_ps: u64, "ps", "When the client asks.";
    end_ps: Option<u64>, "ps", "When the last byte of the last answer reached the client's application.";
    qct_ps: Option<u64>, "ps", "Query completion time: from start to end.";
    answer_bytes: u64, "bytes", "Bytes of all its answers.";
    deadline_met: Option<bool>, "", "Whether all answers were there in time; null without a deadline, or where the run ended before it.";
    timeouts: u64, "", "Retransmission timeouts of its connections, at either end, from request to answer.";
    bytes_retrans: u64, "bytes", "Payload bytes that its connections sent more than once in that time.";
    in_warmup: bool, "", "Whether it began before the warm-up was over.";
    status: String, "", "complete, unfinished or failed.";
    error: Option<String>, "", "Why it failed: how a connection ended before its answer was there.";
}

table! {
    /// A sender at one moment.
    ProbeRow, "probes":
    time_ps: u64, "ps", "When.";
    ..flow;
    ..window;
    srtt_shown_ns: Option<u64>, "ns", "The same as the host shows it: in whole ticks of the clock that it measures with (switch rtt-granularity), one at least.";
    rto_ns: u64, "ns", "Retransmission timeout.";
    in_flight_bytes: u64, "bytes", "Bytes sent and not yet acknowledged or lost.";
    dctcp_alpha_q20: Option<u64>, "2^-20", "DCTCP's estimate of the marked fraction; 1048576 is one.";
    queueing_delay_ns: Option<u64>, "ns", "One-way queueing delay that the last ACK told of; null without the delay option.";
    bytes_acked: u64, "bytes", "Bytes acknowledged so far.";
}

table! {
    /// One output queue over its run, after the warm-up.
    QueueRow, "queues":
    ..queue;
    at_switch: bool, "", "Whether it stands at a switch, else at a host.";
    ..line;
    ..served;
    marker: Option<String>, "", "The marker, where it sets CE; null where it drops, where there is none, and where each class has its own.";
    lost: u64, "packets", "Packets lost at random before they met the queue.";
    cut: u64, "packets", "Packets lost because the link failed: queued, on the line, in flight, or come while it was dead.";
    ..length;
    arrivals: u64, "packets", "Packets that arrived, dropped ones included.";
    seen_mean_packets: Option<f64>, "packets", "Mean length that arriving packets found.";
    seen_p1_packets: Option<u32>, "packets", "1st percentile of the length that arrivals found.";
    seen_p50_packets: Option<u32>, "packets", "Median length that arriving packets found.";
    seen_p99_packets: Option<u32>, "packets", "99th percentile of the length that arrivals found.";
    seen_p999_packets: Option<u32>, "packets", "99.9th percentile of the length that arrivals found.";
}

table! {
    /// One class of one output queue over its run, after the warm-up. The table is there only when switches
    /// have classes.
    ClassRow, "queue_classes":
    ..queue;
    number: u32, "", "Place of the class in the list of the switch, from zero.";
    class: String, "", "The class.";
    marker: Option<String>, "", "Its marker, where it sets CE; null where it drops, or there is none.";
    ..served;
    ..length;
}

table! {
    /// A memory that queues of a switch share. The table is there only when some do.
    MemoryRow, "memories":
    switch: String, "", "The switch.";
    memory: u32, "", "Number of the memory at this switch, from zero.";
    size_bytes: u64, "bytes", "Its size.";
    reserved_bytes: u64, "bytes", "What of it is reserved for single queues.";
    held_bytes: u64, "bytes", "What queues held of it at the end of the run.";
    peak_bytes: u64, "bytes", "The most that queues held of it after the warm-up.";
}

table! {
    /// One length of one queue: the histogram behind the statistics of [`QueueRow`].
    LevelRow, "queue_levels":
    ..queue;
    packets: u32, "packets", "A length that occurred.";
    time_ps: u64, "ps", "How long the queue had this length.";
    arrivals: u64, "packets", "Arriving packets that found it at this length.";
}

table! {
    /// A queueing delay that a sender computed, beside the true one.
    DelayRow, "delays":
    time_ps: u64, "ps", "When the ACK came that told of it.";
    ..flow;
    computed_ns: u64, "ns", "What the sender made of host stamps.";
    actual_ns: u64, "ns", "Mean time in queues of switches of the full segments that the ACK covers.";
}

table! {
    /// A queue at one moment.
    QueueSampleRow, "queue_samples":
    time_ps: u64, "ps", "When.";
    ..queue;
    packets: u32, "packets", "Length in packets.";
    bytes: u64, "bytes", "Length in bytes.";
}

table! {
    /// One direction of one link over its run, after the warm-up.
    LinkRow, "links":
    link: u32, "", "Number of the queue that feeds it.";
    name: String, "", "The sending node and the receiving node.";
    ..line;
    busy_ps: u64, "ps", "How long it was sending, framing included.";
    packets: u64, "packets", "Packets sent.";
    bytes: u64, "bytes", "IP bytes sent.";
    utilisation: Option<f64>, "1", "Share of the time that it was sending.";
}
