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

use crate::moment::Moment;
use crate::query::Suffered;

/// The server's end of a connection between two parts has gone through more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Number of the connection.
    pub(crate) connection: u32,
    pub(crate) when: Moment,
    /// All that it has gone through up to and with this event.
    pub(crate) sum: Suffered,
}

/// What the server's end went through from one moment to the other counts for this query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    pub(crate) connection: u32,
    pub(crate) asker: u32,
    pub(crate) query: u32,
    pub(crate) from: Moment,
    pub(crate) to: Moment,
}

/// A request is on its way to a server in another part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    /// The connection, as the server's part counts.
    pub(crate) place: u32,
    pub(crate) query: u32,
}

/// What all parts know.
#[derive(Debug)]
pub(crate) struct Common {
    /// The part of each host, by number.
    pub(crate) parts: Vec<u16>,
    /// The place of each host in its part.
    pub(crate) places: Vec<u32>,
    /// A bit for each connection between two parts that one of its ends has seen to its end.
    pub(crate) over: Vec<AtomicU64>,
}

/// What one part knows.
#[derive(Debug)]
pub(crate) struct Apart {
    pub(crate) common: Arc<Common>,
    /// Number of this part.
    pub(crate) part: u16,
    /// Numbers of its connections, ascending.
    pub(crate) numbers: Vec<u32>,
    /// The event that is being handled.
    pub(crate) moment: Moment,
    /// Flows and askers that are over here.
    pub(crate) over: usize,
    /// Flows between two parts that this end has seen to their end: place, and when.
    pub(crate) ends: Vec<(u32, Moment)>,
    pub(crate) costs: Vec<Cost>,
    pub(crate) claims: Vec<Claim>,
    /// For which part.
    pub(crate) asked: Vec<(usize, Asked)>,
}

impl Common {
    /// One end of this connection has seen it to its end; whether it is the first.
    pub(crate) fn is_first(&self, number: u32) -> bool {
        let bit = 1 << (number % u64::BITS);
        let word = self.over.get((number / u64::BITS) as usize);
        word.is_none_or(|word| word.fetch_or(bit, Ordering::Relaxed) & bit == 0)
    }
    /// Whether either end of this connection has seen it to its end.
    pub(crate) fn is_over(&self, number: u32) -> bool {
        let word = self.over.get((number / u64::BITS) as usize);
        word.is_some_and(|word| word.load(Ordering::Relaxed) >> (number % u64::BITS) & 1 == 1)
    }
    /// The part of a host.
    pub(crate) fn part(&self, host: u32) -> u16 {
        self.parts.get(host as usize).copied().unwrap_or_default()
    }
}
