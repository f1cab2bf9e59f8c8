//! The results of one run: plain rows, no analysis.

use lowtide_tcp::{Info, LimitedBy};
use lowtide_units::{Duration, Instant};

use super::ecn_counters::EcnCounters;
use super::trace::Trace;

/// The reason why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndReason {
    /// The end time was reached.
    Time,
    /// All flows with a size were delivered or failed, and all query clients are done.
    Done,
    /// No event was pending.
    Idle,
    /// The caller stopped it.
    Interrupted,
}

/// The final status of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowStatus {
    /// All bytes were delivered to the receiving application.
    Complete,
    /// The run ended first, or the flow has no size.
    Unfinished,
    /// The connection failed: reset, refused, or timed out.
    Failed,
}

impl FlowStatus {
    /// Returns the name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Unfinished => "unfinished",
            Self::Failed => "failed",
        }
    }
}

/// The reason why a sized flow was waiting at the end of the run or at its failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StallReason {
    /// Its application had not opened it.
    NotStarted,
    /// The handshake was not complete.
    Handshake,
    /// Loss recovery after an RTO, or waiting for an RTO or a delayed ACK: data in flight, and no
    /// transmission or new ACK for two SRTTs.
    Rto,
    /// Zero window.
    ZeroWindow,
    /// The receive window was open but limited the sender.
    ReceiveWindow,
    /// The application had written no more data.
    Application,
    /// Not stalled: it was sending, or its last data were in flight.
    Sending,
}

impl StallReason {
    /// Returns the name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotStarted => "not-started",
            Self::Handshake => "handshake",
            Self::Rto => "rto",
            Self::ZeroWindow => "zero-window",
            Self::ReceiveWindow => "receive-window",
            Self::Application => "application",
            Self::Sending => "sending",
        }
    }

    /// Classifies an established sender as of `now`.
    pub fn of_sender(now: Instant, sender: &Info) -> Self {
        let quiet = now.saturating_since(sender.last_progress);
        let waits = sender.srtt.is_some_and(|srtt| quiet > srtt.saturating_mul(2));
        let stuck = sender.in_flight > 0 && waits;
        match sender.limited_by {
            _ if sender.after_rto => Self::Rto,
            LimitedBy::ReceiveWindow if sender.snd_wnd == 0 => Self::ZeroWindow,
            LimitedBy::ReceiveWindow => Self::ReceiveWindow,
            _ if stuck => Self::Rto,
            LimitedBy::Application if sender.in_flight == 0 => Self::Application,
            _ => Self::Sending,
        }
    }
}

/// One flow. Times are virtual; `None` if the event never occurred.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowRecord {
    /// Flow number.
    pub id: u32,
    /// Index of the traffic group.
    pub group: u16,
    /// True for a query connection: the server sends the data. In a flow the client does.
    pub server_sends: bool,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Sender's port.
    pub src_port: u16,
    /// Receiver's port.
    pub dst_port: u16,
    /// Requested bytes; `None` for an unlimited flow and for a persistent query connection.
    pub size: Option<u64>,
    /// Time when the application opened the connection.
    pub start: Instant,
    /// Completion of the handshake at the client.
    pub established: Option<Instant>,
    /// Delivery of the last byte to the receiving application.
    pub delivered_at: Option<Instant>,
    /// Bytes delivered to the receiving application.
    pub delivered: u64,
    /// Of these, bytes delivered after the warm-up.
    pub delivered_after_warmup: u64,
    /// Retransmitted payload bytes.
    pub retx_bytes: u64,
    /// Data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Retransmission timeouts at the sender.
    pub rto_count: u64,
    /// Fast retransmits (recovery episodes).
    pub fast_retransmits: u64,
    /// Window reductions due to ECN.
    pub ecn_reductions: u64,
    /// ACKs sent by the receiver's delayed-ACK timer.
    pub delack_timeouts: u64,
    /// Total time that their data had waited.
    pub delack_time: Duration,
    /// Of these timeouts, those detected by the sender's rule, if the control has one.
    pub delack_detected: u64,
    /// Not detected.
    pub delack_missed: u64,
    /// ACKs that the rule wrongly attributed to the timer.
    pub delack_false_positives: u64,
    /// Window reductions due to queueing delay.
    pub delay_reductions: u64,
    /// Payload bytes that the sender's decoder counted as CE-marked.
    pub delivered_ce_bytes: u64,
    /// ECN counters of the flow's packets after the warm-up.
    pub ecn_counters: EcnCounters,
    /// Payload bytes received with CE.
    pub ce_bytes: u64,
    /// All payload bytes received, duplicates included.
    pub received_bytes: u64,
    /// SRTT at the end of the flow.
    pub srtt: Option<Duration>,
    /// SRTT as the sending host reports it ([`lowtide_tcp::Info::srtt_quantised`]).
    pub srtt_shown: Option<Duration>,
    /// Payload bytes of a full segment; `None` for a flow that was never opened.
    pub mss: Option<u32>,
    /// The requested congestion control.
    pub cc: &'static str,
    /// The requested decoder.
    pub feedback: &'static str,
    /// The requested ACK policy of the receiver.
    pub ack: &'static str,
    /// ECN was negotiated.
    pub ecn: bool,
    /// ECN as requested by the client: the value of the switch.
    pub ecn_requested: String,
    /// ECN as negotiated: `off`, `rfc3168` or `accecn`.
    pub ecn_mode: &'static str,
    /// The decoder in use; `None` without ECN.
    pub feedback_used: Option<&'static str>,
    /// The ACK policy in use.
    pub ack_used: &'static str,
    /// The delay option was negotiated.
    pub delay_option: bool,
    /// The congestion control in use; differs from `cc` if that one cannot work.
    pub cc_used: &'static str,
    /// Its final status.
    pub status: FlowStatus,
    /// Its stall reason at the end; `None` if it is complete or unlimited, or if unknown.
    pub stall_reason: Option<StallReason>,
    /// The reason for its failure, if it failed.
    pub error: Option<&'static str>,
}

/// One query: concurrent requests to several servers, and their answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueryRecord {
    /// Index of the traffic group.
    pub group: u16,
    /// Index into [`crate::Setup::query_clients`].
    pub query_client: u32,
    /// Number of the query, from zero for each client.
    pub number: u32,
    /// The client host.
    pub client: u32,
    /// Number of servers queried.
    pub fan_out: u32,
    /// Start time. A connection that must be opened is opened after this, and with jitter a request
    /// leaves later.
    pub start: Instant,
    /// Arrival of the last byte of the last answer at the client's application.
    pub end: Option<Instant>,
    /// Bytes of all its answers.
    pub bytes: u64,
    /// Whether all answers arrived before the deadline; `None` without a deadline, or if the run
    /// ended before it.
    pub deadline_met: Option<bool>,
    /// RTOs of its connections, at either end, from request to answer. If concurrent queries share
    /// a connection, each counts them.
    pub timeouts: u64,
    /// Retransmitted payload bytes of its connections, counted as `timeouts`.
    pub retx_bytes: u64,
    /// Its final status: failed if a connection failed before its answer arrived.
    pub status: FlowStatus,
    /// The reason for its failure, if it failed.
    pub error: Option<&'static str>,
    /// It started before the end of the warm-up.
    pub in_warmup: bool,
}

/// Time and arrivals at one queue length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueLevel {
    /// Length in packets.
    pub packets: u32,
    /// Time at this length.
    pub time: Duration,
    /// Arriving packets that found this length.
    pub arrivals: u64,
}

/// One output queue over the run after the warm-up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueueRecord {
    /// `switch0->receiver0`.
    pub name: String,
    /// True at a switch, false at a host.
    pub at_switch: bool,
    /// Rate of the line, bits per second.
    pub rate_bps: u64,
    /// Packets serialised.
    pub packets: u64,
    /// IP bytes serialised.
    pub bytes: u64,
    /// Packets marked here.
    pub marks: u64,
    /// Packets dropped because the buffer was full.
    pub drops: u64,
    /// Packets dropped by the marker (not ECN-capable).
    pub aqm_drops: u64,
    /// Packets lost at random before this queue.
    pub lost: u64,
    /// Packets lost to a link failure: queued, on the line, in flight, or arriving while it was
    /// down.
    pub link_down_drops: u64,
    /// Busy time of the line.
    pub busy: Duration,
    /// The queue by length in packets, as the port counts it; only lengths that occurred,
    /// ascending.
    pub levels: Vec<QueueLevel>,
    /// Maximum length in bytes.
    pub max_bytes: u64,
    /// By class, in the order of the switch's list; empty without classes.
    pub classes: Vec<ClassRecord>,
}

/// One class of an output queue over the run after the warm-up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClassRecord {
    /// Packets serialised.
    pub packets: u64,
    /// IP bytes serialised.
    pub bytes: u64,
    /// Packets marked here.
    pub marks: u64,
    /// Packets dropped because the buffer was full.
    pub drops: u64,
    /// Packets dropped by the marker.
    pub aqm_drops: u64,
    /// Maximum length in bytes.
    pub max_bytes: u64,
    /// Its queue by length in packets, as in [`QueueRecord::levels`].
    pub levels: Vec<QueueLevel>,
}

/// A shared memory of a switch at the end of the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BufferPoolRecord {
    /// The switch.
    pub switch: String,
    /// Number of the memory at this switch, from zero.
    pub group: u32,
    /// Its size in bytes.
    pub size: u64,
    /// Reserved bytes.
    pub reserved: u64,
    /// Bytes held at the end of the run.
    pub held: u64,
    /// Maximum bytes held after the warm-up.
    pub peak: u64,
}

/// One sample of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProbeRow {
    /// Sample time.
    pub at: Instant,
    /// Flow number.
    pub flow: u32,
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes; `None` before the first reaction.
    pub ssthresh: Option<u64>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// SRTT as the sending host reports it.
    pub srtt_shown: Option<Duration>,
    /// Retransmission timeout.
    pub rto: Duration,
    /// Bytes in flight.
    pub in_flight: u64,
    /// DCTCP's alpha in units of 2^-20, if the control has one.
    pub alpha_q20: Option<u64>,
    /// One-way queueing delay from the last ACK, if the delay option is negotiated.
    pub queueing_delay: Option<Duration>,
    /// Bytes acknowledged so far.
    pub acked: u64,
}

/// One sample of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueSample {
    /// Sample time.
    pub at: Instant,
    /// Index into [`Outcome::queues`].
    pub queue: u32,
    /// Length in packets.
    pub packets: u32,
    /// Length in bytes.
    pub bytes: u64,
}

/// A queueing delay as computed by a sender, and the true one (DX fig. 12).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DelayRow {
    /// Arrival time of the ACK that reported it.
    pub at: Instant,
    /// Flow number.
    pub flow: u32,
    /// The delay that the sender computed from the stamps.
    pub computed: Duration,
    /// Mean queueing delay at switches of the segments that the ACK covers; full segments only, as
    /// in the sender.
    pub actual: Duration,
}

/// Work counters, for speed figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RunCounts {
    /// Packets serialised by all output queues, including host ports and ACKs.
    pub hops: u64,
    /// Packets lost to link failures after the warm-up.
    pub link_down_drops: u64,
    /// Packets dropped for lack of a route after the warm-up.
    pub no_route_drops: u64,
    /// Events handled.
    pub events: u64,
    /// TCP segments passed to a connection.
    pub segments: u64,
    /// Malformed or unacceptable segments that were dropped.
    pub rejected: u64,
    /// Flows with an open connection at the end.
    pub open_flows: u64,
    /// Memory of those connections at both ends, in bytes.
    pub flow_bytes: u64,
    /// Output ports, including host ports.
    pub ports: u64,
    /// Memory of those ports at the end, in bytes ([`lowtide_net::Network::port_memory`]).
    pub port_bytes: u64,
}

/// The results of one run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Digest of the observable behaviour.
    pub digest: u64,
    /// End time.
    pub ended: Instant,
    /// The reason for the end.
    pub reason: EndReason,
    /// One row per flow by number: the flows of the setup, then the query connections that were
    /// opened.
    pub flows: Vec<FlowRecord>,
    /// One row per started query, by client, then number.
    pub queries: Vec<QueryRecord>,
    /// One row per output queue.
    pub queues: Vec<QueueRecord>,
    /// One row per shared memory; may be empty.
    pub buffer_pools: Vec<BufferPoolRecord>,
    /// Sender samples, by time, then flow.
    pub probes: Vec<ProbeRow>,
    /// Queueing delays of sampled senders, by time.
    pub delays: Vec<DelayRow>,
    /// Queue samples, by time, then queue.
    pub queue_samples: Vec<QueueSample>,
    /// The trace of the traced flows; `None` without any.
    pub trace: Option<Trace>,
    /// Work counters.
    pub counts: RunCounts,
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::Arc;

    use lowtide_tcp::{Config, Endpoint};

    use super::*;

    #[test]
    fn a_sender_says_what_it_waits_for() {
        let host = |n| Ipv4Addr::new(10, 0, 0, n).into();
        let mut endpoint = Endpoint::new(1);
        let config = Arc::new(Config::default());
        let id = endpoint.connect(Instant::ZERO, host(1), 0, host(2), 5001, config).unwrap();
        let at = |ms| Instant::ZERO + Duration::from_ms(ms);
        // It sent at 10 ms; the RTT is 2 ms.
        let sending = Info {
            srtt: Some(Duration::from_ms(2)),
            last_progress: at(10),
            in_flight: 3_000,
            snd_wnd: 60_000,
            limited_by: LimitedBy::Cwnd,
            ..endpoint.conn(id).unwrap().info()
        };
        let of = |ms, info| StallReason::of_sender(at(ms), &info);
        assert_eq!(of(14, sending), StallReason::Sending);
        assert_eq!(of(15, sending), StallReason::Rto, "it waits for the timer");
        assert_eq!(of(11, Info { after_rto: true, ..sending }), StallReason::Rto);
        let limited_by = LimitedBy::ReceiveWindow;
        let window = Info { limited_by, in_flight: 0, ..sending };
        assert_eq!(of(99, window), StallReason::ReceiveWindow);
        assert_eq!(
            of(99, Info { in_flight: 1, ..window }),
            StallReason::ReceiveWindow,
            "a delayed ACK"
        );
        assert_eq!(of(99, Info { snd_wnd: 0, ..window }), StallReason::ZeroWindow);
        let idle = Info { limited_by: LimitedBy::Application, ..window };
        assert_eq!(of(99, idle), StallReason::Application);
        assert_eq!(of(11, Info { in_flight: 1, ..idle }), StallReason::Sending);
    }
}
