//! What a connection of an asker carries: requests, and how far their answers are.
//!
//! Contract: requests and answers are bytes of the connection's two streams, in order, nothing else. A
//! request tells the server how much to answer (here: the size of its query's answers), and an answer
//! tells the client how long it is.

use std::collections::VecDeque;

use lowtide_units::Bytes;

use crate::event_key::EventKey;
use crate::query::QueryCost;

/// A request that was sent and is not answered in full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) query: u32,
    /// Where its answer ends in the server's stream.
    pub(crate) response_end: u64,
    /// What the connection had gone through before.
    pub(crate) cost_before: QueryCost,
    /// When it was sent; only known where a run is cut.
    pub(crate) sent_at: EventKey,
}

/// What is under way on one connection.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) query_client: u32,
    /// Requests that the client has got its answers to.
    done: u64,
    /// Requests that the server has answered.
    answered: u64,
    /// Bytes of all answers that the client has asked for.
    response_bytes: u64,
    /// Requests after the first `done`, in order.
    pub(crate) outstanding: VecDeque<Request>,
    /// The client is in another part of a run that is cut: here is what the server knows.
    pub(crate) client_is_remote: bool,
    /// There, what the server's side was last noted to have gone through.
    pub(crate) recorded_cost: QueryCost,
}

impl Exchange {
    pub(crate) const fn new(asker: u32) -> Self {
        Self {
            query_client: asker,
            done: 0,
            answered: 0,
            response_bytes: 0,
            outstanding: VecDeque::new(),
            client_is_remote: false,
            recorded_cost: QueryCost::NONE,
        }
    }

    /// What the server knows of a client in another part.
    pub(crate) fn remote(asker: u32) -> Self {
        Self { client_is_remote: true, ..Self::new(asker) }
    }

    /// The client sends a request of `query`, whose answer has that many bytes.
    pub(crate) fn request(
        &mut self,
        query: u32,
        answer: Bytes,
        before: QueryCost,
        asked: EventKey,
    ) {
        self.response_bytes += answer.as_u64();
        self.outstanding.push_back(Request {
            query,
            response_end: self.response_bytes,
            cost_before: before,
            sent_at: asked,
        });
    }

    /// A client in another part asks for `query`.
    pub(crate) fn on_remote_request(&mut self, query: u32) {
        let (before, asked) = (QueryCost::NONE, EventKey::START);
        self.outstanding.push_back(Request {
            query,
            response_end: 0,
            cost_before: before,
            sent_at: asked,
        });
    }

    /// The client has got the server's stream up to `upto`: the next request that this answers.
    pub(crate) fn take_answered(&mut self, upto: u64) -> Option<Request> {
        let first = self.outstanding.front().filter(|r| r.response_end <= upto).copied()?;
        self.outstanding.pop_front();
        self.done += 1;
        Some(first)
    }

    /// The server has got `requests` in full: the query of the next one that it has not answered.
    pub(crate) fn take_received(&mut self, requests: u64) -> Option<u32> {
        if self.answered >= requests {
            return None;
        }
        let place = self.answered.checked_sub(self.done)?;
        let request = self.outstanding.get(usize::try_from(place).ok()?)?;
        let query = request.query;
        self.answered += 1;
        if self.client_is_remote {
            // Nobody here waits for the answer.
            self.outstanding.pop_front();
            self.done += 1;
        }
        Some(query)
    }
}
