//! The connections of a run: their numbers, driver state and progress.
//!
//! Each connection has two sides with fixed numbers. A packet carries both as steering hints, so no
//! host needs a table of the others. Flows come first ([`lowtide_traffic::Flow`]): the client sends
//! the flow's bytes and closes, the server reads everything. Connections of query clients follow
//! (`applications/query_client.rs`): the client sends requests, and the server answers.

use std::hint::cold_path;

use lowtide_rows::EcnCounters;
use lowtide_tcp::{CloseReason, ConnId, EcnMode, Info};
use lowtide_units::{Bytes, Duration, Instant};

use crate::datapath::tsq::Tsq;
use crate::results::sender_summary::SenderSummary;
use crate::setup::Setup;
use crate::tables::Row;

/// The port on which every host listens.
pub(crate) const SERVER_PORT: u16 = 5001;

/// The host of a side whose host is in another shard.
pub(crate) const REMOTE_HOST: u32 = u32::MAX;

/// One side of a connection: twice the connection number, plus one for the server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ConnSide(u32);

impl ConnSide {
    pub(crate) const fn client(flow: u32) -> Self {
        Self(2 * flow)
    }

    pub(crate) const fn from_index(index: u32) -> Self {
        Self(index)
    }

    pub(crate) const fn index(self) -> u32 {
        self.0
    }

    pub(crate) const fn flow(self) -> usize {
        (self.0 / 2) as usize
    }

    pub(crate) const fn is_client(self) -> bool {
        self.0.is_multiple_of(2)
    }

    /// Returns the other side of the connection.
    pub(crate) const fn peer(self) -> Self {
        Self(self.0 ^ 1)
    }

    /// Returns the same side of another connection.
    #[inline]
    pub(crate) const fn with_flow(self, flow: u32) -> Self {
        Self(2 * flow + self.0 % 2)
    }
}

/// The driver state of one side of a connection.
#[derive(Clone, Debug)]
pub(crate) struct ConnHandle {
    /// Its host, or [`REMOTE_HOST`].
    pub(crate) host: u32,
    /// Its connection at that host.
    pub(crate) conn: OpenConn,
    /// Time of its pending timer event; far future without one.
    pub(crate) armed: Instant,
    /// Its state when it was released, unless it received a flow ([`ConnProgress::received`]).
    pub(crate) last: Option<Box<SenderSummary>>,
    /// Its data in the host's queue, if that is limited.
    pub(crate) tsq: Option<Box<Tsq>>,
}

impl ConnHandle {
    /// Returns a side at `host` that is not open.
    pub(crate) const fn at(host: u32) -> Self {
        Self { host, conn: OpenConn::NONE, armed: Instant::FAR_FUTURE, last: None, tsq: None }
    }
}

/// The connection id of a side; none before the open and after the release. Four bytes, so that a
/// cache line holds two whole handles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OpenConn(u32);

impl OpenConn {
    pub(crate) const NONE: Self = Self(u32::MAX);

    pub(crate) const fn new(ConnId(id): ConnId) -> Self {
        Self(id)
    }

    #[inline]
    pub(crate) const fn id(self) -> Option<ConnId> {
        if self.0 == Self::NONE.0 { None } else { Some(ConnId(self.0)) }
    }
}

impl Row for ConnHandle {
    const TABLE: &'static str = "connection sides";
    type Key = ConnSide;

    #[inline]
    fn index(side: ConnSide) -> usize {
        side.index() as usize
    }
}

/// The progress of one connection.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct ConnProgress {
    // A segment touches the first cache line, and the second one after the warm-up.
    /// True for a query connection: the server sends the data. Otherwise the client does.
    pub(crate) server_sends: bool,
    /// The class of its packets; `None` for that of the sending host.
    pub(crate) class: Option<u8>,
    /// Index of the traffic group.
    pub(crate) group: u16,
    pub(crate) failed: Option<CloseReason>,
    pub(crate) ports: (u16, u16),
    /// Its global number. Connections are renumbered within a shard.
    pub(crate) number: u32,
    /// Its number among the connections of its group, from 0.
    pub(crate) ordinal: u32,
    /// Its index at the other end; differs from its own only across shards.
    pub(crate) peer_index: u32,
    /// The client host.
    pub(crate) client: u32,
    /// The server host.
    pub(crate) server: u32,
    /// Bytes of data; `None` if unlimited.
    pub(crate) size: Option<Bytes>,
    pub(crate) delivered: u64,
    /// Bytes delivered during the warm-up.
    pub(crate) delivered_in_warmup: u64,
    pub(crate) ecn_counters: EcnCounters,
    /// Time when the application opens it, jitter included; far future if no query has used it.
    pub(crate) start: Instant,
    pub(crate) established: Option<Instant>,
    pub(crate) delivered_at: Option<Instant>,
    /// The counters of the receiver when it was released.
    pub(crate) received: Option<ReceiverCounters>,
}

/// Counters of the receiving end of a connection that result rows need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiverCounters {
    pub(crate) received_ce_bytes: u64,
    pub(crate) received_bytes: u64,
    pub(crate) delack_time: Duration,
    pub(crate) delack_timeouts: u32,
    pub(crate) ecn: EcnMode,
}

impl From<&Info> for ReceiverCounters {
    fn from(info: &Info) -> Self {
        Self {
            received_ce_bytes: info.received_ce_bytes,
            received_bytes: info.received_bytes,
            delack_time: info.delack_time,
            delack_timeouts: info.delack_timeouts,
            ecn: info.ecn,
        }
    }
}

// A finished flow needs no other memory for its receiver.
const _: () = assert!(size_of::<ConnProgress>() == 192 && size_of::<ConnHandle>() == 32);

impl Row for ConnProgress {
    const TABLE: &'static str = "connections";
    type Key = usize;

    #[inline]
    fn index(connection: usize) -> usize {
        connection
    }
}

impl ConnProgress {
    /// Returns a connection from `client` to `server` without progress.
    pub(crate) fn new(group: u16, client: u32, server: u32, size: Option<Bytes>) -> Self {
        Self {
            group,
            number: 0,
            ordinal: 0,
            peer_index: 0,
            class: None,
            server_sends: false,
            client,
            server,
            size,
            start: Instant::FAR_FUTURE,
            established: None,
            delivered: 0,
            delivered_in_warmup: 0,
            delivered_at: None,
            received: None,
            ports: (0, SERVER_PORT),
            failed: None,
            ecn_counters: EcnCounters::default(),
        }
    }

    /// Returns true if this side sends the data.
    #[inline]
    pub(crate) const fn sends(&self, side: ConnSide) -> bool {
        side.is_client() != self.server_sends
    }

    /// Returns the sending side of connection `number` and its host.
    pub(crate) const fn sender(&self, number: u32) -> (ConnSide, u32) {
        let client = ConnSide::client(number);
        if self.server_sends { (client.peer(), self.server) } else { (client, self.client) }
    }

    /// Records that everything below `upto` was delivered to the receiving application. Returns
    /// true once: when nothing is left to wait for.
    #[inline]
    pub(crate) fn note_delivered(&mut self, now: Instant, upto: u64, warm: Instant) -> bool {
        self.delivered = upto;
        if now < warm {
            cold_path();
            self.delivered_in_warmup = upto;
        }
        if self.size.is_some_and(|s| upto >= s.as_u64()) {
            cold_path();
            let was_over = self.is_over();
            self.delivered_at.get_or_insert(now);
            return !was_over;
        }
        false
    }

    /// Returns true for a flow that the end of the run may wait for.
    pub(crate) fn is_awaited(&self, setup: &Setup) -> bool {
        !self.server_sends
            && (setup.counting.open_loop.is_none()
                || setup.counts_flow(self.group, self.number, self.start))
    }

    /// Returns true if there is nothing left to wait for.
    pub(crate) fn is_over(&self) -> bool {
        self.size.is_none() || self.delivered_at.is_some() || self.failed.is_some()
    }
}
