//! The tables of traced flows, which exist only if a flow was traced.
//!
//! Offsets count payload bytes from zero: the first byte of a flow is byte 0.

use crate::table::table;

table! {
    TraceSegmentRow, "trace_segments", "One segment at one endpoint. The table exists only if a flow was traced.":
    time_ps: u64, "ps", "Time.";
    flow: u32, "", "Number of the flow in its run.";
    packet: u64, "", "Number of the packet, the same at both ends and in trace_hops.";
    place: String, "", "The observing endpoint: sender or receiver of the flow.";
    event: String, "", "sent, received, or refused: arrived and was not used.";
    trigger: String, "", "Trigger of its transmission: open, segment, delayed-ack, rto, loss-probe, reordering, timer or application.";
    cause: Option<u64>, "", "The packet that triggered its transmission.";
    seq_bytes: u64, "bytes", "Offset of its first payload byte.";
    len_bytes: u32, "bytes", "Payload bytes.";
    ack_bytes: Option<u64>, "bytes", "Offset up to which it acknowledges.";
    flags: String, "", "TCP flags: S F R P . U E(CE) W(CWR) A(E); the dot is ACK.";
    ecn: String, "", "Codepoint of the IP header: not-ect, ect0, ect1 or ce.";
    window: u16, "", "Window field, not scaled.";
    sack: Option<String>, "bytes", "SACK blocks as offsets, first-end, separated by spaces.";
    tsval: Option<u32>, "", "TSval.";
    tsecr: Option<u32>, "", "TSecr.";
    retransmission: bool, "", "Whether it is a retransmission.";
    header: String, "", "IP and TCP headers as on the wire, hexadecimal.";
}

table! {
    TraceHopRow, "trace_hops", "One packet, of any flow, at one port on the path of a traced flow. The table exists only if a flow was traced.":
    time_ps: u64, "ps", "Arrival at the port.";
    ..queue;
    flow: u32, "", "Flow of the packet.";
    from_sender: bool, "", "Whether it is from the sender of the flow (otherwise an ACK).";
    packet: Option<u64>, "", "Number of the packet, for packets of traced flows.";
    size_bytes: u32, "bytes", "IP bytes.";
    verdict: String, "", "queued, marked, dropped-by-buffer, dropped-by-marker or lost on the link.";
    queue_packets: u32, "packets", "Queue length on its arrival.";
    queue_bytes: u64, "bytes", "Queue length on its arrival.";
    start_ps: u64, "ps", "Start of its transmission; time_ps for a dropped packet.";
    departure_ps: u64, "ps", "End of its transmission; time_ps for a dropped packet.";
}

table! {
    TraceSenderRow, "trace_senders", "A sender after a change of its state. The table exists only if a flow was traced.":
    time_ps: u64, "ps", "Time.";
    flow: u32, "", "Number of the flow in its run.";
    trigger: String, "", "Trigger of the change; as in trace_segments.";
    cause: Option<u64>, "", "The packet that triggered the change.";
    events: Option<String>, "", "Reactions to losses and marks: cut, fast-retransmit, rto, undo, loss-probe, established, recovered.";
    state: String, "", "State of the connection.";
    phase: String, "", "handshake, slow-start, avoidance, recovery or timeout.";
    ..window;
    rttvar_ns: u64, "ns", "Its mean deviation.";
    rto_ns: u64, "ns", "Retransmission timeout, backoff included.";
    in_flight_bytes: u64, "bytes", "Bytes in flight (RFC 6675 pipe).";
    dctcp_alpha_q20: Option<u64>, "2^-20", "DCTCP's alpha: 1048576 is one.";
    bytes_acked: u64, "bytes", "Bytes acknowledged.";
    snd_wnd_bytes: u64, "bytes", "The peer's window.";
    mss_bytes: u32, "bytes", "Payload of a full segment.";
    limited_by: String, "", "Limit of its transmission: application, cwnd, receive-window, send-buffer or host-queue.";
}
