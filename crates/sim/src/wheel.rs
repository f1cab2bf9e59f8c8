//! A timer wheel for the events of the next few microseconds.
//!
//! A ring of buckets, one per tick. Each bucket is the head of a list in a common pool; a two-level
//! bitmap finds the next non-empty bucket. [`crate::Scheduler`] chooses the tick length so that
//! most buckets hold one event, or several for prefetching. Events of one tick come out together
//! and unsorted.

use lowtide_units::Instant;

use crate::Entity;
use crate::pending::Pending;

/// Buckets of the ring: one bit each in 64 words, one bit per word in a 65th.
pub(crate) const BUCKETS: u64 = 1 << 12;
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
    heads: Box<[u32; BUCKETS as usize]>,
    occupied: [u64; 64],
    words: u64,
    nodes: Vec<Node>,
    /// Head of the free list.
    free: u32,
}

impl Default for Wheel {
    fn default() -> Self {
        Self {
            heads: Box::new([END; BUCKETS as usize]),
            occupied: [0; 64],
            words: 0,
            nodes: Vec::new(),
            free: END,
        }
    }
}

impl Wheel {
    /// Adds an event at `tick`, which is less than [`BUCKETS`] after the earliest event held.
    #[inline]
    pub(crate) fn put(&mut self, tick: u64, event: Pending) {
        let bucket = (tick % BUCKETS) as usize;
        let Pending { time, entity } = event;
        if self.free == END {
            self.grow();
        }
        let at = self.free;
        if let Some(node) = self.nodes.get_mut(at as usize) {
            self.free = node.next;
            *node = Node { time, entity, next: self.heads[bucket] };
            self.heads[bucket] = at;
        }
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
        self.words |= 1 << (bucket / 64);
    }

    /// Adds one free node.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.free = self.nodes.len() as u32;
        self.nodes.push(Node { time: Instant::ZERO, entity: Entity::from_raw(0), next: END });
    }

    /// Returns the next non-empty tick from `tick` on; it must be within [`BUCKETS`].
    #[inline]
    pub(crate) fn next(&self, tick: u64) -> Option<u64> {
        if self.words == 0 {
            return None;
        }
        let bucket = tick % BUCKETS;
        let (word, bit) = (bucket / 64, bucket % 64);
        let here = self.occupied[word as usize] >> bit;
        if here != 0 {
            return Some(tick + u64::from(here.trailing_zeros()));
        }
        // The following words, then the lower bits of this word after one turn of the ring.
        let turned = self.words.rotate_right(word as u32 + 1);
        let ahead = u64::from(turned.trailing_zeros()) + 1;
        let bits = self.occupied[((word + ahead) % 64) as usize];
        Some(tick - bit + ahead * 64 + u64::from(bits.trailing_zeros()))
    }

    /// Removes the event at `tick` if it is the only one there and before `limit`.
    #[inline]
    pub(crate) fn take_single(&mut self, tick: u64, limit: Instant) -> Option<Pending> {
        let bucket = (tick % BUCKETS) as usize;
        let at = self.heads[bucket];
        let node = self.nodes.get_mut(at as usize)?;
        if node.next != END || node.time >= limit {
            return None;
        }
        let event = node.event();
        node.next = self.free;
        self.free = at;
        self.heads[bucket] = END;
        self.clear(bucket);
        Some(event)
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
        let word = &mut self.occupied[bucket / 64];
        *word &= !(1 << (bucket % 64));
        if *word == 0 {
            self.words &= !(1 << (bucket / 64));
        }
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
            for ahead in [0, 1, 62, 63, 64, 65, 127, 2_000, 4_031, 4_032, 4_095] {
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
    fn take_single_takes_only_a_lone_due_event() {
        let mut wheel = Wheel::default();
        assert_eq!(wheel.take_single(3, Instant::FAR_FUTURE), None);
        wheel.put(3, event(7));
        assert_eq!(wheel.take_single(3, event(7).time), None);
        assert_eq!(wheel.take_single(3, event(8).time), Some(event(7)));
        assert_eq!(wheel.next(0), None);
        wheel.put(3, event(7));
        wheel.put(3, event(8));
        assert_eq!(wheel.take_single(3, Instant::FAR_FUTURE), None);
        assert_eq!((wheel.times(3).count(), wheel.nodes.len()), (2, 2));
    }
}
