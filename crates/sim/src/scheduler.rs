//! Virtual time and the total order of events.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::hint::cold_path;

use lowtide_units::Instant;

use crate::pending::{Pending, time_of};
use crate::radix_heap::RadixHeap;
use crate::tick_tuner::TickTuner;
use crate::wheel::{BUCKETS, FirstEvent, Wheel};
use crate::{Entity, Seed};

/// Initial tick length: 2 ns.
const TICK_BITS: u32 = 11;
/// Ticks per block: the wheel is filled one block at a time.
const BLOCK: u64 = 1 << BLOCK_BITS;
const BLOCK_BITS: u32 = 10;

/// A longer ready list overflows to a heap.
const READY_LIMIT: usize = 256;

/// The pending events and the clock.
///
/// **Order.** Events are ordered by time, then by a 32-bit hash of (seed, instant, entity), then by
/// entity. An entity has at most one relevant event at any instant. So this order is total and
/// depends neither on the order of scheduling nor on the thread. The hash includes the instant, so
/// of two entities that often collide neither always goes first.
///
/// **Time** never goes back. An event in the past is an error of the caller: a debug build panics,
/// a release build runs it now. An event at [`Instant::FAR_FUTURE`] never happens and is not kept.
///
/// Events cannot be cancelled: an entity whose deadline moved ignores the old event.
///
/// The next few microseconds are in a timer wheel ([`crate::wheel`]), later events in a radix heap
/// ([`crate::radix_heap`]). The first event of a tick with few events is taken directly from the
/// wheel. Many events of one tick, or those of a world that prefetches, become a sorted list.
/// Events that are then scheduled for this tick or before are inserted into it. The tick length
/// follows the number of events per tick and affects no result. If the list gets long, further
/// events go to an overflow heap beside it, which is empty if the list is.
#[derive(Clone, Debug)]
pub struct Scheduler {
    /// Events of the reached tick or before; the next is at the end.
    ready: Vec<Pending>,
    /// Order keys of events that arrived when the list was long.
    overflow: BinaryHeap<Reverse<u128>>,
    wheel: Wheel,
    radix_heap: RadixHeap,
    /// A tick is 2^`bits` ps long.
    bits: u32,
    /// The reached tick: earlier ticks are done. Its own events are in the list, or in the wheel if
    /// the list is empty.
    reached: u64,
    /// The wheel holds all events before this tick.
    wheel_end: u64,
    /// The first tick of the next block.
    block_end: u64,
    tick_tuner: TickTuner,
    /// Events scheduled so far.
    scheduled: u64,
    salt: u64,
    now: Instant,
    events: u64,
}

impl Scheduler {
    /// Returns an empty scheduler with the clock at zero. `seed` breaks ties.
    pub fn new(seed: Seed) -> Self {
        Self {
            ready: Vec::new(),
            overflow: BinaryHeap::new(),
            wheel: Wheel::default(),
            radix_heap: RadixHeap::new(TICK_BITS + BLOCK_BITS, 0),
            bits: TICK_BITS,
            reached: 0,
            wheel_end: BUCKETS,
            block_end: BLOCK,
            tick_tuner: TickTuner::default(),
            scheduled: 0,
            salt: seed.value(),
            now: Instant::ZERO,
            events: 0,
        }
    }
    /// Makes ticks hold several events from now on, for a world that prefetches.
    pub(crate) fn batch_ticks(&mut self) {
        self.tick_tuner.batch_ticks();
    }
    /// Returns the time of the last event taken, or the stop time of [`crate::run`] if that is
    /// later.
    pub const fn now(&self) -> Instant {
        self.now
    }
    /// Schedules the event of `entity` at `time`.
    #[expect(clippy::inline_always, reason = "twice per hop, and a call costs as much as the rest")]
    #[inline(always)]
    pub fn at(&mut self, time: Instant, entity: Entity) {
        debug_assert!(time >= self.now, "{entity:?} scheduled at {time}, now is {}", self.now);
        self.scheduled += 1;
        self.put(Pending { time: time.max(self.now), entity });
    }
    #[expect(clippy::inline_always, reason = "see `at`")]
    #[inline(always)]
    fn put(&mut self, event: Pending) {
        let tick = self.tick(event.time);
        if tick > self.reached && tick < self.wheel_end {
            self.wheel.put(tick, event);
        } else {
            self.put_elsewhere(tick, event);
        }
    }
    /// Adds an event beyond the wheel, or of the reached tick or before.
    #[inline(never)]
    fn put_elsewhere(&mut self, tick: u64, event: Pending) {
        if event.time == Instant::FAR_FUTURE {
            self.scheduled -= 1;
        } else if tick >= self.wheel_end {
            self.radix_heap.put(event);
        } else if self.ready.is_empty() {
            // The clock is in the reached tick.
            self.wheel.put(self.reached, event);
        } else {
            self.insert(event);
        }
    }
    fn tick(&self, time: Instant) -> u64 {
        time.as_ps() >> self.bits
    }
    /// Inserts an event into the ready list.
    #[inline(never)]
    fn insert(&mut self, event: Pending) {
        if self.ready.len() > READY_LIMIT {
            return self.overflow.push(Reverse(event.order_key(self.salt)));
        }
        let later = |other: &&Pending| other.is_before(event, self.salt);
        let before = self.ready.iter().rev().take_while(later).count();
        self.ready.insert(self.ready.len() - before, event);
    }
    /// Loads the next tick if no event is ready. Returns true if several events became ready.
    #[inline]
    pub(crate) fn refill_ready(&mut self) -> bool {
        if !self.ready.is_empty() {
            return false;
        }
        self.advance();
        self.ready.len() > 1
    }
    /// Returns the entities of the ready list, the next one first.
    pub(crate) fn ready_entities(&self) -> impl Iterator<Item = Entity> {
        self.ready.iter().rev().map(|event| event.entity)
    }
    /// Removes the next event and moves the clock to it.
    pub fn pop(&mut self) -> Option<(Instant, Entity)> {
        self.pop_before(Instant::FAR_FUTURE)
    }
    /// Removes the next event if it is before `limit`.
    #[expect(clippy::inline_always, reason = "every event, and a call costs as much as the rest")]
    #[inline(always)]
    pub fn pop_before(&mut self, limit: Instant) -> Option<(Instant, Entity)> {
        if !self.ready.is_empty() {
            return self.pop_ready(limit);
        }
        let Some(tick) = self.wheel.next(self.reached) else {
            cold_path();
            let tick = self.refill_from_heap()?;
            self.load_tick(tick);
            return self.pop_ready(limit);
        };
        let event = match self.wheel.take_first(tick, limit, self.salt) {
            FirstEvent::Only(event) => event,
            FirstEvent::OneOfSeveral(event) => {
                self.tick_tuner.shared += 1;
                event
            }
            FirstEvent::NotDue | FirstEvent::Crowded => {
                cold_path();
                self.load_tick(tick);
                return self.pop_ready(limit);
            }
        };
        self.enter_tick(tick);
        Some(self.dispatch(event))
    }
    /// Removes the next event of the ready list, which is not empty, if it is before `limit`.
    #[inline]
    fn pop_ready(&mut self, limit: Instant) -> Option<(Instant, Entity)> {
        if !self.overflow.is_empty() {
            self.merge_overflow();
        }
        let event = *self.ready.last()?;
        if event.time >= limit {
            cold_path();
            return None;
        }
        self.ready.pop();
        if self.ready.is_empty() && !self.overflow.is_empty() {
            self.merge_overflow();
        }
        Some(self.dispatch(event))
    }
    /// Advances the clock to an event that was removed.
    #[inline]
    fn dispatch(&mut self, event: Pending) -> (Instant, Entity) {
        self.now = event.time;
        self.events += 1;
        (event.time, event.entity)
    }
    /// Moves the first event of the overflow heap to the ready list if it is the next.
    #[cold]
    fn merge_overflow(&mut self) {
        let last = self.ready.last().map(|event| event.order_key(self.salt));
        if let Some(first) = self.overflow.peek_mut()
            && last.is_none_or(|last| first.0 < last)
        {
            self.ready.push(Pending::from_key(PeekMut::pop(first).0));
        }
    }
    /// Advances to the next tick with events, if any, and loads it into the ready list, which is
    /// empty.
    #[inline]
    fn advance(&mut self) {
        if let Some(tick) = self.next_tick() {
            self.load_tick(tick);
        }
    }
    /// Returns the next tick with events; they are in the wheel then.
    #[inline]
    fn next_tick(&mut self) -> Option<u64> {
        self.wheel.next(self.reached).or_else(|| self.refill_from_heap())
    }
    /// Advances to a tick and loads its events into the ready list, which is empty.
    #[inline(never)]
    fn load_tick(&mut self, tick: u64) {
        self.wheel.take(tick, &mut self.ready);
        self.tick_tuner.shared += self.ready.len().saturating_sub(1) as u64;
        let salt = self.salt;
        if self.ready.len() > 1 {
            self.ready.sort_unstable_by(|a, b| {
                if b.is_before(*a, salt) { Ordering::Less } else { Ordering::Greater }
            });
        }
        self.enter_tick(tick);
        if self.ready.is_empty() {
            // The tick length has changed.
            self.advance();
        }
    }
    /// Advances to a tick.
    #[inline]
    fn enter_tick(&mut self, tick: u64) {
        self.reached = tick;
        if tick >= self.block_end {
            self.next_block();
        }
    }
    /// Refills the empty wheel from the radix heap. Returns its first tick.
    #[inline(never)]
    fn refill_from_heap(&mut self) -> Option<u64> {
        let tick = self.tick(self.radix_heap.first()?);
        self.fill(tick);
        Some(tick)
    }
    /// A block of the wheel is done: refills the wheel and adapts the tick length.
    #[inline(never)]
    fn next_block(&mut self) {
        self.fill(self.reached);
        if let Some(bits) = self.tick_tuner.tune(self.bits, self.events) {
            self.resize_ticks(bits);
        }
    }
    /// Moves all events for which the wheel has room when `tick` is reached.
    fn fill(&mut self, tick: u64) {
        let last = (tick >> BLOCK_BITS) + BUCKETS / BLOCK - 1;
        self.set_wheel_end(last);
        let (wheel, bits) = (&mut self.wheel, self.bits);
        self.radix_heap.take_up_to(last, &mut |event| wheel.put(event.time.as_ps() >> bits, event));
    }
    /// Sets the last block of the wheel, and with it that of the reached tick.
    fn set_wheel_end(&mut self, last: u64) {
        self.wheel_end = (last + 1) << BLOCK_BITS;
        self.block_end = (last + 2 - BUCKETS / BLOCK) << BLOCK_BITS;
    }
    /// Changes the tick length to 2^`bits` ps.
    #[cold]
    fn resize_ticks(&mut self, bits: u32) {
        let mut events = std::mem::take(&mut self.ready);
        while let Some(tick) = self.wheel.next(self.reached) {
            self.wheel.take(tick, &mut events);
        }
        self.radix_heap.take_up_to(u64::MAX, &mut |event| events.push(event));
        self.bits = bits;
        self.reached = self.tick(self.now);
        let block = self.reached >> BLOCK_BITS;
        self.set_wheel_end(block + BUCKETS / BLOCK - 1);
        self.radix_heap = RadixHeap::new(bits + BLOCK_BITS, block);
        for event in events {
            self.put(event);
        }
    }
    /// Returns the time of the next event.
    pub fn peek_time(&self) -> Option<Instant> {
        let overflow = self.overflow.peek().map(|key| time_of(key.0));
        let soon = self.ready.last().map(|event| event.time).into_iter().chain(overflow).min();
        let wheel = || self.wheel.times(self.wheel.next(self.reached)?).min();
        soon.or_else(wheel).or_else(|| self.radix_heap.first())
    }
    /// Returns the order key of the next event.
    pub(crate) fn first_key(&mut self) -> Option<u128> {
        self.refill_ready();
        let overflow = self.overflow.peek().map(|key| key.0);
        let soon = self.ready.last().map(|event| event.order_key(self.salt));
        soon.into_iter().chain(overflow).min()
    }
    /// Returns the order key of an event of `entity` at `time`. Earlier events have lower keys.
    /// Schedulers with the same seed agree on it.
    pub fn order_key(&self, time: Instant, entity: Entity) -> u128 {
        Pending { time, entity }.order_key(self.salt)
    }
    /// Returns the number of pending events.
    pub const fn len(&self) -> usize {
        (self.scheduled - self.events) as usize
    }
    /// Returns true if no event is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Returns the number of events taken so far.
    pub const fn events(&self) -> u64 {
        self.events
    }
    /// Advances the clock to `time`; no event may be pending before it.
    pub(crate) fn advance_to(&mut self, time: Instant) {
        debug_assert!(self.peek_time().is_none_or(|t| t >= time));
        self.now = self.now.max(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Total order with many ties, spans of every size, and as many pending events as in a large
    /// network.
    #[test]
    fn pops_in_the_order_of_one_heap() {
        let mut sched = Scheduler::new(Seed(3));
        let mut heap = BinaryHeap::new();
        let mut rng = Seed(4).rng();
        let mut push = |sched: &mut Scheduler, heap: &mut BinaryHeap<_>| {
            // Mostly near, on a grid of 64 ns so that many tie; some far, up to ten seconds.
            let far = rng.below(8) == 0;
            let grid = if far { 64_000 << rng.below(28) } else { 64_000 };
            let time = Instant::from_ps((sched.now().as_ps() / grid + rng.below(40)) * grid);
            let time = time.max(sched.now());
            let entity = Entity::new(rng.below(16) as u8, rng.below(5_000) as u32);
            sched.at(time, entity);
            heap.push(Reverse(sched.order_key(time, entity)));
        };
        for round in 0..200_000 {
            let pushes = if round < 20_000 { 2 } else { 1 };
            (0..pushes).for_each(|_| push(&mut sched, &mut heap));
            assert_eq!(sched.len(), heap.len());
            let Some(Reverse(want)) = heap.pop() else { break };
            assert_eq!(sched.peek_time(), Some(time_of(want)));
            let got = sched.pop().map(|(time, entity)| sched.order_key(time, entity));
            assert_eq!(got, Some(want), "event {round}");
        }
        while let Some(Reverse(want)) = heap.pop() {
            let got = sched.pop().map(|(time, entity)| sched.order_key(time, entity));
            assert_eq!(got, Some(want));
        }
        assert!(sched.is_empty() && sched.pop().is_none() && sched.peek_time().is_none());
    }

    /// Thousands of events at one instant; each schedules another at the same instant or soon
    /// after.
    #[test]
    fn overflow_keeps_the_order_of_one_heap() {
        let mut sched = Scheduler::new(Seed(5));
        let mut heap = BinaryHeap::new();
        let push = |sched: &mut Scheduler, heap: &mut BinaryHeap<_>, ps: u64, i: u32| {
            let (time, entity) = (Instant::from_ps(ps), Entity::new(1, i));
            sched.at(time, entity);
            heap.push(Reverse(sched.order_key(time, entity)));
        };
        (0..3_000).for_each(|i| push(&mut sched, &mut heap, 1_000_000, i));
        for i in 0.. {
            assert_eq!(sched.peek_time(), heap.peek().map(|want| time_of(want.0)));
            let Some(Reverse(want)) = heap.pop() else { break };
            let (time, entity) = sched.pop().unwrap();
            assert_eq!(sched.order_key(time, entity), want, "event {i}");
            if i < 5_000 {
                push(&mut sched, &mut heap, time.as_ps() + u64::from(i % 3), 3_000 + i);
            }
        }
        assert!(sched.is_empty());
    }

    /// A limit before a far event does not change the order.
    #[test]
    fn events_scheduled_before_a_peeked_event_come_first() {
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
