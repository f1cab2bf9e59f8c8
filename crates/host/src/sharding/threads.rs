//! The number of threads of a run: limit, use, and reason.

use lowtide_net::PartitionError;

/// The thread limit of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threads {
    /// Maximum.
    pub max: usize,
    /// Takes that many if the network can be partitioned, even if it does not pay off.
    pub force: bool,
}

impl Threads {
    /// One thread.
    pub const ONE: Self = Self { max: 1, force: false };

    /// Returns a limit of `most` threads, used as far as they make the run faster.
    pub const fn up_to(most: usize) -> Self {
        Self { max: most, force: false }
    }
}

/// The threads that a run used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadUsage {
    /// Number of threads.
    pub threads: usize,
    /// The reason why it did not use more.
    pub why: Option<ThreadLimit>,
    /// Windows executed in parallel, and windows executed by one thread for all.
    pub windows: (u64, u64),
}

/// The reason why a run used fewer threads than allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ThreadLimit {
    /// The network cannot be partitioned.
    #[error(transparent)]
    NotPartitioned(PartitionError),
    /// A trace or a comparison of delays is written in global event order.
    #[error("a trace, or a comparison of delays, takes all events in order")]
    OrderedRecording,
    /// So few events happen per lookahead that threads would mostly wait.
    #[error("only about {events} events happen per lookahead")]
    TooFewEvents {
        /// Estimated events per lookahead.
        events: u64,
    },
}
