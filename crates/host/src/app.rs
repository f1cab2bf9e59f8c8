//! The connections of a run: their numbers, what the driver keeps of each, and how far each is.
//!
//! Each connection has two sides with fixed numbers, so that a packet can carry both as steering hints
//! and no host needs a table of the others. First come the flows ([`lowtide_traffic::Flow`]): the
//! client sends the flow's bytes and closes, the server reads everything. Then come the connections of
//! askers ([`crate::ask`]): the client sends requests, and the server answers.

use std::hint::cold_path;

use lowtide_tcp::{CloseReason, ConnId, Info};
use lowtide_units::{Bytes, Instant};

use crate::ecn_counters::EcnCounters;
use crate::tsq::Tsq;

/// The port on which every host serves.
pub(crate) const SERVER_PORT: u16 = 5001;

/// As good as endless: 2^60 B take a century at 3 Tbit/s.
pub(crate) const UNLIMITED_BYTES: u64 = 1 << 60;

/// One side of a connection: twice its number for the client's, plus one for the server's.
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
    /// The other end of the same connection.
    pub(crate) const fn peer(self) -> Self {
        Self(self.0 ^ 1)
    }
    /// The same side of another connection.
    #[inline]
    pub(crate) const fn with_flow(self, flow: u32) -> Self {
        Self(2 * flow + self.0 % 2)
    }
}

/// What the driver keeps of one connection.
#[derive(Clone, Debug)]
pub(crate) struct ConnHandle {
    /// The host that holds it.
    pub(crate) host: u32,
    /// Its name at that host; `None` before it is opened and after it is released.
    pub(crate) conn: Option<ConnId>,
    /// When its one pending timer event comes; far future without one.
    pub(crate) armed: Instant,
    /// What it showed when it was released.
    pub(crate) last: Option<Box<Info>>,
    /// What it has in its host's queue, where that is limited.
    pub(crate) tsq: Option<Box<Tsq>>,
}

impl ConnHandle {
    /// A side at `host` that is not open.
    pub(crate) const fn at(host: u32) -> Self {
        Self { host, conn: None, armed: Instant::FAR_FUTURE, last: None, tsq: None }
    }
}

/// One connection as it goes on.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct ConnProgress {
    // In the order of use: what every segment touches stands together, what few do comes last.
    /// It is an asker's: the server sends the data. Else the client does.
    pub(crate) server_sends: bool,
    /// The class of its packets; `None` for that of the host that sends them.
    pub(crate) class: Option<u8>,
    /// Index of the traffic group.
    pub(crate) group: u16,
    pub(crate) failed: Option<CloseReason>,
    pub(crate) ports: (u16, u16),
    /// Bytes of data; `None` where no number ends it.
    pub(crate) size: Option<Bytes>,
    pub(crate) delivered: u64,
    pub(crate) delivered_at: Option<Instant>,
    pub(crate) ecn_counters: EcnCounters,
    /// Its number in the whole run. Where a run is cut, connections are counted anew in each part.
    pub(crate) number: u32,
    /// What it is called where the other end is: its own place, but for one between two parts.
    pub(crate) peer_index: u32,
    /// The host that opens it.
    pub(crate) client: u32,
    /// The host that it is opened to.
    pub(crate) server: u32,
    /// When the application opens it, jitter included; far future for one that nobody has asked for.
    pub(crate) start: Instant,
    pub(crate) established: Option<Instant>,
    /// Bytes delivered before the warm-up was over.
    pub(crate) delivered_in_warmup: u64,
}

impl ConnProgress {
    /// A connection from `client` to `server` of which nothing has happened yet.
    pub(crate) fn new(group: u16, client: u32, server: u32, size: Option<Bytes>) -> Self {
        Self {
            group,
            number: 0,
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
            ports: (0, SERVER_PORT),
            failed: None,
            ecn_counters: EcnCounters::default(),
        }
    }

    /// This side of it sends the data.
    #[inline]
    pub(crate) const fn sends(&self, side: ConnSide) -> bool {
        side.is_client() != self.server_sends
    }

    /// The side of it that sends the data, for connection `number`, and the host there.
    pub(crate) const fn sender(&self, number: u32) -> (ConnSide, u32) {
        let client = ConnSide::client(number);
        if self.server_sends { (client.peer(), self.server) } else { (client, self.client) }
    }

    /// The receiving application has got everything below `upto`.
    pub(crate) fn note_delivered(&mut self, now: Instant, upto: u64, warm: Instant) {
        self.delivered = upto;
        if now < warm {
            cold_path();
            self.delivered_in_warmup = upto;
        }
        if self.size.is_some_and(|s| upto >= s.as_u64()) {
            cold_path();
            self.delivered_at.get_or_insert(now);
        }
    }

    /// Nothing more is to be waited for.
    pub(crate) fn is_over(&self) -> bool {
        self.size.is_none() || self.delivered_at.is_some() || self.failed.is_some()
    }
}
