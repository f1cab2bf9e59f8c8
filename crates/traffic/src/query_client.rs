//! Requests and answers: a client that asks servers, and asks again.

use lowtide_units::{Bytes, Duration, Instant};

/// When a client asks again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QuerySchedule {
    /// Closed loop: so many queries, each this long after the last one was answered in full.
    ClosedLoop {
        /// How many queries.
        queries: u32,
        /// From the last answer of one query to the next query.
        pause: Duration,
    },
    /// Open loop: at these times, whatever has become of earlier queries. Not falling.
    OpenLoop(Vec<Instant>),
}

/// One client and the servers that it asks. A query goes to some of them at once, each answers with
/// some bytes, and the query is complete when the last byte of the last answer is delivered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueryClientSpec {
    /// Index into the names of the traffic groups.
    pub group: u16,
    /// The host that asks; it opens the connections.
    pub client: u32,
    /// When it asks first, before any start jitter; connections that stay open are opened then.
    pub start: Instant,
    /// The hosts that may be asked, none of them the client.
    pub servers: Vec<u32>,
    /// How many of `servers` one query goes to, drawn without repetition when fewer than all.
    pub fan_out: u32,
    /// Bytes of a request to one server; at least one.
    pub request: Bytes,
    /// Bytes of an answer by query, used in turn; at least one element, none of them zero.
    pub response_sizes: Vec<Bytes>,
    /// When it asks.
    pub schedule: QuerySchedule,
    /// Each request of a query leaves up to this much later, uniformly (DCTCP §2.3.2: jittering).
    pub jitter: Duration,
    /// A query that takes longer has missed its deadline.
    pub deadline: Option<Duration>,
    /// Connections stay open from query to query, one per server; else each request has one of its own.
    pub persistent: bool,
}

impl QueryClientSpec {
    /// How often it asks if all goes well.
    pub fn queries(&self) -> u64 {
        match &self.schedule {
            QuerySchedule::ClosedLoop { queries, .. } => u64::from(*queries),
            QuerySchedule::OpenLoop(times) => times.len() as u64,
        }
    }

    /// How many connections it opens if all goes well.
    pub fn connections(&self) -> u64 {
        if self.persistent {
            self.servers.len() as u64
        } else {
            self.queries().saturating_mul(u64::from(self.fan_out))
        }
    }
}
