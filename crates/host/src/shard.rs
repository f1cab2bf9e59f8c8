//! What a world knows that is only a part of a run, cut so that threads do its parts side by side
//! (`parallel/`).
//!
//! Contract: a world that is the whole run has none of this, and asks for it only where few events come by.
//! Connections and hosts are counted anew in each part, in their order; events, digests and results have their
//! numbers. Of a connection between two parts each has what belongs to its own end. What one end would have to
//! know of the other at once, and no packet tells, is for results only: it is written down here with the moment,
//! and put together when the run is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::event_key::EventKey;
use crate::query::QueryCost;

/// The server's end of a connection between two parts has gone through more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CostSample {
    /// Number of the connection.
    pub(crate) connection: u32,
    pub(crate) when: EventKey,
    /// All that it has gone through up to and with this event.
    pub(crate) sum: QueryCost,
}

/// What the server's end went through from one moment to the other counts for this query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CostClaim {
    pub(crate) connection: u32,
    pub(crate) query_client: u32,
    pub(crate) query: u32,
    pub(crate) from: EventKey,
    pub(crate) to: EventKey,
}

/// A request is on its way to a server in another part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RemoteRequest {
    /// The connection, as the server's part counts.
    pub(crate) connection: u32,
    pub(crate) query: u32,
}

/// What all parts know.
#[derive(Debug)]
pub(crate) struct ShardMap {
    /// The part of each host, by number.
    pub(crate) shards: Vec<u16>,
    /// The place of each host in its part.
    pub(crate) local_hosts: Vec<u32>,
    /// A bit for each connection between two parts that one of its ends has seen to its end.
    pub(crate) completed: Vec<AtomicU64>,
}

/// What one part knows.
#[derive(Debug)]
pub(crate) struct Shard {
    pub(crate) map: Arc<ShardMap>,
    /// Number of this part.
    pub(crate) id: u16,
    /// Numbers of its connections, ascending.
    pub(crate) numbers: Vec<u32>,
    /// The event that is being handled.
    pub(crate) current_event: EventKey,
    /// Flows and askers that are over here.
    pub(crate) completed: usize,
    /// Flows between two parts that this end has seen to their end: place, and when.
    pub(crate) flow_ends: Vec<(u32, EventKey)>,
    pub(crate) costs: Vec<CostSample>,
    pub(crate) claims: Vec<CostClaim>,
    /// For which part.
    pub(crate) remote_requests: Vec<(usize, RemoteRequest)>,
}

impl ShardMap {
    /// One end of this connection has seen it to its end; whether it is the first.
    pub(crate) fn complete(&self, number: u32) -> bool {
        let bit = 1 << (number % u64::BITS);
        let word = self.completed.get((number / u64::BITS) as usize);
        word.is_none_or(|word| word.fetch_or(bit, Ordering::Relaxed) & bit == 0)
    }
    /// Whether either end of this connection has seen it to its end.
    pub(crate) fn is_over(&self, number: u32) -> bool {
        let word = self.completed.get((number / u64::BITS) as usize);
        word.is_some_and(|word| word.load(Ordering::Relaxed) >> (number % u64::BITS) & 1 == 1)
    }
    /// The part of a host.
    pub(crate) fn shard_of(&self, host: u32) -> u16 {
        self.shards.get(host as usize).copied().unwrap_or_default()
    }
}
