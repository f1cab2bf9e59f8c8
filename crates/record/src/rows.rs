//! The tables: every column with its unit and description.
//!
//! Contract: names follow `ss -ti` and `tcp_info`, with the unit as a suffix. A missing value is
//! null. Every table begins with `run`, `scheme`, one column per swept key, and `seed`.

use crate::table::table;

table! {
    /// One run.
    RunRow, "runs":
    digest: String, "", "Digest of the observable physics, 16 hexadecimal digits.";
    reason: String, "", "Cause of the end of the run: time, done or idle.";
    ended_ps: u64, "ps", "End of the run.";
    warmup_ps: u64, "ps", "Start of the statistics of queues and goodput.";
    flows: u64, "", "Flows of the run.";
    complete: u64, "", "Flows whose bytes were all delivered.";
    unfinished: u64, "", "Finite flows that are right-censored by the end of the run.";
    failed: u64, "", "Flows whose connection failed.";
    endless: u64, "", "Unlimited flows, which ran until the end.";
    hops: u64, "packets", "Packets serialised by any output queue, hosts and ACKs included.";
    events: u64, "", "Events taken from the event queue.";
    segments: u64, "segments", "TCP segments handed to a connection.";
    rejected: u64, "segments", "Segments dropped as malformed or unacceptable.";
    link_down_drops: u64, "packets", "Packets lost on failed links, after the warm-up.";
    no_route_drops: u64, "packets", "Packets dropped after the warm-up because a switch had no route to their host.";
}

table! {
    /// One flow. Values that an endpoint did not count are null, as the kernel reports less than
    /// the simulator.
    FlowRow, "flows":
    flow: u32, "", "Number of the flow in its run.";
    group: String, "", "Traffic group.";
    role: String, "", "The sending end: flow for the client that opened the connection, answers for the server of a query.";
    src: String, "", "Sending host.";
    dst: String, "", "Receiving host.";
    sport: u16, "", "Port of the sender.";
    dport: u16, "", "Port of the receiver.";
    size_bytes: Option<u64>, "bytes", "Requested bytes; null for an unlimited flow and for a connection that stays open between queries.";
    start_ps: u64, "ps", "Time of the application's open.";
    established_ps: Option<u64>, "ps", "End of the handshake at the client.";
    delivered_ps: Option<u64>, "ps", "Delivery of the last byte to the receiving application.";
    fct_ps: Option<u64>, "ps", "From the application's open to its last byte delivered.";
    transfer_ps: Option<u64>, "ps", "fct_ps without the handshake.";
    ideal_ps: Option<u64>, "ps", "fct_ps of the flow alone on its path, without queues and window limits; null for an unlimited flow.";
    delivered_bytes: u64, "bytes", "Bytes that reached the receiving application.";
    delivered_after_warmup_bytes: u64, "bytes", "Of these, bytes delivered after the warm-up.";
    bytes_retrans: Option<u64>, "bytes", "Retransmitted payload bytes.";
    data_segs_out: Option<u64>, "segments", "Data segments sent, retransmissions included.";
    rto_count: Option<u64>, "", "Retransmission timeouts at the sender.";
    fast_retransmits: Option<u64>, "", "Recovery episodes begun by duplicate ACKs or SACK.";
    ecn_reductions: Option<u64>, "", "Window reductions because of ECN.";
    delack_timeouts: Option<u64>, "", "ACKs sent by the receiver's delayed-ACK timer.";
    delack_time_ps: Option<u64>, "ps", "Total time that these ACKs were delayed.";
    delack_detected: Option<u64>, "", "Of these, ACKs that the sender's heuristic detected (tdctcp).";
    delack_missed: Option<u64>, "", "Of these, ACKs that the heuristic missed.";
    delack_false_positives: Option<u64>, "", "False positives of the heuristic.";
    delay_reductions: Option<u64>, "", "Window reductions because of queueing delay.";
    delivered_ce_bytes: Option<u64>, "bytes", "Payload bytes that the sender's decoder counted as marked.";
    data_segs_out_after_warmup: Option<u64>, "segments", "Data segments sent after the warm-up.";
    ect_segs_out_after_warmup: Option<u64>, "segments", "Of these, segments with an ECN-capable codepoint.";
    cwr_segs_out_after_warmup: Option<u64>, "segments", "Of these, segments with CWR.";
    data_segs_in_after_warmup: Option<u64>, "segments", "Data segments that reached the receiver after the warm-up.";
    ce_segs_in_after_warmup: Option<u64>, "segments", "Of these, segments with CE.";
    acks_in_after_warmup: Option<u64>, "segments", "ACKs that reached the sender after the warm-up.";
    ece_acks_in_after_warmup: Option<u64>, "segments", "Of these, ACKs with ECE.";
    received_ce_bytes: Option<u64>, "bytes", "Payload bytes that arrived with CE.";
    received_bytes: Option<u64>, "bytes", "Payload bytes that arrived, duplicates included.";
    srtt_ns: Option<u64>, "ns", "Smoothed round-trip time at the end of the flow.";
    srtt_quantised_ns: Option<u64>, "ns", "srtt_ns as the host reports it: in whole ticks of its clock (switch rtt-granularity), at least one.";
    mss_bytes: Option<u32>, "bytes", "Payload bytes of a full segment; null for a flow that never opened.";
    cc: String, "", "Congestion control that the sender requested.";
    cc_used: String, "", "Congestion control in use: newreno if the requested one needs the delay option or ECN and that was not negotiated.";
    feedback: String, "", "Feedback decoder configured for the sender.";
    ack: String, "", "Acknowledgement policy configured for the receiver.";
    ecn: bool, "", "Whether ECN was negotiated.";
    ecn_requested: String, "", "ECN mode that the client requested: the switch `ecn`.";
    ecn_mode: String, "", "Negotiated ECN mode: off, rfc3168 or accecn.";
    feedback_used: Option<String>, "", "Decoder in use; null without ECN.";
    ack_used: String, "", "Acknowledgement policy in use.";
    delay_option: bool, "", "Whether the delay option of DX was negotiated.";
    blocked_on: Option<String>, "", "State of a finite flow that did not complete: not-started, handshake, rto, zero-window, receive-window, application, or sending; null if it completed, or if the state is unknown.";
    status: String, "", "complete, unfinished or failed.";
    error: Option<String>, "", "Cause of the failure of the connection.";
}

impl FlowRow {
    /// The `role` of a connection that carries the answers of queries.
    pub const ANSWERS: &'static str = "answers";
}

table! {
    /// One query: a request to each of several servers at once, and their answers. The table exists
    /// only with query clients.
    QueryRow, "queries":
    group: String, "", "Traffic group.";
    query_client: u32, "", "Number of the query client in its run: one client and its servers.";
    query: u32, "", "Number of the query, from zero for each query client.";
    client: String, "", "The host that sends the query.";
    fan_out: u32, "", "Number of servers that are queried.";
    start_ps: u64, "ps", "Time at which the client sends the query.";
    end_ps: Option<u64>, "ps", "Delivery of the last byte of the last answer to the client's application.";
    qct_ps: Option<u64>, "ps", "Query completion time: from start to end.";
    answer_bytes: u64, "bytes", "Bytes of all its answers.";
    deadline_met: Option<bool>, "", "Whether all answers arrived before the deadline; null without a deadline, or if the run ended before it.";
    timeouts: u64, "", "Retransmission timeouts of its connections, at either end, from request to answer.";
    bytes_retrans: u64, "bytes", "Payload bytes that its connections retransmitted in that time.";
    in_warmup: bool, "", "Whether it began during the warm-up.";
    status: String, "", "complete, unfinished or failed.";
    error: Option<String>, "", "Cause of its failure: the end of a connection before its answer.";
}

table! {
    /// A sender at one point in time.
    ProbeRow, "probes":
    time_ps: u64, "ps", "Time.";
    ..flow;
    ..window;
    srtt_quantised_ns: Option<u64>, "ns", "srtt_ns as the host reports it: in whole ticks of its clock (switch rtt-granularity), at least one.";
    rto_ns: u64, "ns", "Retransmission timeout.";
    in_flight_bytes: u64, "bytes", "Bytes sent and not yet acknowledged or lost.";
    dctcp_alpha_q20: Option<u64>, "2^-20", "DCTCP's estimate of the marked fraction; 1048576 is one.";
    queueing_delay_ns: Option<u64>, "ns", "One-way queueing delay reported by the last ACK; null without the delay option.";
    bytes_acked: u64, "bytes", "Bytes acknowledged so far.";
}

table! {
    /// One output queue over its run, after the warm-up.
    QueueRow, "queues":
    ..queue;
    at_switch: bool, "", "Whether it is at a switch, otherwise at a host.";
    ..line;
    ..served;
    marker: Option<String>, "", "The marker, if it sets CE; null if it drops, if there is none, or if each class has its own.";
    lost: u64, "packets", "Packets lost at random before the queue.";
    link_down_drops: u64, "packets", "Packets lost because the link failed: queued, being sent, in flight, or arriving while it was down.";
    ..length;
    arrivals: u64, "packets", "Packets that arrived, dropped ones included.";
    seen_mean_packets: Option<f64>, "packets", "Mean length found by arriving packets.";
    seen_p1_packets: Option<u32>, "packets", "1st percentile of the length found by arriving packets.";
    seen_p50_packets: Option<u32>, "packets", "Median length found by arriving packets.";
    seen_p99_packets: Option<u32>, "packets", "99th percentile of the length found by arriving packets.";
    seen_p999_packets: Option<u32>, "packets", "99.9th percentile of the length found by arriving packets.";
}

table! {
    /// One class of one output queue over its run, after the warm-up. The table exists only if
    /// switches have classes.
    ClassRow, "queue_classes":
    ..queue;
    number: u32, "", "Place of the class in the list of the switch, from zero.";
    class: String, "", "The class.";
    marker: Option<String>, "", "Its marker, if it sets CE; null if it drops, or if there is none.";
    ..served;
    ..length;
}

table! {
    /// A buffer pool that queues of a switch share. The table exists only if there are any.
    BufferPoolRow, "buffer_pools":
    switch: String, "", "The switch.";
    buffer_pool: u32, "", "Number of the buffer pool at this switch, from zero.";
    size_bytes: u64, "bytes", "Its size.";
    reserved_bytes: u64, "bytes", "Bytes of it that are reserved for single queues.";
    held_bytes: u64, "bytes", "Occupancy at the end of the run.";
    peak_bytes: u64, "bytes", "Peak occupancy after the warm-up.";
}

table! {
    /// One length of one queue: the histogram behind the statistics of [`QueueRow`].
    LevelRow, "queue_levels":
    ..queue;
    packets: u32, "packets", "A length that occurred.";
    time_ps: u64, "ps", "Time that the queue had this length.";
    arrivals: u64, "packets", "Arriving packets that found it at this length.";
}

table! {
    /// A queueing delay computed by a sender, with the true one.
    DelayRow, "delays":
    time_ps: u64, "ps", "Arrival of the ACK that reported it.";
    ..flow;
    computed_ns: u64, "ns", "Delay that the sender computed from host stamps.";
    actual_ns: u64, "ns", "Mean time in switch queues of the full segments that the ACK covers.";
}

table! {
    /// A queue at one point in time.
    QueueSampleRow, "queue_samples":
    time_ps: u64, "ps", "Time.";
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
    busy_ps: u64, "ps", "Time that it was sending, framing included.";
    packets: u64, "packets", "Packets sent.";
    bytes: u64, "bytes", "IP bytes sent.";
    utilisation: Option<f64>, "1", "Fraction of the time that it was sending.";
}
