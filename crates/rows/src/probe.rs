//! The tables of sampled senders.

use crate::shared_text::SharedText;
use crate::table::table;

table! {
    #[derive(Eq)]
    ProbeRow, "probes", "A sender at one point in time, at the interval of `[probes]`.":
    time_ps: u64, "ps", "Time.";
    ..flow;
    ..window;
    srtt_quantised_ns: Option<u64>, "ns", "srtt_ns as the host reports it: in whole ticks of its clock (switch rtt-granularity), at least one.";
    rto_ns: u64, "ns", "Retransmission timeout.";
    in_flight_bytes: u64, "bytes", "Bytes sent and not yet acknowledged or lost.";
    pacing_rate_bps: Option<u64>, "bit/s", "Pacing rate of data; null if it is not paced. The kernel reports one for every socket.";
    dctcp_alpha_q20: Option<u64>, "2^-20", "DCTCP's estimate of the marked fraction; 1048576 is one.";
    queueing_delay_ns: Option<u64>, "ns", "One-way queueing delay reported by the last ACK; null without the delay option.";
    bytes_acked: u64, "bytes", "Bytes acknowledged so far.";
}

table! {
    VariableRow, "variables", "A variable of a sender's congestion control at one point in time, at the interval of `[probes]`. The table exists only if a sampled control has variables.":
    time_ps: u64, "ps", "Time.";
    ..flow;
    variable: SharedText, "", "Its name, as the control calls it: `alpha`, `bw`, `min-rtt`.";
    unit: SharedText, "", "Unit of the value: bytes, packets, ns or bit/s; empty for fractions, gains, counts and states.";
    value: f64, "", "Its value in that unit.";
}

table! {
    #[derive(Eq)]
    DelayRow, "delays", "A queueing delay computed by a sender, with the true one (DX fig. 12).":
    time_ps: u64, "ps", "Arrival of the ACK that reported it.";
    ..flow;
    computed_ns: u64, "ns", "Delay that the sender computed from host stamps.";
    actual_ns: u64, "ns", "Mean time in switch queues of the full segments that the ACK covers.";
    rtt_ns: u64, "ns", "Round trip that the sender computed from host stamps, without the receiver's own delay (DX fig. 10).";
}
