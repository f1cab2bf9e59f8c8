//! The run loop.

use std::hint::cold_path;

use lowtide_units::Instant;

use crate::{Entity, Scheduler};

/// The simulated system.
pub trait World {
    /// Handles the event of `entity`; schedules further events with `sched`.
    fn handle(&mut self, now: Instant, entity: Entity, sched: &mut Scheduler);
    /// Returns true if [`World::prefetch`] is useful.
    fn wants_prefetch(&self) -> bool {
        false
    }
    /// Prefetches the state that these upcoming events will read, the next event first, so that the
    /// cache misses overlap. Other events may come before them. Must not change any result.
    fn prefetch(&self, _coming: impl Iterator<Item = Entity>) {}
    /// Returns true if there is nothing left to wait for; called before each event, so it must be
    /// cheap.
    fn finished(&self) -> bool;
}

/// The reason why [`run`] returned.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stop {
    /// `until` was reached.
    Time,
    /// No event was pending.
    Idle,
    /// [`World::finished`] returned true.
    Finished,
    /// `should_stop` returned true.
    Interrupted,
}

/// [`run`] calls `should_stop` once per this many events.
pub const POLL_EVERY: u64 = 1 << 16;

/// Handles events in order until one of the reasons in [`Stop`].
///
/// `until` is exclusive: a run to `a` and then to `b` equals a run to `b`. The scheduler's clock is
/// `until` after [`Stop::Time`], and the time of the last event otherwise. If several reasons hold,
/// the order is `Finished`, `Interrupted`, `Idle`, `Time`. Events at [`Instant::FAR_FUTURE`] never
/// happen.
///
/// `should_stop` gets the virtual time. It is called every [`POLL_EVERY`] events and must not
/// change the world; the result does not depend on it unless it interrupts.
pub fn run<W: World>(
    world: &mut W,
    sched: &mut Scheduler,
    until: Instant,
    should_stop: &mut dyn FnMut(Instant) -> bool,
) -> Stop {
    let prefetches = prepare(world, sched);
    loop {
        for _ in 0..POLL_EVERY {
            if world.finished() {
                cold_path();
                return Stop::Finished;
            }
            if prefetches {
                // Only large networks prefetch; small ones need the fast path.
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

/// Returns true if the world prefetches; ticks then hold several events.
fn prepare<W: World>(world: &W, sched: &mut Scheduler) -> bool {
    let prefetches = world.wants_prefetch();
    if prefetches {
        sched.batch_ticks();
    }
    prefetches
}

/// Handles the events before `until`. The clock remains at the last one.
pub(crate) fn window<W: World>(world: &mut W, sched: &mut Scheduler, until: Instant) {
    let prefetches = prepare(world, sched);
    loop {
        if prefetches && sched.refill_ready() {
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

    /// An entity that ticks every nanosecond, `left` times.
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
        // After the last tick the run is both idle and finished; `Finished` takes precedence.
        assert_eq!(run(&mut world, &mut sched, at(99), &mut |_| false), Stop::Finished);
        world.left = 1;
        assert_eq!(run(&mut world, &mut sched, at(99), &mut |_| false), Stop::Idle);
        assert_eq!(sched.now(), at(4));
        assert_eq!(sched.events(), 5);
    }

    #[test]
    fn a_finished_world_gets_no_more_events() {
        let (mut world, mut sched) = start(10, 7);
        assert_eq!(run(&mut world, &mut sched, at(99), &mut |_| false), Stop::Finished);
        assert_eq!(world.seen, [0, 1_000, 2_000]);
        assert_eq!(sched.len(), 1);
    }

    #[test]
    fn an_interrupted_run_resumes_unchanged() {
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
