//! How many threads a run may take, how many it took, and why not more.

use std::fmt;

use lowtide_net::Whole;

/// How many threads a run may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threads {
    /// At most.
    pub most: usize,
    /// Takes as many as that where the network can be cut so, whether it pays or not.
    pub always: bool,
}

impl Threads {
    /// One.
    pub const ONE: Self = Self { most: 1, always: false };

    /// Up to so many, as far as they make the run faster.
    pub const fn up_to(most: usize) -> Self {
        Self { most, always: false }
    }
}

/// How many threads a run took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Used {
    /// So many.
    pub threads: usize,
    /// Why not as many as there might have been.
    pub why: Option<Fewer>,
    /// Windows that they did at the same time, and windows that one did for all.
    pub windows: (u64, u64),
}

/// Why a run took fewer threads than it might have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Fewer {
    /// The network is not cut.
    Whole(Whole),
    /// A trace, or a comparison of delays, is written in the order of all events.
    Record,
    /// So little happens within one lookahead that threads would mostly wait for one another.
    Little {
        /// Events within a lookahead, as far as that can be told before.
        events: u64,
    },
}

impl fmt::Display for Fewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(why) => why.fmt(f),
            Self::Record => {
                f.write_str("a trace, or a comparison of delays, takes all events in order")
            }
            Self::Little { events } => {
                write!(f, "only some {events} events happen before one part can reach another")
            }
        }
    }
}
