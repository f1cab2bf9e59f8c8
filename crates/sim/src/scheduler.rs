//! Virtual time and the total order of events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use lowtide_units::Instant;

use crate::later::Later;
use crate::{Entity, Seed};

/// The pending events and the clock.
///
/// **Order.** Events happen by time; at one instant by a 32-bit hash of (seed, instant, entity), and
/// where that ties too by entity. An entity has at most one event that matters at one instant, so
/// this order is total and does not depend on the order in which events were scheduled, nor on which
/// thread did it. The hash takes in the instant, so that of two entities that keep meeting neither
/// always goes first.
///
/// **Time** never goes back. An event for the past is a mistake of the caller (a debug build says
/// so); it happens now. An event for [`Instant::FAR_FUTURE`] never happens and is not kept.
///
/// Events cannot be taken back: an entity whose deadline moved lets the old event pass.
///
/// What is soon is a binary heap of 16-byte keys. What is later lies apart and unsorted until its
/// quarter of a microsecond comes, so that the heap stays small enough for the nearest cache however
/// many timers wait behind it.
#[derive(Clone, Debug)]
pub struct Scheduler {
    /// What comes in the quarter that [`Later`] has reached, or before.
    soon: BinaryHeap<Reverse<u128>>,
    later: Later,
    len: usize,
    salt: u64,
    now: Instant,
    events: u64,
}

impl Scheduler {
    /// Nothing pending, the clock at zero. `seed` decides the order at equal times.
    pub fn new(seed: Seed) -> Self {
        Self {
            soon: BinaryHeap::new(),
            later: Later::default(),
            len: 0,
            salt: seed.value(),
            now: Instant::ZERO,
            events: 0,
        }
    }
    /// The time of the event taken last, or where [`crate::run`] stopped if that is later.
    pub const fn now(&self) -> Instant {
        self.now
    }
    /// Schedules the event of `entity` at `time`.
    #[inline]
    pub fn at(&mut self, time: Instant, entity: Entity) {
        debug_assert!(time >= self.now, "{entity:?} scheduled at {time}, now is {}", self.now);
        let time = time.max(self.now);
        if time < Instant::FAR_FUTURE {
            let key = Reverse(self.key(time, entity));
            self.len += 1;
            if let Some(key) = self.later.put(key) {
                self.soon.push(key);
            }
        }
    }
    /// Takes the next event out and moves the clock there.
    pub fn pop(&mut self) -> Option<(Instant, Entity)> {
        self.pop_before(Instant::FAR_FUTURE)
    }
    /// Takes the next event out if it is before `limit`.
    #[inline]
    pub fn pop_before(&mut self, limit: Instant) -> Option<(Instant, Entity)> {
        if self.soon.is_empty() {
            self.later.advance(&mut self.soon);
        }
        let next = self.soon.peek_mut()?;
        if time_of(next.0) >= limit {
            return None;
        }
        let Reverse(key) = PeekMut::pop(next);
        self.now = time_of(key);
        self.events += 1;
        self.len -= 1;
        Some((self.now, Entity::from_raw(key as u32)))
    }
    /// The time of the next event.
    pub fn peek_time(&self) -> Option<Instant> {
        let soon = self.soon.peek().copied();
        soon.or_else(|| self.later.first()).map(|next| time_of(next.0))
    }
    /// How many events are pending.
    pub const fn len(&self) -> usize {
        self.len
    }
    /// True when none is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// How many events were taken out so far.
    pub const fn events(&self) -> u64 {
        self.events
    }
    /// Moves the clock on to `time`, before which nothing may be pending.
    pub(crate) fn advance_to(&mut self, time: Instant) {
        debug_assert!(self.peek_time().is_none_or(|t| t >= time));
        self.now = self.now.max(time);
    }
    /// Time, hash and entity in one number that sorts as the events do.
    #[inline]
    fn key(&self, time: Instant, entity: Entity) -> u128 {
        let x = (self.salt ^ time.as_ps()).wrapping_add(u64::from(entity.raw()) << 32);
        let x = x.wrapping_mul(0xd6e8_feb8_6659_fd93);
        let hash = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93) & 0xffff_ffff_0000_0000;
        (u128::from(time.as_ps()) << 64) | u128::from(hash | u64::from(entity.raw()))
    }
}

pub(crate) fn time_of(key: u128) -> Instant {
    Instant::from_ps((key >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole order at once, many events at the same instants and spans of every size, with as
    /// many pending as a large network has.
    #[test]
    fn pops_in_the_order_of_one_heap() {
        let mut sched = Scheduler::new(Seed(3));
        let mut heap = BinaryHeap::new();
        let mut rng = Seed(4).rng();
        let mut push = |sched: &mut Scheduler, heap: &mut BinaryHeap<_>| {
            // Mostly near, on a grid of 64 ns so that many meet; some far, up to ten seconds.
            let far = rng.below(8) == 0;
            let grid = if far { 64_000 << rng.below(28) } else { 64_000 };
            let time = Instant::from_ps((sched.now().as_ps() / grid + rng.below(40)) * grid);
            let time = time.max(sched.now());
            let entity = Entity::new(rng.below(16) as u8, rng.below(5_000) as u32);
            sched.at(time, entity);
            heap.push(Reverse(sched.key(time, entity)));
        };
        for round in 0..200_000 {
            let pushes = if round < 20_000 { 2 } else { 1 };
            (0..pushes).for_each(|_| push(&mut sched, &mut heap));
            assert_eq!(sched.len(), heap.len());
            let Some(Reverse(want)) = heap.pop() else { break };
            assert_eq!(sched.peek_time(), Some(time_of(want)));
            let got = sched.pop().map(|(time, entity)| sched.key(time, entity));
            assert_eq!(got, Some(want), "event {round}");
        }
        while let Some(Reverse(want)) = heap.pop() {
            let got = sched.pop().map(|(time, entity)| sched.key(time, entity));
            assert_eq!(got, Some(want));
        }
        assert!(sched.is_empty() && sched.pop().is_none() && sched.peek_time().is_none());
    }

    /// A limit that stops before a far event moves nothing out of its order.
    #[test]
    fn what_is_scheduled_before_an_event_that_was_looked_at_comes_first() {
        let mut sched = Scheduler::new(Seed(1));
        let entity = |i| Entity::new(0, i);
        let at = |ms: u64| Instant::from_ps(ms * 1_000_000_000);
        sched.at(at(900), entity(1));
        sched.at(at(901), entity(2));
        assert_eq!(sched.pop_before(at(10)), None);
        sched.advance_to(at(10));
        sched.at(at(900), entity(3));
        sched.at(at(20), entity(4));
        sched.at(at(5_000), entity(5));
        let order: Vec<u64> = std::iter::from_fn(|| sched.pop())
            .map(|(time, _)| time.as_ps() / 1_000_000_000)
            .collect();
        assert_eq!(order, [20, 900, 900, 901, 5_000]);
    }
}
