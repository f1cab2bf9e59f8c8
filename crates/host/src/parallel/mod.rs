//! One run on several threads ([`lowtide_sim::partition`]): cut by racks, run, put together.
//!
//! Contract: the outcome is that of [`crate::run`] on one thread, whatever the number of threads; only the
//! memory that ports hold ([`crate::Counts::port_bytes`]) may differ, since packets that wait for another part do
//! so elsewhere. A run that several threads would not make faster is done by one, and [`Used`] says why.

mod conduct;
mod join;
mod notes;
mod outlast;
mod part;
mod split;
mod threads;
mod worth;

use lowtide_net::Cut;
use lowtide_sim::Stop;
use lowtide_sim::partition::{Bounds, run_apart};
use lowtide_units::Instant;

use self::conduct::Conductor;
pub use self::threads::{Fewer, Threads, Used};
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
) -> Result<(Outcome, Used), RunError> {
    let alone = |why| Used { threads: 1, why, windows: (0, 0) };
    if threads.most <= 1 {
        return Ok((crate::run(setup, should_stop)?, alone(None)));
    }
    let (world, sched) = begin(setup)?;
    match worth::cut(&world, threads) {
        Err(why) => Ok((crate::run::go_on(world, sched, should_stop), alone(Some(why)))),
        Ok(found) => {
            drop(sched);
            let (outcome, windows) = run_parts(world, &found.cut, should_stop);
            Ok((outcome, Used { threads: found.cut.parts(), why: found.why, windows }))
        }
    }
}

fn run_parts(
    world: World<'_>,
    cut: &Cut,
    should_stop: &mut dyn FnMut(Instant) -> bool,
) -> (Outcome, (u64, u64)) {
    let setup = world.setup;
    let unfinished = world.unfinished;
    let bounds = Bounds {
        lookahead: cut.lookahead(),
        until: world.end,
        awaited: (setup.end.when_done && unfinished > 0).then_some(unfinished),
    };
    let mut apart = split::split(world, cut);
    let mut conductor = Conductor::new(&mut apart);
    let lead = (&mut conductor, &mut apart.agenda);
    let ended = run_apart(&mut apart.shares, lead, bounds, should_stop);
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
