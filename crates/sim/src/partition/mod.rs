//! One run on several threads, with the same result.
//!
//! Contract: what is simulated is cut into regions ([`ShardWorld`]), each with its own [`Scheduler`]. Whatever one
//! region does to another takes at least the **lookahead** to get there and goes as mail. So while all
//! regions have done what is before a time `t`, none can do anything to another before `t` + lookahead: they
//! do what is in that **window** each for itself, and then wait for one another. Order within a region is that
//! of its scheduler, and two events of different regions in one window do not touch: every entity
//! sees the same events in the same order as in [`crate::run`].
//!
//! What belongs to no region ([`GlobalWorld`]: samples of everything, links that fail) happens in a window of one
//! instant that one thread does for all regions, in the order of all events. So does each window
//! in which the last thing could be over that the run waits for, since nothing may happen after that.

mod barrier;
mod merge;
mod windows;

use lowtide_units::{Duration, Instant};

use crate::{Entity, Scheduler, Stop, World};

pub use windows::run_partitioned;

/// A part of what is simulated, that no other touches.
pub trait ShardWorld: World + Send {
    /// What comes to another region.
    type Message: Send;
    /// All of this region that is before the window is done. Gives `post` all that comes to other regions before
    /// `until` (the number of the region, and what comes); what is later may wait. Returns the first
    /// time at which anything comes to another region, of this mail or of what waits.
    fn export_messages(
        &mut self,
        until: Instant,
        post: &mut dyn FnMut(usize, Self::Message),
    ) -> Option<Instant>;
    /// Whether anything waits to be handed over.
    fn has_exports(&self) -> bool;
    /// Takes in what comes from another region.
    fn import_message(&mut self, mail: Self::Message, sched: &mut Scheduler);
    /// How many of the things that the run waits for are over; each counts in one region only.
    fn completed(&self) -> usize;
    /// True when something that the run waits for will certainly not be over before `until`, which is not
    /// later than a lookahead after what is done. May say false when in doubt, but then one thread does
    /// the window.
    fn cannot_finish_before(&mut self, until: Instant) -> bool;
}

/// A region and its events.
#[derive(Debug)]
pub struct LogicalProcess<R> {
    /// What it is.
    pub shard: R,
    /// What is to happen in it.
    pub sched: Scheduler,
}

/// What belongs to no region.
pub trait GlobalWorld<R> {
    /// Its event of `entity` has come. `busy` when anything else is pending, in any region or here.
    fn handle(
        &mut self,
        now: Instant,
        entity: Entity,
        regions: &mut [&mut LogicalProcess<R>],
        busy: bool,
        sched: &mut Scheduler,
    );
}

/// When windows end, and the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunBounds {
    /// What a region does to another takes that long at least; above zero.
    pub lookahead: Duration,
    /// The end, exclusive, as in [`crate::run`].
    pub until: Instant,
    /// The run ends when so many things are over; `None` to go on to the end.
    pub completions: Option<usize>,
}

/// How it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartitionedRun {
    /// Why.
    pub stop: Stop,
    /// The time of the last event; `until` after [`Stop::Time`].
    pub at: Instant,
    /// Events taken, those of the conductor included.
    pub events: u64,
    /// Windows that the threads did at the same time.
    pub windows: u64,
    /// Windows that one thread did for all.
    pub merged: u64,
}
