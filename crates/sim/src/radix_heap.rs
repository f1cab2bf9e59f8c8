//! A radix heap of the events beyond the wheel.
//!
//! Time is divided into spans, and span numbers into digits of six bits. An event's level is the
//! highest digit in which its span differs from the span reached so far. The value of that digit is
//! its bucket. The lowest level holds the 64 spans around the span reached; each further level
//! covers 64 times as much. The first non-empty bucket, from the lowest level up, holds the next
//! events. If it is above the lowest level, its events are redistributed to lower levels. So an
//! event moves at most once per digit, a timer of milliseconds two or three times, and no events
//! are compared here.

use std::mem;

use lowtide_units::Instant;

use crate::pending::Pending;

/// Bits per digit.
const DIGIT: u32 = 6;
/// Values of a digit.
const BUCKETS: usize = 1 << DIGIT;
/// Digits in 64 bits.
const LEVELS: usize = u64::BITS.div_ceil(DIGIT) as usize;
/// A drained bucket keeps its allocation up to this many events.
const KEEP: usize = 1 << 10;

/// The events whose highest digit that differs from the span reached is this one.
#[derive(Clone, Debug)]
struct Level {
    /// One bit per non-empty bucket.
    occupied: u64,
    buckets: [Vec<Pending>; BUCKETS],
}

/// The pending events beyond the wheel.
#[derive(Clone, Debug)]
pub(crate) struct RadixHeap {
    /// A span is 2^`bits` ps long.
    bits: u32,
    /// No held event is in an earlier span.
    reached: u64,
    /// One bit per non-empty level.
    occupied: u32,
    levels: Box<[Level; LEVELS]>,
}

impl RadixHeap {
    /// Returns an empty heap with spans of 2^`bits` ps; no event before span `reached` may follow.
    pub(crate) fn new(bits: u32, reached: u64) -> Self {
        let level = || Level { occupied: 0, buckets: [const { Vec::new() }; BUCKETS] };
        Self { bits, reached, occupied: 0, levels: Box::new([(); LEVELS].map(|()| level())) }
    }

    fn span(&self, event: Pending) -> u64 {
        event.time.as_ps() >> self.bits
    }

    /// Adds an event that is not before the span reached.
    #[inline(never)]
    pub(crate) fn put(&mut self, event: Pending) {
        let span = self.span(event);
        debug_assert!(span >= self.reached, "event before the span reached");
        let index = ((span ^ self.reached) | 1).ilog2() / DIGIT;
        let digit = (span >> (index * DIGIT)) as usize % BUCKETS;
        self.occupied |= 1 << index;
        let level = &mut self.levels[index as usize];
        level.occupied |= 1 << digit;
        level.buckets[digit].push(event);
    }

    /// Passes all events of spans up to and including `last` to `take`. `last` never decreases
    /// between calls.
    #[inline(never)]
    pub(crate) fn take_up_to(&mut self, last: u64, take: &mut dyn FnMut(Pending)) {
        while let Some((index, digit)) = self.next_bucket() {
            let below = index as u32 * DIGIT;
            let prefix = self.reached.checked_shr(below + DIGIT).unwrap_or(0) << DIGIT;
            let first = (prefix | digit as u64) << below;
            if first > last {
                return;
            }
            self.reached = self.reached.max(first);
            let level = &mut self.levels[index];
            level.occupied &= !(1 << digit);
            if level.occupied == 0 {
                self.occupied &= !(1 << index);
            }
            let mut events = mem::take(&mut level.buckets[digit]);
            for event in events.drain(..) {
                if self.span(event) <= last {
                    take(event);
                } else {
                    self.put(event);
                }
            }
            if events.capacity() <= KEEP && self.levels[index].buckets[digit].is_empty() {
                self.levels[index].buckets[digit] = events;
            }
        }
    }

    /// Returns level and digit of the next non-empty bucket.
    fn next_bucket(&self) -> Option<(usize, usize)> {
        if self.occupied == 0 {
            return None;
        }
        let index = self.occupied.trailing_zeros() as usize;
        Some((index, self.levels[index].occupied.trailing_zeros() as usize))
    }

    /// Returns the time of the next event.
    pub(crate) fn first(&self) -> Option<Instant> {
        let (index, digit) = self.next_bucket()?;
        self.levels[index].buckets[digit].iter().map(|event| event.time).min()
    }
}
