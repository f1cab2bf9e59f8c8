//! The run loop.

use std::hint::cold_path;

use lowtide_units::Instant;

use crate::{Entity, Scheduler};

/// Whatever is simulated.
pub trait World {
    /// The event of `entity` has come. What happens next goes into `sched`.
    fn handle(&mut self, now: Instant, entity: Entity, sched: &mut Scheduler);
    /// Whether [`World::prefetch`] is of use.
    fn wants_prefetch(&self) -> bool {
        false
    }
    /// These events are at hand, the next first; others may come before them. Whoever reads now what they
    /// will need lets the processor fetch it for all of them at once. Must not change what happens.
    fn prefetch(&self, _coming: impl Iterator<Item = Entity>) {}
    /// True when there is nothing left to wait for; asked before each event, so keep it cheap.
    fn finished(&self) -> bool;
}

/// Why [`run`] came back.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stop {
    /// The time was up.
    Time,
    /// No event was pending any more.
    Idle,
    /// The world said that it had finished.
    Finished,
    /// `should_stop` said so.
    Interrupted,
}

/// [`run`] asks `should_stop` once per this many events.
pub const POLL_EVERY: u64 = 1 << 16;

/// Handles events in order until one of the four reasons to [`Stop`].
///
/// `until` is exclusive: events before it are handled, events at it are not, so that a run to `a` and
/// then to `b` is the run to `b`. After [`Stop::Time`] the scheduler's clock stands at `until`; after
/// the other three it stands at the last event. Reasons that hold together are reported in the order
/// `CompletedExperiment`, `CallFailure`, `Idle`, `Time`. Events at [`Instant::FAR_FUTURE`] never happen.
///
/// `should_stop` gets the virtual time. It is asked every [`POLL_EVERY`] events and must not change
/// the world: an uninterrupted run is the same whatever it does.
pub fn run<W: World>(
    world: &mut W,
    sched: &mut Scheduler,
    until: Instant,
    should_stop: &mut dyn FnMut(Instant) -> bool,
) -> Stop {
    let foresees = prepare(world, sched);
    loop {
        for _ in 0..POLL_EVERY {
            if world.finished() {
                cold_path();
                return Stop::Finished;
            }
            if foresees {
                // What a large network waits for is memory; this is for the small ones.
                cold_path();
                if sched.refill_ready() {
                    world.prefetch(sched.ready_entities());
                }
            }
            let Some((now, entity)) = sched.pop_before(until) else {
                cold_path();
                if sched.is_empty() {
                    return Stop::Idle;
                }
                sched.advance_to(until);
                return Stop::Time;
            };
            world.handle(now, entity, sched);
        }
        if should_stop(sched.now()) {
            return Stop::Interrupted;
        }
    }
}

/// Whether the world is to be shown what is at hand; then there should be several.
fn prepare<W: World>(world: &W, sched: &mut Scheduler) -> bool {
    let foresees = world.wants_prefetch();
    if foresees {
        sched.batch_ticks();
    }
    foresees
}

/// Handles the events before `until`; the clock stays at the last one.
pub(crate) fn window<W: World>(world: &mut W, sched: &mut Scheduler, until: Instant) {
    let foresees = prepare(world, sched);
    loop {
        if foresees && sched.refill_ready() {
            world.prefetch(sched.ready_entities());
        }
        let Some((now, entity)) = sched.pop_before(until) else { return };
        world.handle(now, entity, sched);
    }
}

#[cfg(test)]
mod tests {
    use lowtide_units::Duration;

    use super::*;
    use crate::Seed;

    /// One entity that ticks every nanosecond, `left` times.
    struct Ticker {
        left: u64,
        finish_at: u64,
        seen: Vec<u64>,
    }

    impl World for Ticker {
        fn handle(&mut self, now: Instant, entity: Entity, sched: &mut Scheduler) {
            self.seen.push(now.as_ps());
            self.left -= 1;
            if self.left > 0 {
                sched.at(now + Duration::from_ns(1), entity);
            }
        }
        fn finished(&self) -> bool {
            self.left <= self.finish_at
        }
    }

    fn start(left: u64, finish_at: u64) -> (Ticker, Scheduler) {
        let mut sched = Scheduler::new(Seed(1));
        sched.at(Instant::ZERO, Entity::new(0, 0));
        (Ticker { left, finish_at, seen: Vec::new() }, sched)
    }

    fn at(ns: u64) -> Instant {
        Instant::ZERO + Duration::from_ns(ns)
    }

    #[test]
    fn the_end_is_exclusive_and_runs_compose() {
        let (mut world, mut sched) = start(10, 0);
        assert_eq!(run(&mut world, &mut sched, at(3), &mut |_| false), Stop::Time);
        assert_eq!(world.seen, [0, 1_000, 2_000]);
        assert_eq!(sched.now(), at(3));
        assert_eq!(run(&mut world, &mut sched, at(4), &mut |_| false), Stop::Time);
        assert_eq!(world.seen, [0, 1_000, 2_000, 3_000]);
        assert_eq!(run(&mut world, &mut sched, at(4), &mut |_| false), Stop::Time);
        assert_eq!(world.seen.len(), 4);
    }

    #[test]
    fn a_run_without_events_is_idle() {
        let (mut world, mut sched) = start(5, 0);
        // The last tick leaves nothing pending, and the world finished as well: that goes first.
        assert_eq!(run(&mut world, &mut sched, at(99), &mut |_| false), Stop::Finished);
        world.left = 1;
        assert_eq!(run(&mut world, &mut sched, at(99), &mut |_| false), Stop::Idle);
        assert_eq!(sched.now(), at(4));
        assert_eq!(sched.events(), 5);
    }

    #[test]
    fn a_finished_world_gets_no_further_event() {
        let (mut world, mut sched) = start(10, 7);
        assert_eq!(run(&mut world, &mut sched, at(99), &mut |_| false), Stop::Finished);
        assert_eq!(world.seen, [0, 1_000, 2_000]);
        assert_eq!(sched.len(), 1);
    }

    #[test]
    fn it_can_be_interrupted_and_goes_on_as_if_it_had_not_been() {
        let (mut world, mut sched) = start(POLL_EVERY * 3, 0);
        let mut polls = Vec::new();
        let stop = run(&mut world, &mut sched, Instant::FAR_FUTURE, &mut |now| {
            polls.push(now);
            polls.len() == 2
        });
        assert_eq!(stop, Stop::Interrupted);
        assert_eq!(polls, [at(POLL_EVERY - 1), at(2 * POLL_EVERY - 1)]);
        let stop = run(&mut world, &mut sched, Instant::FAR_FUTURE, &mut |_| false);
        assert_eq!(stop, Stop::Finished);
        assert!(world.seen.iter().copied().eq((0..POLL_EVERY * 3).map(|i| i * 1_000)));
    }
}
