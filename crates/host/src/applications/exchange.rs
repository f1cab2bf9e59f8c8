//! The requests and responses of a query connection.
//!
//! Contract: requests and answers are bytes of the connection's two streams, in order. A request
//! tells the server the size of the answer (here: the size of its query's answers), and an answer
//! tells the client its length.

use std::collections::VecDeque;

use lowtide_units::Bytes;

use super::query::QueryCost;
use crate::event_key::EventKey;
use crate::tables::missing;

/// A request that is sent and not fully answered.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Number of its query.
    pub query: u32,
    /// End of its answer in the server's stream.
    pub(crate) response_end: u64,
    /// Cost of the connection before the request.
    pub cost_before: QueryCost,
    /// Time of sending; known only with shards of the simulator.
    pub(crate) sent_at: EventKey,
}

/// The outstanding requests of one connection.
#[derive(Debug)]
pub struct Exchange {
    /// Number of its query client.
    pub query_client: u32,
    /// Requests whose answers the client has received.
    done: u64,
    /// Requests that the server has answered.
    answered: u64,
    /// Total bytes of all answers requested.
    response_bytes: u64,
    /// Requests after the first `done`, in order.
    pub outstanding: VecDeque<Request>,
    /// The client is in another shard; this holds the server's view.
    pub(crate) client_is_remote: bool,
    /// In that case, the last recorded cost of the server side.
    pub(crate) recorded_cost: QueryCost,
}

impl Exchange {
    /// Returns a connection of that query client without requests.
    pub const fn new(query_client: u32) -> Self {
        Self {
            query_client,
            done: 0,
            answered: 0,
            response_bytes: 0,
            outstanding: VecDeque::new(),
            client_is_remote: false,
            recorded_cost: QueryCost::NONE,
        }
    }

    /// Returns the server's view of a client in another shard.
    pub(crate) fn remote(query_client: u32) -> Self {
        Self { client_is_remote: true, ..Self::new(query_client) }
    }

    /// Adds a request of `query` whose answer has that many bytes.
    pub fn request(&mut self, query: u32, answer: Bytes, cost_before: QueryCost) {
        self.response_bytes += answer.as_u64();
        let (response_end, sent_at) = (self.response_bytes, EventKey::START);
        self.outstanding.push_back(Request { query, response_end, cost_before, sent_at });
    }

    /// Adds a request of `query` from a client in another shard.
    pub(crate) fn on_remote_request(&mut self, query: u32) {
        let (cost_before, sent_at) = (QueryCost::NONE, EventKey::START);
        self.outstanding.push_back(Request { query, response_end: 0, cost_before, sent_at });
    }

    /// Removes the next request that is answered when the client has received the server's stream
    /// up to `upto`.
    pub fn take_answered(&mut self, upto: u64) -> Option<Request> {
        let first = self.outstanding.front().filter(|r| r.response_end <= upto).copied()?;
        self.outstanding.pop_front();
        self.done += 1;
        Some(first)
    }

    /// Returns the query of the next unanswered request, when the server has received `requests` in
    /// full.
    pub fn take_received(&mut self, requests: u64) -> Option<u32> {
        if self.answered >= requests {
            return None;
        }
        // Requests that failed at the client are no longer outstanding.
        let index = self.answered.checked_sub(self.done)? as usize;
        let Some(request) = self.outstanding.get(index) else {
            missing("outstanding requests", index)
        };
        let query = request.query;
        self.answered += 1;
        if self.client_is_remote {
            // The client is remote: no one waits for the answer here.
            self.outstanding.pop_front();
            self.done += 1;
        }
        Some(query)
    }
}
