//! What one run leaves behind: plain rows, no analysis.

use lowtide_tcp::{Info, LimitedBy};
use lowtide_units::{Duration, Instant};

use crate::ecn_counters::EcnCounters;
use crate::trace::Trace;

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndReason {
    /// Its time was up.
    Time,
    /// All flows with a size were delivered, and all askers were answered (or both failed).
    Done,
    /// Nothing was pending any more.
    Idle,
    /// The caller asked it to stop.
    Interrupted,
}

/// How a flow ended.
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
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Unfinished => "unfinished",
            Self::Failed => "failed",
        }
    }
}

/// What a flow with a size waited for when the run ended, or its connection failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StallReason {
    /// Its application had not opened it yet.
    NotStarted,
    /// The handshake was not over.
    Handshake,
    /// It repaired what a retransmission timeout had found lost, or waited for one (or for a delayed ACK):
    /// data in flight, and nothing sent or newly acknowledged for two smoothed round trips.
    Rto,
    /// The receiver's window was closed.
    ZeroWindow,
    /// The receiver's window, which was open, held its data back.
    ReceiveWindow,
    /// The application had written nothing more.
    Application,
    /// Nothing: it was sending, or its last data were in flight.
    Sending,
}

impl StallReason {
    /// The name in tables.
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

    /// Of a sender whose handshake is over, as it is at `now`.
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

/// One flow. Times are virtual; `None` where the thing never happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowRecord {
    /// Flow number.
    pub id: u32,
    /// Index of the traffic group.
    pub group: u16,
    /// A connection of an asker: the server, to which it was opened, sends the data. In a flow proper the
    /// client does.
    pub server_sends: bool,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Sender's port.
    pub src_port: u16,
    /// Receiver's port.
    pub dst_port: u16,
    /// Bytes asked for; `None` for a backlogged flow, and for a connection that stays open from query to
    /// query.
    pub size: Option<u64>,
    /// When the application opened the connection.
    pub start: Instant,
    /// When the handshake was over at the client.
    pub established: Option<Instant>,
    /// When the last byte reached the receiving application.
    pub delivered_at: Option<Instant>,
    /// Bytes that reached the receiving application.
    pub delivered: u64,
    /// Of these, bytes that came after the warm-up.
    pub delivered_after_warmup: u64,
    /// Payload bytes sent more than once.
    pub retx_bytes: u64,
    /// Data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Retransmission timeouts at the sender.
    pub rto_count: u64,
    /// Fast retransmits (recovery episodes).
    pub fast_retransmits: u64,
    /// Window reductions because of ECN.
    pub ecn_reductions: u64,
    /// ACKs that the receiver's delayed-ACK timer released.
    pub delack_timeouts: u64,
    /// How long their data had waited, all together.
    pub delack_time: Duration,
    /// Of these timeouts, as far as the control guesses at them: found by the sender's rule.
    pub delack_detected: u64,
    /// Not found.
    pub delack_missed: u64,
    /// ACKs that the rule took for released by the timer and that were not.
    pub delack_false_positives: u64,
    /// Window reductions because of queueing delay.
    pub delay_reductions: u64,
    /// Payload bytes that the sender's decoder took for marked.
    pub delivered_ce_bytes: u64,
    /// What the flow's packets showed of ECN after the warm-up.
    pub ecn_counters: EcnCounters,
    /// Payload bytes that the receiver got with CE.
    pub ce_bytes: u64,
    /// Payload bytes that the receiver got in all, duplicates included.
    pub received_bytes: u64,
    /// SRTT at the end of the flow.
    pub srtt: Option<Duration>,
    /// The same as the sending host shows it ([`lowtide_tcp::Info::srtt_quantised`]).
    pub srtt_shown: Option<Duration>,
    /// Payload bytes of a full segment; `None` for a flow that never opened.
    pub mss: Option<u32>,
    /// What the scheme wished for: names of control, decoder and policy.
    pub cc: &'static str,
    /// The decoder.
    pub feedback: &'static str,
    /// The receiver's policy.
    pub ack: &'static str,
    /// ECN was really agreed.
    pub ecn: bool,
    /// What the client wished of ECN: the value of the switch.
    pub ecn_requested: String,
    /// What was agreed: `off`, `rfc3168` or `accecn`.
    pub ecn_mode: &'static str,
    /// The decoder that was really used, none without ECN.
    pub feedback_used: Option<&'static str>,
    /// The receiver's policy that was really used.
    pub ack_used: &'static str,
    /// The delay option was really agreed.
    pub delay_option: bool,
    /// The control that really acted: another than `cc` where that one cannot work.
    pub cc_used: &'static str,
    /// How it ended.
    pub status: FlowStatus,
    /// What it waited for at its end; `None` of a complete one, of one without a size, and where that is
    /// not known.
    pub stall_reason: Option<StallReason>,
    /// Why it failed, when it did.
    pub error: Option<&'static str>,
}

/// One query: a request to each of some servers at once, and their answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueryRecord {
    /// Index of the traffic group.
    pub group: u16,
    /// Index into [`crate::Setup::query_clients`].
    pub query_client: u32,
    /// Number of the query, from zero for each asker.
    pub number: u32,
    /// The host that asks.
    pub client: u32,
    /// How many servers it asks.
    pub fan_out: u32,
    /// When the client asks; a connection that has yet to be opened is opened after this, and with jitter
    /// a request leaves later.
    pub start: Instant,
    /// When the last byte of the last answer reached the client's application.
    pub end: Option<Instant>,
    /// Bytes of all its answers.
    pub bytes: u64,
    /// Whether all answers were there in time; `None` without a deadline, or where the run ended before it.
    pub deadline_met: Option<bool>,
    /// Retransmission timeouts of its connections, at either end, from request to answer. Where queries
    /// share a connection at the same time, a timeout is counted for each.
    pub timeouts: u64,
    /// Payload bytes that its connections sent more than once; as for `timeouts`.
    pub retx_bytes: u64,
    /// How it ended: failed when a connection did before its answer was there.
    pub status: FlowStatus,
    /// Why it failed, when it did.
    pub error: Option<&'static str>,
    /// It began before the warm-up was over.
    pub in_warmup: bool,
}

/// Time or arrivals at one length of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueLevel {
    /// Length in packets.
    pub packets: u32,
    /// How long the queue had this length.
    pub time: Duration,
    /// How many arriving packets found it at this length.
    pub arrivals: u64,
}

/// One output queue over the whole run, after warm-up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueueRecord {
    /// `switch0->receiver0`.
    pub name: String,
    /// At a switch (else a host's own port).
    pub at_switch: bool,
    /// Rate of the line, bits per second.
    pub rate_bps: u64,
    /// Packets serialised.
    pub packets: u64,
    /// IP bytes serialised.
    pub bytes: u64,
    /// Packets marked here.
    pub marks: u64,
    /// Packets dropped here for want of memory.
    pub drops: u64,
    /// Packets dropped here by the marker (not ECN-capable).
    pub aqm_drops: u64,
    /// Packets lost at random before they met this queue.
    pub lost: u64,
    /// Packets lost because the link failed: queued, on the line, in flight, or come while it was dead.
    pub link_down_drops: u64,
    /// Time that the line was busy.
    pub busy: Duration,
    /// The length as the port counts it, by packets; only levels that occurred, ascending.
    pub levels: Vec<QueueLevel>,
    /// The longest, in bytes.
    pub max_bytes: u64,
    /// By class, in the order of the switch's list; empty where there are none.
    pub classes: Vec<ClassRecord>,
}

/// One class of an output queue over the whole run, after warm-up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClassRecord {
    /// Packets serialised.
    pub packets: u64,
    /// IP bytes serialised.
    pub bytes: u64,
    /// Packets marked here.
    pub marks: u64,
    /// Packets dropped here for want of memory.
    pub drops: u64,
    /// Packets dropped here by the marker.
    pub aqm_drops: u64,
    /// The longest, in bytes.
    pub max_bytes: u64,
    /// Its length by packets, as [`QueueRecord::levels`].
    pub levels: Vec<QueueLevel>,
}

/// A memory that queues of a switch share, at the end of the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BufferPoolRecord {
    /// The switch.
    pub switch: String,
    /// Number of the memory at this switch, from zero.
    pub group: u32,
    /// Its size in bytes.
    pub size: u64,
    /// Bytes of it that are reserved for single queues.
    pub reserved: u64,
    /// Bytes that queues hold at the end of the run.
    pub held: u64,
    /// The most bytes that they held after the warm-up.
    pub peak: u64,
}

/// A sender sampled: one value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProbeRow {
    /// When.
    pub at: Instant,
    /// Flow number.
    pub flow: u32,
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes; `None` before the first reaction.
    pub ssthresh: Option<u64>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// The same as the sending host shows it.
    pub srtt_shown: Option<Duration>,
    /// Retransmission timeout.
    pub rto: Duration,
    /// Bytes in flight.
    pub in_flight: u64,
    /// DCTCP's alpha in units of 2^-20, where the control has one.
    pub alpha_q20: Option<u64>,
    /// One-way queueing delay that the last ACK told of, where the delay option is agreed.
    pub queueing_delay: Option<Duration>,
    /// Bytes acknowledged so far.
    pub acked: u64,
}

/// A queue sampled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueSample {
    /// When.
    pub at: Instant,
    /// Index into [`Outcome::queues`].
    pub queue: u32,
    /// Length in packets.
    pub packets: u32,
    /// Length in bytes.
    pub bytes: u64,
}

/// A queueing delay as a sender computed it, and as it was (DX fig. 12).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DelayRow {
    /// When the ACK came that told of it.
    pub at: Instant,
    /// Flow number.
    pub flow: u32,
    /// What the sender made of the stamps.
    pub computed: Duration,
    /// How long the segments that the ACK covers waited in queues of switches, in the mean; full ones
    /// only, as the sender counts.
    pub actual: Duration,
}

/// Work done, for speed figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RunCounts {
    /// Packets serialised by any output queue, hosts' own ports and ACKs included.
    pub hops: u64,
    /// Packets lost with links that failed, after the warm-up.
    pub link_down_drops: u64,
    /// Packets dropped after the warm-up because a switch had no way to their host.
    pub no_route_drops: u64,
    /// Events taken from the queue.
    pub events: u64,
    /// TCP segments handed to a connection.
    pub segments: u64,
    /// Segments that were malformed or unacceptable and were dropped.
    pub rejected: u64,
    /// Flows with a connection still open at the end.
    pub open_flows: u64,
    /// Bytes of memory that those hold at both ends.
    pub flow_bytes: u64,
    /// Output ports, hosts' own included.
    pub ports: u64,
    /// Bytes of memory that those hold at the end ([`lowtide_net::Network::port_memory`]).
    pub port_bytes: u64,
}

/// One run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Digest of the observable physics.
    pub digest: u64,
    /// When it ended.
    pub ended: Instant,
    /// Why.
    pub reason: EndReason,
    /// One row per flow, in order of flow number: the flows of the setup, then the connections of askers
    /// that were opened.
    pub flows: Vec<FlowRecord>,
    /// One row per query that was begun, by asker, then number.
    pub queries: Vec<QueryRecord>,
    /// One row per output queue.
    pub queues: Vec<QueueRecord>,
    /// One row per memory that queues share; empty where none do.
    pub buffer_pools: Vec<BufferPoolRecord>,
    /// Sampled senders, by time then flow.
    pub probes: Vec<ProbeRow>,
    /// Queueing delays of sampled senders, by time.
    pub delays: Vec<DelayRow>,
    /// Sampled queues, by time then queue.
    pub queue_samples: Vec<QueueSample>,
    /// Everything about the flows that were traced; `None` without any.
    pub trace: Option<Trace>,
    /// Work done.
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
        // It sent at 10 ms, and a round trip takes 2 ms.
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
