//! How many threads a run may take, how many it took, and why not more.

use std::fmt;

use lowtide_net::PartitionError;

/// How many threads a run may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threads {
    /// At most.
    pub max: usize,
    /// Takes as many as that where the network can be cut so, whether it pays or not.
    pub force: bool,
}

impl Threads {
    /// One.
    pub const ONE: Self = Self { max: 1, force: false };

    /// Up to so many, as far as they make the run faster.
    pub const fn up_to(most: usize) -> Self {
        Self { max: most, force: false }
    }
}

/// How many threads a run took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadUsage {
    /// So many.
    pub threads: usize,
    /// Why not as many as there might have been.
    pub why: Option<ThreadLimit>,
    /// Windows that they did at the same time, and windows that one did for all.
    pub windows: (u64, u64),
}

/// Why a run took fewer threads than it might have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ThreadLimit {
    /// The network is not cut.
    NotPartitioned(PartitionError),
    /// A trace, or a comparison of delays, is written in the order of all events.
    OrderedRecording,
    /// So little happens within one lookahead that threads would mostly wait for one another.
    TooFewEvents {
        /// Events within a lookahead, as far as that can be told before.
        events: u64,
    },
}

impl fmt::Display for ThreadLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPartitioned(why) => why.fmt(f),
            Self::OrderedRecording => {
                f.write_str("a trace, or a comparison of delays, takes all events in order")
            }
            Self::TooFewEvents { events } => {
                write!(f, "only some {events} events happen before one part can reach another")
            }
        }
    }
}
