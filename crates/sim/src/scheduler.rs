//! Virtual time and the total order of events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use lowtide_units::Instant;

use crate::key::time_of;
use crate::later::Later;
use crate::rhythm::Rhythm;
use crate::wheel::{BUCKETS, Wheel};
use crate::{Entity, Seed};

/// Ticks of 2 ns, until more is known.
const TICK_BITS: u32 = 11;
/// Ticks of a block: the wheel is filled a block at a time.
const BLOCK: u64 = 1 << BLOCK_BITS;
const BLOCK_BITS: u32 = 10;

/// A list of more keys is long.
const LONG: usize = 256;

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
/// What comes within the tick that time has reached is a short sorted list of 16-byte keys; the next
/// few microseconds lie in a wheel of ticks ([`crate::wheel`]), what is beyond in a radix heap
/// ([`crate::later`]). How long a tick is follows from how many events a tick has had: it moves no
/// result. Where very many events meet at one time the list is long, and what still comes into it goes
/// to a heap beside it.
#[derive(Clone, Debug)]
pub struct Scheduler {
    /// What comes in the tick that was reached, or before; the next at the end.
    soon: Vec<u128>,
    /// What came when the list was long.
    crowd: BinaryHeap<Reverse<u128>>,
    wheel: Wheel,
    later: Later,
    /// A tick is two to that many picoseconds long.
    bits: u32,
    /// The tick that was reached; all before it is over, its own events are in the list.
    reached: u64,
    /// The wheel has all that is before this tick.
    within: u64,
    rhythm: Rhythm,
    len: usize,
    salt: u64,
    now: Instant,
    events: u64,
}

impl Scheduler {
    /// Nothing pending, the clock at zero. `seed` decides the order at equal times.
    pub fn new(seed: Seed) -> Self {
        Self {
            soon: Vec::new(),
            crowd: BinaryHeap::new(),
            wheel: Wheel::default(),
            later: Later::new(TICK_BITS + BLOCK_BITS, 0),
            bits: TICK_BITS,
            reached: 0,
            within: BUCKETS,
            rhythm: Rhythm::default(),
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
            let key = self.key(time, entity);
            self.len += 1;
            self.put(key);
        }
    }
    #[inline]
    fn put(&mut self, key: u128) {
        let tick = self.tick(key);
        if tick <= self.reached {
            self.insert(key);
        } else if tick < self.within {
            self.wheel.put(tick, key);
        } else {
            self.later.put(key);
        }
    }
    fn tick(&self, key: u128) -> u64 {
        time_of(key).as_ps() >> self.bits
    }
    /// Puts a key in its place among those that are soon.
    fn insert(&mut self, key: u128) {
        if self.soon.len() > LONG {
            return self.crowd.push(Reverse(key));
        }
        let before = self.soon.iter().rev().take_while(|other| **other < key).count();
        self.soon.insert(self.soon.len() - before, key);
    }
    /// Finds what comes next if that is not known. True when several events are at hand now that were not
    /// before.
    #[inline]
    pub(crate) fn open(&mut self) -> bool {
        if !self.soon.is_empty() || !self.crowd.is_empty() {
            return false;
        }
        self.advance();
        self.soon.len() > 1
    }
    /// What is at hand, the next first.
    pub(crate) fn coming(&self) -> impl Iterator<Item = Entity> {
        self.soon.iter().rev().map(|key| Entity::from_raw(*key as u32))
    }
    /// Takes the next event out and moves the clock there.
    pub fn pop(&mut self) -> Option<(Instant, Entity)> {
        self.pop_before(Instant::FAR_FUTURE)
    }
    /// Takes the next event out if it is before `limit`.
    #[inline]
    pub fn pop_before(&mut self, limit: Instant) -> Option<(Instant, Entity)> {
        if !self.crowd.is_empty() {
            self.mingle();
        } else if self.soon.is_empty() {
            self.advance();
        }
        let key = *self.soon.last()?;
        if time_of(key) >= limit {
            return None;
        }
        self.soon.pop();
        self.now = time_of(key);
        self.events += 1;
        self.len -= 1;
        Some((self.now, Entity::from_raw(key as u32)))
    }
    /// Sees to it that the next of all is at the end of the list.
    #[cold]
    fn mingle(&mut self) {
        let last = self.soon.last().copied();
        if let Some(first) = self.crowd.peek_mut()
            && last.is_none_or(|last| first.0 < last)
        {
            self.soon.push(PeekMut::pop(first).0);
        }
    }
    /// Moves on to the next tick that has an event, if there is one, and its events into the list, which is
    /// empty.
    #[inline]
    fn advance(&mut self) {
        let tick = match self.wheel.next(self.reached + 1) {
            Some(tick) => tick,
            None if self.later.is_empty() => return,
            None => self.leap(),
        };
        let block = self.reached >> BLOCK_BITS;
        self.reached = tick;
        self.wheel.take(tick, &mut self.soon);
        self.rhythm.ticks += 1;
        if self.soon.len() > 1 {
            self.soon.sort_unstable_by(|a, b| b.cmp(a));
        }
        if block != tick >> BLOCK_BITS {
            self.turn();
        }
    }
    /// The wheel is empty: on to the first tick of what is later. Returns it.
    #[inline(never)]
    fn leap(&mut self) -> u64 {
        let tick = self.later.first().map_or(self.reached, |key| self.tick(key));
        self.fill(tick);
        tick
    }
    /// A block of the wheel is behind: fills it with what was later, and looks whether ticks have the right
    /// length.
    #[inline(never)]
    fn turn(&mut self) {
        self.fill(self.reached);
        if let Some(bits) = self.rhythm.judge(self.bits, self.events) {
            self.cut(bits);
        }
    }
    /// Moves all into the wheel for which there is room when `tick` is reached.
    fn fill(&mut self, tick: u64) {
        let last = (tick >> BLOCK_BITS) + BUCKETS / BLOCK - 1;
        self.within = (last + 1) << BLOCK_BITS;
        let (wheel, bits) = (&mut self.wheel, self.bits);
        self.later.take_up_to(last, &mut |key| wheel.put(time_of(key).as_ps() >> bits, key));
    }
    /// From now on ticks are of two to the `bits` picoseconds.
    #[cold]
    fn cut(&mut self, bits: u32) {
        let mut keys = std::mem::take(&mut self.soon);
        while let Some(tick) = self.wheel.next(self.reached) {
            self.wheel.take(tick, &mut keys);
        }
        self.later.take_up_to(u64::MAX, &mut |key| keys.push(key));
        self.bits = bits;
        self.reached = self.now.as_ps() >> bits;
        let block = self.reached >> BLOCK_BITS;
        self.within = (block + BUCKETS / BLOCK) << BLOCK_BITS;
        self.later = Later::new(bits + BLOCK_BITS, block);
        for key in keys {
            self.put(key);
        }
        if self.soon.is_empty() && self.crowd.is_empty() {
            self.advance();
        }
    }
    /// The time of the next event.
    pub fn peek_time(&self) -> Option<Instant> {
        let crowd = self.crowd.peek().map(|key| key.0);
        let soon = self.soon.last().copied().into_iter().chain(crowd).min();
        let wheel = || self.wheel.keys(self.wheel.next(self.reached + 1)?).min();
        soon.or_else(wheel).or_else(|| self.later.first()).map(time_of)
    }
    /// The place of the next event in the order of all.
    pub(crate) fn first_key(&mut self) -> Option<u128> {
        self.open();
        let crowd = self.crowd.peek().map(|key| key.0);
        self.soon.last().copied().into_iter().chain(crowd).min()
    }
    /// The place of an event of `entity` at `time` in the order of all: what is before has a lower number.
    /// Schedulers of the same seed agree on it.
    pub fn place(&self, time: Instant, entity: Entity) -> u128 {
        self.key(time, entity)
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

    /// Thousands at one instant, and each of them schedules another for the same one or soon after.
    #[test]
    fn a_crowd_keeps_the_order_of_one_heap() {
        let mut sched = Scheduler::new(Seed(5));
        let mut heap = BinaryHeap::new();
        let push = |sched: &mut Scheduler, heap: &mut BinaryHeap<_>, ps: u64, i: u32| {
            let (time, entity) = (Instant::from_ps(ps), Entity::new(1, i));
            sched.at(time, entity);
            heap.push(Reverse(sched.key(time, entity)));
        };
        (0..3_000).for_each(|i| push(&mut sched, &mut heap, 1_000_000, i));
        for i in 0.. {
            assert_eq!(sched.peek_time(), heap.peek().map(|want| time_of(want.0)));
            let Some(Reverse(want)) = heap.pop() else { break };
            let (time, entity) = sched.pop().unwrap();
            assert_eq!(sched.key(time, entity), want, "event {i}");
            if i < 5_000 {
                push(&mut sched, &mut heap, time.as_ps() + u64::from(i % 3), 3_000 + i);
            }
        }
        assert!(sched.is_empty());
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
