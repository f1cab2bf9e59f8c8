//! The run loop.

use lowtide_sim::{Scheduler, Seed, Stop};
use lowtide_units::Instant;

use crate::error::RunError;
use crate::outcome::{EndReason, Outcome};
use crate::results;
use crate::setup::Setup;
use crate::world::World;

/// Runs `setup` to its end.
///
/// `should_stop` is asked now and then with the virtual time; `true` ends the run as interrupted.
pub fn run(
    setup: &Setup,
    should_stop: &mut dyn FnMut(Instant) -> bool,
) -> Result<Outcome, RunError> {
    let (mut world, mut sched) = begin(setup)?;
    let end = world.end;
    let stop = lowtide_sim::run(&mut world, &mut sched, end, should_stop);
    let (reason, ended) = match stop {
        Stop::Time => (EndReason::Time, end),
        Stop::Finished => (EndReason::Done, sched.now()),
        Stop::Idle => (EndReason::Idle, sched.now()),
        Stop::Interrupted => (EndReason::Interrupted, sched.now()),
    };
    world.counts.events = sched.events();
    Ok(results::collect(world, ended, reason))
}

/// A run before its first event.
pub(crate) fn begin(setup: &Setup) -> Result<(World<'_>, Scheduler), RunError> {
    let mut world = World::new(setup)?;
    let order_seed = if setup.disturbance.ties { setup.seed } else { 0 };
    let mut sched = Scheduler::new(Seed::derive(order_seed, "run", 0, "event order"));
    world.prime(&mut sched);
    Ok((world, sched))
}
