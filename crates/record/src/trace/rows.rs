//! The tables of traced flows. They are there only when something was traced.
//!
//! Offsets count payload bytes from zero: the first byte of a flow is byte 0.

use crate::table::table;

table! {
    /// One segment at one end.
    TraceSegmentRow, "trace_segments":
    time_ps: u64, "ps", "When.";
    flow: u32, "", "Number of the flow in its run.";
    packet: u64, "", "Number of the packet, the same at both ends and in trace_hops.";
    place: String, "", "The end at which it was seen: sender or receiver of the flow.";
    event: String, "", "sent, received, or refused: came in and was not used.";
    trigger: String, "", "What made the end send it: open, segment, delayed-ack, rto, loss-probe, reordering, timer or application.";
    cause: Option<u64>, "", "The packet that made the end send it.";
    seq_bytes: u64, "bytes", "Offset of its first payload byte.";
    len_bytes: u32, "bytes", "Payload bytes.";
    ack_bytes: Option<u64>, "bytes", "Offset up to which it acknowledges.";
    flags: String, "", "TCP flags: S F R P . U E(CE) W(CWR) A(E); the dot is ACK.";
    ecn: String, "", "Codepoint of the IP header: not-ect, ect0, ect1 or ce.";
    window: u16, "", "Window field, not scaled.";
    sack: Option<String>, "bytes", "SACK blocks as offsets, first-end, separated by spaces.";
    tsval: Option<u32>, "", "TSval.";
    tsecr: Option<u32>, "", "TSecr.";
    retransmission: bool, "", "It repeats bytes that were sent before.";
    header: String, "", "IP and TCP headers as on the wire, hexadecimal.";
}

table! {
    /// One packet, of any flow, at one port on the way of a traced flow.
    TraceHopRow, "trace_hops":
    time_ps: u64, "ps", "When it came to the port.";
    ..queue;
    flow: u32, "", "Flow of the packet.";
    from_sender: bool, "", "It comes from the sender of the flow (else it is an ACK).";
    packet: Option<u64>, "", "Number of the packet, for packets of traced flows.";
    size_bytes: u32, "bytes", "IP bytes.";
    verdict: String, "", "queued, marked, dropped-by-buffer, dropped-by-marker or lost on the line.";
    queue_packets: u32, "packets", "Length that it found.";
    queue_bytes: u64, "bytes", "Length that it found.";
    start_ps: u64, "ps", "When the line began to send it; time_ps for a dropped one.";
    departure_ps: u64, "ps", "When the line had sent it; time_ps for a dropped one.";
}

table! {
    /// A sender after something changed it.
    TraceSenderRow, "trace_senders":
    time_ps: u64, "ps", "When.";
    flow: u32, "", "Number of the flow in its run.";
    trigger: String, "", "What made it act; as in trace_segments.";
    cause: Option<u64>, "", "The packet that made it act.";
    events: Option<String>, "", "What it did about losses and marks: cut, fast-retransmit, rto, undo, loss-probe, established, recovered.";
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
    limited_by: String, "", "What keeps it from sending more: application, cwnd, receive-window, send-buffer or host-queue.";
}
