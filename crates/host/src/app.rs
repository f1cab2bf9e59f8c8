//! The applications: a client that sends a flow's bytes and closes, a server that reads everything.
//!
//! Each flow has two connections with fixed numbers, so that a packet can carry both as steering
//! hints and no host needs a table of the others.

use lowtide_tcp::{CloseReason, ConnId, Info};
use lowtide_traffic::Flow;
use lowtide_units::Instant;

use crate::signals::Signals;

/// The port on which every host serves.
pub(crate) const SERVER_PORT: u16 = 5001;

/// As good as endless: 2^60 B take a century at 3 Tbit/s.
pub(crate) const BACKLOG: u64 = 1 << 60;

/// A connection of the run: twice the flow for the client's, plus one for the server's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Side(u32);

impl Side {
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
    /// The other end of the same flow.
    pub(crate) const fn peer(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// What the driver keeps of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    /// The host that holds it.
    pub(crate) host: u32,
    /// Its name at that host; `None` before it is opened and after it is released.
    pub(crate) conn: Option<ConnId>,
    /// When its one pending timer event comes; far future without one.
    pub(crate) armed: Instant,
    /// What it showed when it was released.
    pub(crate) last: Option<Box<Info>>,
}

/// One flow as it goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) flow: Flow,
    /// When it really started, jitter included.
    pub(crate) start: Instant,
    pub(crate) established: Option<Instant>,
    pub(crate) delivered: u64,
    /// Bytes delivered before the warm-up was over.
    pub(crate) delivered_in_warmup: u64,
    pub(crate) delivered_at: Option<Instant>,
    pub(crate) ports: (u16, u16),
    pub(crate) failed: Option<CloseReason>,
    pub(crate) signals: Signals,
}

impl Progress {
    /// Nothing more is to be waited for.
    pub(crate) fn is_over(&self) -> bool {
        self.flow.size.is_none() || self.delivered_at.is_some() || self.failed.is_some()
    }
}
