//! What a connection of an asker carries: requests, and how far their answers are.
//!
//! Contract: requests and answers are bytes of the connection's two streams, in order, nothing else. A
//! request tells the server how much to answer (here: the size of its query's answers), and an answer
//! tells the client how long it is.

use std::collections::VecDeque;

use lowtide_units::Bytes;

use crate::moment::Moment;
use crate::query::Suffered;

/// A request that was sent and is not answered in full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) query: u32,
    /// Where its answer ends in the server's stream.
    pub(crate) ends: u64,
    /// What the connection had gone through before.
    pub(crate) before: Suffered,
    /// When it was sent; only known where a run is cut.
    pub(crate) asked: Moment,
}

/// What is under way on one connection.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) asker: u32,
    /// Requests that the client has got its answers to.
    done: u64,
    /// Requests that the server has answered.
    answered: u64,
    /// Bytes of all answers that the client has asked for.
    asked: u64,
    /// Requests after the first `done`, in order.
    pub(crate) waiting: VecDeque<Request>,
    /// The client is in another part of a run that is cut: here is what the server knows.
    pub(crate) away: bool,
    /// There, what the server's side was last noted to have gone through.
    pub(crate) noted: Suffered,
}

impl Exchange {
    pub(crate) const fn new(asker: u32) -> Self {
        Self {
            asker,
            done: 0,
            answered: 0,
            asked: 0,
            waiting: VecDeque::new(),
            away: false,
            noted: Suffered::NONE,
        }
    }

    /// What the server knows of a client in another part.
    pub(crate) fn away(asker: u32) -> Self {
        Self { away: true, ..Self::new(asker) }
    }

    /// The client sends a request of `query`, whose answer has that many bytes.
    pub(crate) fn request(&mut self, query: u32, answer: Bytes, before: Suffered, asked: Moment) {
        self.asked += answer.as_u64();
        self.waiting.push_back(Request { query, ends: self.asked, before, asked });
    }

    /// A client in another part asks for `query`.
    pub(crate) fn hear(&mut self, query: u32) {
        let (before, asked) = (Suffered::NONE, Moment::START);
        self.waiting.push_back(Request { query, ends: 0, before, asked });
    }

    /// The client has got the server's stream up to `upto`: the next request that this answers.
    pub(crate) fn take_answered(&mut self, upto: u64) -> Option<Request> {
        let first = self.waiting.front().filter(|r| r.ends <= upto).copied()?;
        self.waiting.pop_front();
        self.done += 1;
        Some(first)
    }

    /// The server has got `requests` in full: the query of the next one that it has not answered.
    pub(crate) fn take_heard(&mut self, requests: u64) -> Option<u32> {
        if self.answered >= requests {
            return None;
        }
        let place = self.answered.checked_sub(self.done)?;
        let request = self.waiting.get(usize::try_from(place).ok()?)?;
        let query = request.query;
        self.answered += 1;
        if self.away {
            // Nobody here waits for the answer.
            self.waiting.pop_front();
            self.done += 1;
        }
        Some(query)
    }
}
