//! Events that are not soon: unsorted, by how far ahead they are.
//!
//! A radix heap. Time is cut into spans, and their number into digits of six bits. An event lies by the
//! highest digit in which its span differs from the one reached so far, and by the value of that digit:
//! first come the 64 spans around the one reached, one digit more is 64 times as long, and so on. The
//! first non-empty bucket, from the lowest digit up, holds what is next; when it is not of the lowest
//! digit it is dealt out again among lower ones. So an event moves at most once per digit, a timer of
//! milliseconds two or three times, and none is compared with another here.

use std::mem;

use lowtide_units::Instant;

use crate::pending::Pending;

/// Bits of a digit.
const DIGIT: u32 = 6;
/// Values of a digit.
const BUCKETS: usize = 1 << DIGIT;
/// Digits of 64 bits.
const LEVELS: usize = u64::BITS.div_ceil(DIGIT) as usize;
/// A bucket keeps its memory up to so many events when it is emptied.
const KEEP: usize = 1 << 10;

/// All events that differ from the span reached in one digit, and in none above it.
#[derive(Clone, Debug)]
struct Level {
    /// A bit for each bucket that holds something.
    occupied: u64,
    buckets: [Vec<Pending>; BUCKETS],
}

/// The pending events behind those that are soon.
#[derive(Clone, Debug)]
pub(crate) struct RadixHeap {
    /// A span is two to that many picoseconds long.
    bits: u32,
    /// Nothing that is held is in a span before this one.
    reached: u64,
    /// A bit for each level that holds something.
    occupied: u32,
    levels: Box<[Level; LEVELS]>,
}

impl RadixHeap {
    /// Holds nothing; spans are of two to the `bits` picoseconds, and none before `reached` will come.
    pub(crate) fn new(bits: u32, reached: u64) -> Self {
        let level = || Level { occupied: 0, buckets: [const { Vec::new() }; BUCKETS] };
        Self { bits, reached, occupied: 0, levels: Box::new([(); LEVELS].map(|()| level())) }
    }

    fn span(&self, event: Pending) -> u64 {
        event.time.as_ps() >> self.bits
    }

    /// Takes in an event, not before the span reached.
    #[inline(never)]
    pub(crate) fn put(&mut self, event: Pending) {
        let span = self.span(event);
        debug_assert!(span >= self.reached, "what is soon is not later");
        let index = ((span ^ self.reached) | 1).ilog2() / DIGIT;
        let digit = (span >> (index * DIGIT)) as usize % BUCKETS;
        self.occupied |= 1 << index;
        let level = &mut self.levels[index as usize];
        level.occupied |= 1 << digit;
        level.buckets[digit].push(event);
    }

    /// Gives `take` all events of spans up to and with `last`, which comes after all calls before.
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

    /// Where the next events are: level and digit.
    fn next_bucket(&self) -> Option<(usize, usize)> {
        if self.occupied == 0 {
            return None;
        }
        let index = self.occupied.trailing_zeros() as usize;
        Some((index, self.levels[index].occupied.trailing_zeros() as usize))
    }

    /// When the next event comes.
    pub(crate) fn first(&self) -> Option<Instant> {
        let (index, digit) = self.next_bucket()?;
        self.levels[index].buckets[digit].iter().map(|event| event.time).min()
    }
}
