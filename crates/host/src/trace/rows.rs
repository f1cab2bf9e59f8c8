//! What a trace holds: plain rows, in order of time.

use std::net::IpAddr;

use lowtide_net::HopRecord;
use lowtide_tcp::{LimitedBy, State};
use lowtide_units::{Duration, Instant};
use lowtide_wire::Segment;

/// Everything that was seen of the traced flows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// The traced flows, ascending.
    pub flows: Vec<TracedFlow>,
    /// From this number on flows are connections of askers.
    pub first_query_conn: u32,
    /// Their segments at both ends.
    pub segments: Vec<SegmentRow>,
    /// Every packet, theirs and others', at each port on their way. [`Passage::src_conn`] is twice the
    /// flow, plus one for what the server sends.
    pub hop_records: Vec<HopRecord>,
    /// What their senders thought, one row per change.
    pub senders: Vec<SenderRow>,
}

impl Trace {
    /// In that flow, traced or not, the server sends the data: it is a connection of an asker.
    pub const fn server_sends(&self, flow: u32) -> bool {
        flow >= self.first_query_conn
    }
}

/// One traced flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TracedFlow {
    /// Its number.
    pub id: u32,
    /// The client, which opens it and, in a flow proper, sends the data.
    pub client: IpAddr,
    /// The server.
    pub server: IpAddr,
}

/// What happened to a segment at an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentEvent {
    /// It left TCP.
    Sent,
    /// It came in and was used.
    Received,
    /// It came in and was not used.
    Rejected,
}

/// What made an end act.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Trigger {
    /// The application, after the open.
    #[default]
    Application,
    /// The application opened the connection.
    Open,
    /// A segment came in.
    Segment,
    /// The delayed-ACK timer.
    DelayedAck,
    /// The retransmission timer.
    Rto,
    /// The timer of tail loss probes.
    LossProbe,
    /// The reordering timer of RACK.
    Reordering,
    /// Another timer: pacing, persist, keep-alive.
    Timer,
}

impl Trigger {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::Open => "open",
            Self::Segment => "segment",
            Self::DelayedAck => "delayed-ack",
            Self::Rto => "rto",
            Self::LossProbe => "loss-probe",
            Self::Reordering => "reordering",
            Self::Timer => "timer",
        }
    }
}

/// One segment at one end. Offsets count payload bytes from zero, of the side that sent them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentRow {
    /// When.
    pub at: Instant,
    /// Flow number.
    pub flow: u32,
    /// Number of the packet, the same at both ends and in [`Passage::packet`].
    pub packet: u64,
    /// The client sent it.
    pub from_client: bool,
    /// What happened.
    pub event: SegmentEvent,
    /// Why it was sent; [`Trigger::Segment`] for one that came in.
    pub trigger: Trigger,
    /// The packet that made the end send it; zero for none.
    pub cause: u64,
    /// The segment.
    pub segment: Segment,
    /// Offset of its first byte.
    pub stream: u64,
    /// Offset up to which it acknowledges.
    pub acked: u64,
    /// It repeats bytes that were sent before.
    pub retransmission: bool,
}

/// What a sender did about losses and marks, as a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SenderEvents(u8);

impl SenderEvents {
    /// The window was cut because of ECN or delay.
    pub const CWND_REDUCED: Self = Self(1);
    /// Fast recovery began.
    pub const FAST_RETRANSMIT: Self = Self(2);
    /// The retransmission timer fired.
    pub const RTO: Self = Self(4);
    /// A reaction was taken back.
    pub const UNDO: Self = Self(8);
    /// A tail loss probe was sent.
    pub const LOSS_PROBE: Self = Self(16);
    /// The handshake was over.
    pub const ESTABLISHED: Self = Self(32);
    /// Recovery was over.
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

    /// Whether nothing happened.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The names in tables.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().filter(move |(e, _)| self.0 & e.0 != 0).map(|(_, name)| name)
    }
}

/// How a sender sets its window at present.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SenderPhase {
    /// The connection is not established.
    Handshake,
    /// cwnd is below ssthresh.
    SlowStart,
    /// It is not.
    Avoidance,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout, until what was outstanding is acknowledged.
    Timeout,
}

impl SenderPhase {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::SlowStart => "slow-start",
            Self::Avoidance => "avoidance",
            Self::Recovery => "recovery",
            Self::Timeout => "timeout",
        }
    }
}

/// A sender after it acted on something, where that changed it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SenderRow {
    /// When.
    pub at: Instant,
    /// Flow number.
    pub flow: u32,
    /// What made it act.
    pub trigger: Trigger,
    /// The packet that did; zero for none.
    pub cause: u64,
    /// What it did about losses and marks.
    pub events: SenderEvents,
    /// State of the connection.
    pub state: State,
    /// How it sets its window.
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
    /// DCTCP's alpha in units of 2^-20, where the control has one.
    pub alpha_q20: Option<u64>,
    /// Bytes acknowledged.
    pub acked: u64,
    /// The peer's window, bytes.
    pub snd_wnd: u64,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// What keeps it from sending more.
    pub limited_by: LimitedBy,
}

impl SenderRow {
    /// The name of the state, as in RFC 9293 §3.3.2.
    pub const fn state_name(&self) -> &'static str {
        match self.state {
            State::SynSent => "SYN-SENT",
            State::SynReceived => "SYN-RECEIVED",
            State::Established => "ESTABLISHED",
            State::FinWait1 => "FIN-WAIT-1",
            State::FinWait2 => "FIN-WAIT-2",
            State::CloseWait => "CLOSE-WAIT",
            State::Closing => "CLOSING",
            State::LastAck => "LAST-ACK",
            State::TimeWait => "TIME-WAIT",
            State::Closed => "CLOSED",
        }
    }

    /// The name in tables of what limits it.
    pub const fn limited_by_name(&self) -> &'static str {
        match self.limited_by {
            LimitedBy::Application => "application",
            LimitedBy::Cwnd => "cwnd",
            LimitedBy::ReceiveWindow => "receive-window",
            LimitedBy::SendBuffer => "send-buffer",
            LimitedBy::HostQueue => "host-queue",
        }
    }
}
