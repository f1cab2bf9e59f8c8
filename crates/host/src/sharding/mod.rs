//! One run on several threads ([`lowtide_sim::partition`]): split by racks, run, joined.
//!
//! Contract: the outcome equals that of [`crate::run`] on one thread, for any number of threads.
//! Only the memory of ports ([`crate::RunCounts::port_bytes`]) may differ, since packets for
//! another shard wait elsewhere. A run that would not profit from several threads uses one, and
//! [`ThreadUsage`] gives the reason.

mod cost_model;
mod cross_shard;
mod cross_shard_log;
mod global_events;
mod join;
mod run_shard;
pub(crate) mod shard;
mod split;
mod termination_check;
mod threads;

use lowtide_net::Partition;
use lowtide_sim::Stop;
use lowtide_sim::partition::{RunBounds, run_partitioned};
use lowtide_units::Instant;

use self::global_events::GlobalEvents;
pub use self::threads::{ThreadLimit, ThreadUsage, Threads};
use crate::error::RunError;
use crate::results;
use crate::results::outcome::Outcome;
use crate::run::{begin, end_reason};
use crate::setup::Setup;
use crate::world::World;

/// Runs `setup` to its end on up to `threads` threads. The outcome equals that of [`crate::run`].
///
/// `should_stop` is called occasionally with the virtual time, on this thread; `true` ends the run
/// as interrupted.
///
/// # Errors
/// The reason why the run cannot start.
pub fn run_on(
    setup: &Setup,
    threads: Threads,
    should_stop: &mut dyn FnMut(Instant) -> bool,
) -> Result<(Outcome, ThreadUsage), RunError> {
    let alone = |why| ThreadUsage { threads: 1, why, windows: (0, 0) };
    if threads.max <= 1 {
        return Ok((crate::run(setup, should_stop)?, alone(None)));
    }
    let (world, sched) = begin(setup)?;
    match cost_model::choose_partition(&world, threads) {
        Err(why) => Ok((crate::run::run_to_end(world, sched, should_stop), alone(Some(why)))),
        Ok(choice) => {
            drop(sched);
            let (outcome, windows) = run_shards(world, &choice.partition, should_stop);
            Ok((
                outcome,
                ThreadUsage { threads: choice.partition.shards(), why: choice.why, windows },
            ))
        }
    }
}

fn run_shards(
    world: World<'_>,
    partition: &Partition,
    should_stop: &mut dyn FnMut(Instant) -> bool,
) -> (Outcome, (u64, u64)) {
    let setup = world.setup;
    let unfinished = world.unfinished;
    let bounds = RunBounds {
        lookahead: partition.lookahead(),
        until: world.end,
        completions: (setup.end.when_done && unfinished > 0).then_some(unfinished),
    };
    let mut sharded = split::split(world, partition);
    let mut global_events = GlobalEvents::new(&mut sharded);
    let lead = (&mut global_events, &mut sharded.global_sched);
    let ended = run_partitioned(&mut sharded.processes, lead, bounds, should_stop);
    let mut world = join::join(sharded, partition, ended.at);
    world.sampler = global_events.into_sampler();
    world.counts.events = ended.events;
    let outcome = results::collect(world, ended.at, end_reason(ended.stop));
    debug_assert!(
        ended.stop != Stop::Time || ended.at == bounds.until,
        "time ends a run at its end"
    );
    (outcome, (ended.windows, ended.merged))
}
