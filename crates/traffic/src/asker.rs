//! Requests and answers: a client that asks servers, and asks again.

use lowtide_units::{Bytes, Duration, Instant};

/// When a client asks again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Asks {
    /// Closed loop: so many queries, each this long after the last one was answered in full.
    Closed {
        /// How many queries.
        queries: u32,
        /// From the last answer of one query to the next query.
        pause: Duration,
    },
    /// Open loop: at these times, whatever has become of earlier queries. Not falling.
    At(Vec<Instant>),
}

/// One client and the servers that it asks. A query goes to some of them at once, each answers with
/// some bytes, and the query is complete when the last byte of the last answer is delivered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asker {
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
    pub answers: Vec<Bytes>,
    /// When it asks.
    pub asks: Asks,
    /// Each request of a query leaves up to this much later, uniformly (DCTCP §2.3.2: jittering).
    pub jitter: Duration,
    /// A query that takes longer has missed its deadline.
    pub deadline: Option<Duration>,
    /// Connections stay open from query to query, one per server; else each request has one of its own.
    pub standing: bool,
}

impl Asker {
    /// How often it asks if all goes well.
    pub fn queries(&self) -> u64 {
        match &self.asks {
            Asks::Closed { queries, .. } => u64::from(*queries),
            Asks::At(times) => times.len() as u64,
        }
    }

    /// How many connections it opens if all goes well.
    pub fn connections(&self) -> u64 {
        if self.standing {
            self.servers.len() as u64
        } else {
            self.queries().saturating_mul(u64::from(self.fan_out))
        }
    }
}
