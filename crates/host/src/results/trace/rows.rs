//! The rows of a trace, in order of time.

use std::net::IpAddr;

use lowtide_net::HopRecord;
use lowtide_tcp::{LimitedBy, State};
use lowtide_units::{Duration, Instant};
use lowtide_wire::Segment;

/// The trace of the traced flows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// The traced flows, ascending.
    pub flows: Vec<TracedFlow>,
    /// Flows from this number on are query connections.
    pub first_query_conn: u32,
    /// Their segments at both ends.
    pub segments: Vec<SegmentRow>,
    /// Every packet, theirs and others', at each port on their paths. [`HopRecord::src_conn`] is
    /// twice the flow, plus one for packets from the server.
    pub hop_records: Vec<HopRecord>,
    /// The states of their senders, one row per change.
    pub senders: Vec<SenderRow>,
}

impl Trace {
    /// Returns true if the server sends the data of that flow, traced or not: a query connection.
    pub const fn server_sends(&self, flow: u32) -> bool {
        flow >= self.first_query_conn
    }
}

/// One traced flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TracedFlow {
    /// Its number.
    pub id: u32,
    /// The client, which opens the connection and, except for queries, sends the data.
    pub client: IpAddr,
    /// The server.
    pub server: IpAddr,
}

/// An event of a segment at an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentEvent {
    /// TCP sent it.
    Sent,
    /// It arrived and was accepted.
    Received,
    /// It arrived and was rejected.
    Rejected,
}

lowtide_units::named_enum! {
    /// The cause of an action of an end.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Trigger {
        /// The application, after the open.
        #[default]
        Application = "application",
        /// The application opened the connection.
        Open = "open",
        /// A segment arrived.
        Segment = "segment",
        /// The delayed-ACK timer.
        DelayedAck = "delayed-ack",
        /// The retransmission timer.
        Rto = "rto",
        /// The tail loss probe timer.
        LossProbe = "loss-probe",
        /// The reordering timer of RACK.
        Reordering = "reordering",
        /// Another timer: pacing, persist, keep-alive.
        Timer = "timer",
    }
}

/// One segment at one end. Offsets count payload bytes from zero, per sending side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentRow {
    /// Time.
    pub at: Instant,
    /// Flow number.
    pub flow: u32,
    /// Number of the packet, the same at both ends and in [`HopRecord::packet`].
    pub packet: u64,
    /// True if the client sent it.
    pub from_client: bool,
    /// The event.
    pub event: SegmentEvent,
    /// The cause of its transmission; [`Trigger::Segment`] for an arrival.
    pub trigger: Trigger,
    /// The packet that caused the transmission; zero for none.
    pub cause: u64,
    /// The segment.
    pub segment: Segment,
    /// Stream offset of its first byte.
    pub stream: u64,
    /// Stream offset that it acknowledges.
    pub acked: u64,
    /// It retransmits bytes.
    pub retransmission: bool,
}

/// A set of loss and congestion events of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SenderEvents(u8);

impl SenderEvents {
    /// The window was reduced due to ECN or delay.
    pub const CWND_REDUCED: Self = Self(1);
    /// Fast recovery began.
    pub const FAST_RETRANSMIT: Self = Self(2);
    /// The retransmission timer fired.
    pub const RTO: Self = Self(4);
    /// A reduction was undone.
    pub const UNDO: Self = Self(8);
    /// A tail loss probe was sent.
    pub const LOSS_PROBE: Self = Self(16);
    /// The handshake was completed.
    pub const ESTABLISHED: Self = Self(32);
    /// Recovery was completed.
    pub const RECOVERED: Self = Self(64);

    const NAMES: [(Self, &'static str); 7] = [
        (Self::CWND_REDUCED, "cut"),
        (Self::FAST_RETRANSMIT, "fast-retransmit"),
        (Self::RTO, "rto"),
        (Self::UNDO, "undo"),
        (Self::LOSS_PROBE, "loss-probe"),
        (Self::ESTABLISHED, "established"),
        (Self::RECOVERED, "recovered"),
    ];

    /// Adds `other` if `really`.
    pub(crate) fn add(&mut self, other: Self, really: bool) {
        if really {
            self.0 |= other.0;
        }
    }

    /// Returns true if the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the names in tables.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().filter(move |(e, _)| self.0 & e.0 != 0).map(|(_, name)| name)
    }
}

lowtide_units::named_enum! {
    /// The phase of a sender's congestion control.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum SenderPhase {
        /// The connection is not established.
        Handshake = "handshake",
        /// cwnd is below ssthresh.
        SlowStart = "slow-start",
        /// cwnd is at or above ssthresh.
        Avoidance = "avoidance",
        /// Fast recovery.
        Recovery = "recovery",
        /// After an RTO, until the data outstanding then is acknowledged.
        Timeout = "timeout",
    }
}

/// The state of a sender after an action, if it changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SenderRow {
    /// Time.
    pub at: Instant,
    /// Flow number.
    pub flow: u32,
    /// The cause of the action.
    pub trigger: Trigger,
    /// The packet that caused it; zero for none.
    pub cause: u64,
    /// Loss and congestion events.
    pub events: SenderEvents,
    /// State of the connection.
    pub state: State,
    /// The phase of its congestion control.
    pub phase: SenderPhase,
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes; `None` before the first reaction.
    pub ssthresh: Option<u64>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Its mean deviation.
    pub rttvar: Duration,
    /// Retransmission timeout, backoff included.
    pub rto: Duration,
    /// Bytes in flight (RFC 6675 pipe).
    pub in_flight: u64,
    /// DCTCP's alpha in units of 2^-20, if the control has one.
    pub alpha_q20: Option<u64>,
    /// Bytes acknowledged.
    pub acked: u64,
    /// The peer's window, bytes.
    pub snd_wnd: u64,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// The limit of its transmission.
    pub limited_by: LimitedBy,
}
