//! One run on several threads ([`lowtide_sim::partition`]): cut by racks, run, put together.
//!
//! Contract: the outcome is that of [`crate::run`] on one thread, whatever the number of threads; only the
//! memory that ports hold ([`crate::RunCounts::port_bytes`]) may differ, since packets that wait for another part do
//! so elsewhere. A run that several threads would not make faster is done by one, and [`ThreadUsage`] says why.

mod cost_model;
mod cross_shard_log;
mod global_events;
mod join;
mod run_shard;
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
use crate::outcome::Outcome;
use crate::results;
use crate::run::{begin, end_reason};
use crate::setup::Setup;
use crate::world::World;

/// Runs `setup` to its end on up to so many threads. The same outcome as of [`crate::run`], sooner.
///
/// `should_stop` is asked now and then with the virtual time, on this thread; `true` ends the run as
/// interrupted.
///
/// # Errors
/// Why the run cannot start.
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
        Ok(found) => {
            drop(sched);
            let (outcome, windows) = run_shards(world, &found.cut, should_stop);
            Ok((outcome, ThreadUsage { threads: found.cut.shards(), why: found.why, windows }))
        }
    }
}

fn run_shards(
    world: World<'_>,
    cut: &Partition,
    should_stop: &mut dyn FnMut(Instant) -> bool,
) -> (Outcome, (u64, u64)) {
    let setup = world.setup;
    let unfinished = world.unfinished;
    let bounds = RunBounds {
        lookahead: cut.lookahead(),
        until: world.end,
        completions: (setup.end.when_done && unfinished > 0).then_some(unfinished),
    };
    let mut apart = split::split(world, cut);
    let mut conductor = GlobalEvents::new(&mut apart);
    let lead = (&mut conductor, &mut apart.global_sched);
    let ended = run_partitioned(&mut apart.processes, lead, bounds, should_stop);
    let mut world = join::join(apart, cut, ended.at);
    world.sampler = conductor.into_sampler();
    world.counts.events = ended.events;
    let outcome = results::collect(world, ended.at, end_reason(ended.stop));
    debug_assert!(
        ended.stop != Stop::Time || ended.at == bounds.until,
        "time ends a run at its end"
    );
    (outcome, (ended.windows, ended.merged))
}
