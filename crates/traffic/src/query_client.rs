//! Query clients: a client sends requests to servers and receives responses, repeatedly.

use lowtide_units::{Bytes, Duration, Instant};

/// Arrival times of an open loop, ascending.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArrivalTimes {
    /// All of them.
    pub times: Vec<Instant>,
    /// Number of the counted ones, which are first.
    pub counted: usize,
    /// Time up to which they are generated, if a limit of the group ended them.
    pub until: Option<Instant>,
}

impl From<Vec<Instant>> for ArrivalTimes {
    fn from(times: Vec<Instant>) -> Self {
        Self { counted: times.len(), times, until: None }
    }
}

/// Times at which a client starts queries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QuerySchedule {
    /// Closed loop: each query starts after a pause once the previous one is complete.
    ClosedLoop {
        /// Number of queries.
        queries: u32,
        /// Time from the last response of one query to the next query.
        pause: Duration,
    },
    /// Open loop: at these times, regardless of earlier queries; they never decrease.
    OpenLoop(ArrivalTimes),
}

impl QuerySchedule {
    /// Returns the number of queries if all complete.
    pub fn queries(&self) -> usize {
        match self {
            Self::ClosedLoop { queries, .. } => *queries as usize,
            Self::OpenLoop(arrivals) => arrivals.times.len(),
        }
    }

    /// Returns the number of queries that may be counted, which are the first ones.
    pub fn countable(&self) -> usize {
        match self {
            Self::ClosedLoop { queries, .. } => *queries as usize,
            Self::OpenLoop(arrivals) => arrivals.counted,
        }
    }
}

/// One client and its servers. A query goes to several of them at once, and each responds with some
/// bytes. The query is complete when the last byte of the last response is delivered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueryClientSpec {
    /// Index into the names of the traffic groups.
    pub group: u16,
    /// Client host; it opens the connections.
    pub client: u32,
    /// Time of its first query, before any start jitter; persistent connections are opened then.
    pub start: Instant,
    /// Candidate servers; never the client.
    pub servers: Vec<u32>,
    /// Servers per query; fewer than all are drawn without replacement.
    pub fan_out: u32,
    /// Bytes of a request to one server; at least one.
    pub request: Bytes,
    /// Response bytes of each query, cycled; at least one element, none of them zero.
    pub response_sizes: Vec<Bytes>,
    /// Times of its queries.
    pub schedule: QuerySchedule,
    /// Each request of a query is delayed by a uniform time up to this (DCTCP §2.3.2: jittering).
    pub jitter: Duration,
    /// Time after which a query has missed its deadline.
    pub deadline: Option<Duration>,
    /// Connections stay open from query to query, one per server; otherwise each request opens one.
    pub persistent: bool,
}

impl QueryClientSpec {
    /// Returns the number of queries if all complete.
    pub fn queries(&self) -> u64 {
        self.schedule.queries() as u64
    }

    /// Returns the number of connections opened if all queries complete.
    pub fn connections(&self) -> u64 {
        if self.persistent {
            self.servers.len() as u64
        } else {
            self.queries().saturating_mul(u64::from(self.fan_out))
        }
    }
}
