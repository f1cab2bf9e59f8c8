//! The run loop.

use lowtide_rows::EndReason;
use lowtide_sim::{Scheduler, Seed, Stop};
use lowtide_units::Instant;

use crate::error::RunError;
use crate::results;
use crate::results::outcome::Outcome;
use crate::setup::Setup;
use crate::world::World;

/// Runs `setup` to its end.
///
/// `should_stop` is called occasionally with the virtual time; `true` ends the run as interrupted.
pub fn run(
    setup: &Setup,
    should_stop: &mut dyn FnMut(Instant) -> bool,
) -> Result<Outcome, RunError> {
    let (world, sched) = begin(setup)?;
    Ok(run_to_end(world, sched, should_stop))
}

/// Runs a started run to its end.
pub(crate) fn run_to_end(
    mut world: World<'_>,
    mut sched: Scheduler,
    should_stop: &mut dyn FnMut(Instant) -> bool,
) -> Outcome {
    let end = world.end;
    let stop = lowtide_sim::run(&mut world, &mut sched, end, should_stop);
    conclude(world, &sched, stop)
}

/// Returns the results of a run that has stopped.
pub(crate) fn conclude(mut world: World<'_>, sched: &Scheduler, stop: Stop) -> Outcome {
    let ended = if stop == Stop::Time { world.end } else { sched.now() };
    world.counts.events = sched.events();
    world.net.finish(ended);
    results::collect(world, ended, end_reason(stop))
}

/// Returns the reason why a run ended.
pub(crate) const fn end_reason(stop: Stop) -> EndReason {
    match stop {
        Stop::Time => EndReason::Time,
        Stop::Finished => EndReason::Done,
        Stop::Idle => EndReason::Idle,
        Stop::Interrupted => EndReason::Interrupted,
    }
}

/// Returns an empty scheduler; all schedulers of one run have the same order.
pub(crate) fn scheduler(setup: &Setup) -> Scheduler {
    let order_seed = if setup.disturbance.ties { setup.seed } else { 0 };
    Scheduler::new(Seed::derive(order_seed, "run", 0, "event order"))
}

/// Returns a run before its first event.
pub(crate) fn begin(setup: &Setup) -> Result<(World<'_>, Scheduler), RunError> {
    let mut world = World::new(setup)?;
    let mut sched = scheduler(setup);
    world.prime(&mut sched);
    Ok((world, sched))
}
