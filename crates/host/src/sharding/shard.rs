//! The state of a world that is one shard of a run (`sharding/`).
//!
//! Contract: a world without shards has none of this, and checks for it only on rare paths.
//! Connections and hosts are renumbered in each shard, in order; events, digests and results have
//! global numbers. Of a connection across shards, each shard has the state of its end. Facts about
//! the remote end that no packet carries are needed only in results. They are recorded here with
//! their event key and merged at the end of the run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::applications::query::QueryCost;
use crate::event_key::EventKey;
use crate::tables::missing;

/// A cost record of the server's end of a connection across shards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CostSample {
    /// Number of the connection.
    pub(crate) connection: u32,
    pub(crate) when: EventKey,
    /// Total cost up to and including this event.
    pub(crate) sum: QueryCost,
}

/// Attributes the cost at the server's end between two events to this query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CostClaim {
    pub(crate) connection: u32,
    pub(crate) query_client: u32,
    pub(crate) query: u32,
    pub(crate) from: EventKey,
    pub(crate) to: EventKey,
}

/// A request in flight to a server in another shard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RemoteRequest {
    /// The connection, as numbered in the server's shard.
    pub(crate) connection: u32,
    pub(crate) query: u32,
}

/// State shared by all shards.
#[derive(Debug)]
pub(crate) struct ShardMap {
    /// The shard of each host, by number.
    pub(crate) shards: Vec<u16>,
    /// The local index of each host in its shard.
    pub(crate) local_hosts: Vec<u32>,
    /// One bit per connection across shards that one of its ends has completed.
    pub(crate) completed: Vec<AtomicU64>,
}

/// The state of one shard.
#[derive(Debug)]
pub(crate) struct Shard {
    pub(crate) map: Arc<ShardMap>,
    /// Number of this shard.
    pub(crate) id: u16,
    /// Global numbers of its connections, ascending.
    pub(crate) numbers: Vec<u32>,
    /// The event being handled.
    pub(crate) current_event: EventKey,
    /// Flows and query clients that are complete here.
    pub(crate) completed: usize,
    /// Flows across shards that this end has completed: local index, and time.
    pub(crate) flow_ends: Vec<(u32, EventKey)>,
    pub(crate) costs: Vec<CostSample>,
    pub(crate) claims: Vec<CostClaim>,
    /// With the destination shard.
    pub(crate) remote_requests: Vec<(usize, RemoteRequest)>,
}

impl ShardMap {
    /// Records that one end has completed this connection. Returns true for the first one.
    pub(crate) fn complete(&self, number: u32) -> bool {
        let bit = 1 << (number % u64::BITS);
        self.completion_word(number).fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Returns true if either end has completed this connection.
    pub(crate) fn is_over(&self, number: u32) -> bool {
        let word = self.completion_word(number).load(Ordering::Relaxed);
        word >> (number % u64::BITS) & 1 == 1
    }

    fn completion_word(&self, number: u32) -> &AtomicU64 {
        let Some(word) = self.completed.get((number / u64::BITS) as usize) else {
            missing("completed connections", number)
        };
        word
    }

    /// Returns the shard of a host.
    #[track_caller]
    pub(crate) fn shard_of(&self, host: u32) -> u16 {
        let Some(shard) = self.shards.get(host as usize) else { missing("hosts' shards", host) };
        *shard
    }

    /// Returns the local index of a host in its shard.
    #[track_caller]
    pub(crate) fn local_host(&self, host: u32) -> u32 {
        let Some(index) = self.local_hosts.get(host as usize) else {
            missing("hosts' local indices", host)
        };
        *index
    }
}
