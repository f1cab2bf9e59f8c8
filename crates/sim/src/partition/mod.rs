//! Parallel execution of one run on several threads, with identical results.
//!
//! Contract: the simulated system is divided into shards ([`ShardWorld`]), each with its own
//! [`Scheduler`]. Every effect of one shard on another takes at least the **lookahead** and is sent
//! as a message. Once all shards have done everything before time `t`, none can affect another
//! before `t` + lookahead. They execute this **window** in parallel and then meet at a barrier. The
//! order within a shard is that of its scheduler, and events of different shards in one window are
//! independent. So every entity sees the same events in the same order as in [`crate::run`].
//!
//! Global events ([`GlobalWorld`]: samples of everything, link failures) get a window of one
//! instant, which one thread executes for all shards in the global event order. So does each window
//! in which the run could finish, since nothing may happen after that.

mod barrier;
mod merge;
mod windows;

use lowtide_units::{Duration, Instant};

use crate::{Entity, Scheduler, Stop, World};

pub use windows::run_partitioned;

/// A shard of the simulated system, disjoint from all others.
pub trait ShardWorld: World + Send {
    /// A message to another shard.
    type Message: Send;
    /// Passes all messages to other shards that arrive before `until` to `post`, with the number of
    /// the shard. Later ones may wait. Called when this shard has done all events of the window.
    /// Returns the earliest arrival time at another shard, of these messages or of those that wait.
    fn export_messages(
        &mut self,
        until: Instant,
        post: &mut dyn FnMut(usize, Self::Message),
    ) -> Option<Instant>;
    /// Returns true if messages wait to be exported.
    fn has_exports(&self) -> bool;
    /// Receives a message from another shard.
    fn import_message(&mut self, mail: Self::Message, sched: &mut Scheduler);
    /// Returns the number of awaited items that are complete; each counts in one shard only.
    fn completed(&self) -> usize;
    /// Returns true if an awaited item will certainly not complete before `until`, which is at most
    /// one lookahead after the events done. May return false in doubt; one thread then executes the
    /// window.
    fn cannot_finish_before(&mut self, until: Instant) -> bool;
}

/// A shard and its scheduler.
#[derive(Debug)]
pub struct LogicalProcess<R> {
    /// The shard.
    pub shard: R,
    /// Its pending events.
    pub sched: Scheduler,
}

/// The world of global events, which belong to no shard.
pub trait GlobalWorld<R> {
    /// Handles the global event of `entity`. `busy` if anything else is pending, in any shard or
    /// here.
    fn handle(
        &mut self,
        now: Instant,
        entity: Entity,
        shards: &mut [&mut LogicalProcess<R>],
        busy: bool,
        sched: &mut Scheduler,
    );
}

/// Bounds of the windows and of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunBounds {
    /// Minimum delay of any effect on another shard; above zero.
    pub lookahead: Duration,
    /// The end, exclusive, as in [`crate::run`].
    pub until: Instant,
    /// The run ends when this many items are complete; `None` to run to `until`.
    pub completions: Option<usize>,
}

/// The outcome of a partitioned run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartitionedRun {
    /// The reason for the end.
    pub stop: Stop,
    /// Time of the last event; `until` after [`Stop::Time`].
    pub at: Instant,
    /// Events handled, including global ones.
    pub events: u64,
    /// Windows executed in parallel.
    pub windows: u64,
    /// Windows executed by one thread.
    pub merged: u64,
}
