//! A timer wheel for the next events: [`BUCKETS`] ticks, some microseconds.
//!
//! A ring of buckets, one per tick. Each bucket is the head of a list in a common pool; a bitmap
//! finds the next non-empty bucket. [`crate::Scheduler`] chooses the tick length so that about a
//! tenth of the buckets hold an event, or several for prefetching. So one or two words of the
//! bitmap are read.

use std::hint::cold_path;

use lowtide_units::Instant;

use crate::Entity;
use crate::pending::Pending;

/// Buckets of the ring.
pub(crate) const BUCKETS: u64 = 1 << 13;
/// Words of the bitmap.
const WORDS: usize = BUCKETS as usize / 64;
/// End of a list.
const END: u32 = u32::MAX;

/// An event in the pool.
#[derive(Clone, Copy, Debug)]
struct Node {
    time: Instant,
    entity: Entity,
    next: u32,
}

impl Node {
    fn event(&self) -> Pending {
        Pending { time: self.time, entity: self.entity }
    }
}

/// The wheel.
#[derive(Clone, Debug)]
pub(crate) struct Wheel {
    /// [`BUCKETS`] of them.
    heads: Box<[u32]>,
    /// One bit per bucket.
    occupied: [u64; WORDS],
    nodes: Vec<Node>,
    /// Head of the free list.
    free: u32,
}

impl Default for Wheel {
    fn default() -> Self {
        Self {
            heads: vec![END; BUCKETS as usize].into_boxed_slice(),
            occupied: [0; WORDS],
            nodes: Vec::new(),
            free: END,
        }
    }
}

/// The events that [`Wheel::take_first`] found at a tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FirstEvent {
    /// The first event, removed; it was the only one.
    Only(Pending),
    /// The first event, removed; others remain at the tick.
    OneOfSeveral(Pending),
    /// There is none before the limit.
    NotDue,
    /// More than [`MOST_SCANNED`] events.
    Crowded,
}

/// A tick with more events than this is sorted; the first of fewer is found by comparison.
pub(crate) const MOST_SCANNED: usize = 6;

impl Wheel {
    /// Adds an event at `tick`, which is less than [`BUCKETS`] after the earliest event held.
    #[inline]
    pub(crate) fn put(&mut self, tick: u64, event: Pending) {
        let bucket = (tick % BUCKETS) as usize;
        let Pending { time, entity } = event;
        let at = self.free;
        let Some(node) = self.nodes.get_mut(at as usize) else {
            return self.grow(bucket, event);
        };
        self.free = node.next;
        node.time = time;
        node.entity = entity;
        node.next = std::mem::replace(&mut self.heads[bucket], at);
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
    }

    /// Adds an event to a bucket when no node is free.
    #[cold]
    fn grow(&mut self, bucket: usize, event: Pending) {
        let Pending { time, entity } = event;
        let next = std::mem::replace(&mut self.heads[bucket], self.nodes.len() as u32);
        self.nodes.push(Node { time, entity, next });
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
    }

    /// Returns the next non-empty tick from `tick` on, if any; it must be within [`BUCKETS`].
    #[inline]
    pub(crate) fn next(&self, tick: u64) -> Option<u64> {
        let bucket = tick % BUCKETS;
        let here = self.occupied[(bucket / 64) as usize] >> (bucket % 64);
        if here != 0 {
            return Some(tick + u64::from(here.trailing_zeros()));
        }
        self.next_word(tick)
    }

    /// Returns the next non-empty tick in the words behind that of `tick`.
    #[inline(never)]
    fn next_word(&self, tick: u64) -> Option<u64> {
        // Finally the lower bits of the word of `tick` itself, after one turn of the ring.
        (1..=WORDS as u64).find_map(|ahead| {
            let first = (tick / 64 + ahead) * 64;
            let word = self.occupied[(first % BUCKETS / 64) as usize];
            (word != 0).then(|| first + u64::from(word.trailing_zeros()))
        })
    }

    /// Removes the first event at `tick` if it is before `limit`.
    #[inline]
    pub(crate) fn take_first(&mut self, tick: u64, limit: Instant, salt: u64) -> FirstEvent {
        let bucket = (tick % BUCKETS) as usize;
        let at = self.heads[bucket];
        let Some(node) = self.nodes.get_mut(at as usize) else { return FirstEvent::NotDue };
        if node.next != END {
            cold_path();
            return self.take_first_of_several(bucket, limit, salt);
        }
        if node.time >= limit {
            cold_path();
            return FirstEvent::NotDue;
        }
        let event = node.event();
        node.next = self.free;
        self.free = at;
        self.heads[bucket] = END;
        self.clear(bucket);
        FirstEvent::Only(event)
    }

    /// Removes the first of two events of a bucket, if it has two, their times differ, and it is
    /// before `limit`.
    #[inline]
    fn take_first_of_two(&mut self, bucket: usize, limit: Instant) -> Option<Pending> {
        let head = self.heads[bucket];
        let (a, b) = (
            self.nodes.get(head as usize)?,
            self.nodes.get(self.nodes[head as usize].next as usize)?,
        );
        if b.next != END || a.time == b.time {
            return None;
        }
        let (event, other) = if a.time < b.time { (a.event(), a.next) } else { (b.event(), head) };
        if event.time >= limit {
            return None;
        }
        let taken = if other == head { a.next } else { head };
        self.heads[bucket] = other;
        self.nodes[other as usize].next = END;
        self.nodes[taken as usize].next = self.free;
        self.free = taken;
        Some(event)
    }

    /// Removes the first of several events of a bucket.
    #[inline(never)]
    fn take_first_of_several(&mut self, bucket: usize, limit: Instant, salt: u64) -> FirstEvent {
        if let Some(event) = self.take_first_of_two(bucket, limit) {
            return FirstEvent::OneOfSeveral(event);
        }
        let mut before = END;
        let mut at = self.heads[bucket];
        let (mut first, mut first_at, mut before_first) = (None::<Pending>, END, END);
        let mut count = 0;
        while let Some(node) = self.nodes.get(at as usize) {
            let event = node.event();
            if first.is_none_or(|first| event.is_before(first, salt)) {
                (first, first_at, before_first) = (Some(event), at, before);
            }
            count += 1;
            if count > MOST_SCANNED {
                return FirstEvent::Crowded;
            }
            (before, at) = (at, node.next);
        }
        let Some(event) = first.filter(|first| first.time < limit) else {
            return FirstEvent::NotDue;
        };
        let next = std::mem::replace(&mut self.nodes[first_at as usize].next, self.free);
        self.free = first_at;
        match self.nodes.get_mut(before_first as usize) {
            Some(node) => node.next = next,
            None => self.heads[bucket] = next,
        }
        FirstEvent::OneOfSeveral(event)
    }

    /// Moves all events at `tick` to `out`.
    #[inline]
    pub(crate) fn take(&mut self, tick: u64, out: &mut Vec<Pending>) {
        let bucket = (tick % BUCKETS) as usize;
        let mut at = std::mem::replace(&mut self.heads[bucket], END);
        self.clear(bucket);
        while let Some(node) = self.nodes.get_mut(at as usize) {
            out.push(node.event());
            let next = std::mem::replace(&mut node.next, self.free);
            self.free = at;
            at = next;
        }
    }

    /// Marks a bucket empty.
    #[inline]
    fn clear(&mut self, bucket: usize) {
        self.occupied[bucket / 64] &= !(1 << (bucket % 64));
    }

    /// Returns the times of the events at `tick` without removing them.
    pub(crate) fn times(&self, tick: u64) -> impl Iterator<Item = Instant> {
        let node = |at: u32| self.nodes.get(at as usize);
        std::iter::successors(node(self.heads[(tick % BUCKETS) as usize]), move |n| node(n.next))
            .map(|node| node.time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(i: u32) -> Pending {
        Pending { time: Instant::from_ps(u64::from(i)), entity: Entity::new(0, i) }
    }

    #[test]
    fn finds_the_next_tick_anywhere_in_the_ring() {
        for start in [0, 63, 64, 4_000, 4_095, 4_096, 1 << 40] {
            for ahead in
                [0, 1, 62, 63, 64, 65, 127, 2_000, 4_031, 4_032, 4_095, 8_127, 8_128, 8_191]
            {
                let mut wheel = Wheel::default();
                assert_eq!(wheel.next(start), None);
                wheel.put(start + ahead, event(7));
                assert_eq!(wheel.next(start), Some(start + ahead), "{start} {ahead}");
                let mut out = Vec::new();
                wheel.take(start + ahead, &mut out);
                assert_eq!((out, wheel.next(start)), (vec![event(7)], None));
            }
        }
    }

    #[test]
    fn nodes_are_reused() {
        let mut wheel = Wheel::default();
        let mut out = Vec::new();
        for tick in 0..10_000 {
            (0..5).for_each(|i| wheel.put(tick, event(i)));
            assert_eq!(wheel.times(tick).count(), 5);
            wheel.take(tick, &mut out);
            out.sort_unstable_by_key(|event| event.time);
            assert_eq!(out, [0, 1, 2, 3, 4].map(event));
            out.clear();
        }
        assert_eq!(wheel.nodes.len(), 5);
    }

    #[test]
    fn the_first_event_of_a_tick_comes_first() {
        let take = |wheel: &mut Wheel, limit| wheel.take_first(3, limit, 1);
        let mut wheel = Wheel::default();
        let far = Instant::FAR_FUTURE;
        assert_eq!(take(&mut wheel, far), FirstEvent::NotDue);
        wheel.put(3, event(7));
        assert_eq!(take(&mut wheel, event(7).time), FirstEvent::NotDue);
        assert_eq!(take(&mut wheel, event(8).time), FirstEvent::Only(event(7)));
        assert_eq!(wheel.next(0), None);
        for order in [[7, 8, 9], [9, 8, 7], [8, 7, 9], [8, 9, 7]] {
            for i in order {
                wheel.put(3, event(i));
            }
            assert_eq!(take(&mut wheel, event(7).time), FirstEvent::NotDue);
            assert_eq!(take(&mut wheel, far), FirstEvent::OneOfSeveral(event(7)), "{order:?}");
            assert_eq!(take(&mut wheel, far), FirstEvent::OneOfSeveral(event(8)), "{order:?}");
            assert_eq!(take(&mut wheel, far), FirstEvent::Only(event(9)), "{order:?}");
            assert_eq!((wheel.next(0), wheel.nodes.len()), (None, 3));
        }
        (0..=MOST_SCANNED as u32).for_each(|i| wheel.put(3, event(i)));
        assert_eq!(take(&mut wheel, far), FirstEvent::Crowded);
        assert_eq!(wheel.times(3).count(), MOST_SCANNED + 1);
    }
}
