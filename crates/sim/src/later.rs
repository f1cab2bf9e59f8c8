//! Events that are not soon: unsorted, by how far ahead they are.
//!
//! A radix heap. Time is cut into quarters of a microsecond ([`Later::quarter`]), and their number
//! into digits of six bits. A key lies by the highest digit in which its quarter differs from the one
//! reached so far, and by the value of that digit: what differs in the last digit only is within
//! 16.8 us, one digit more is a millisecond, and so on. The first non-empty bucket, from the lowest
//! digit up, holds what is next; when it is not of the lowest digit it is dealt out again among lower
//! ones. So a key moves at most once per digit, a timer of milliseconds two or three times, and none
//! is compared with another here.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem;

use crate::scheduler::time_of;

/// Bits of time, in picoseconds, below a quarter: 2^18 ps are 0.26 us.
const QUARTER: u32 = 18;
/// Bits of a digit.
const DIGIT: u32 = 6;
/// Values of a digit.
const BUCKETS: usize = 1 << DIGIT;
/// Digits of 64 bits of time.
const LEVELS: usize = (u64::BITS - QUARTER).div_ceil(DIGIT) as usize;
/// A bucket keeps its memory up to so many keys when it is dealt out.
const KEEP: usize = 1 << 10;
/// With so many keys soon, no further quarter is opened.
const ENOUGH: usize = 32;

type Key = Reverse<u128>;

/// All keys that differ from the quarter reached in one digit, and in none above it.
#[derive(Clone, Debug)]
struct Level {
    /// A bit for each bucket that holds something.
    occupied: u64,
    buckets: [Vec<Key>; BUCKETS],
}

/// The pending events behind those that are soon.
#[derive(Clone, Debug)]
pub(crate) struct Later {
    /// All that is held is in quarters after this one.
    reached: u64,
    levels: Vec<Level>,
}

impl Default for Later {
    fn default() -> Self {
        let level = Level { occupied: 0, buckets: [const { Vec::new() }; BUCKETS] };
        Self { reached: 0, levels: vec![level; LEVELS] }
    }
}

impl Later {
    fn quarter(key: Key) -> u64 {
        time_of(key.0).as_ps() >> QUARTER
    }

    /// Takes a key in, or gives it back when it is soon: in the quarter reached or before.
    #[inline]
    pub(crate) fn put(&mut self, key: Key) -> Option<Key> {
        let quarter = Self::quarter(key);
        if quarter <= self.reached {
            return Some(key);
        }
        let level = (quarter ^ self.reached).ilog2() / DIGIT;
        let digit = (quarter >> (level * DIGIT)) as usize % BUCKETS;
        let level = &mut self.levels[level as usize];
        level.occupied |= 1 << digit;
        level.buckets[digit].push(key);
        None
    }

    /// Moves on to the next quarter in which there is something, and all of it into `soon`, which must
    /// be empty; where that is little, the quarters behind it too, while they are within the last
    /// digit: few events are best kept in one heap. Nothing happens when nothing is held.
    #[inline(never)]
    pub(crate) fn advance(&mut self, soon: &mut BinaryHeap<Key>) {
        debug_assert!(soon.is_empty(), "what is soon comes before what is later");
        while soon.len() < ENOUGH {
            match self.next_bucket() {
                Some((0, digit)) => {
                    let level = &mut self.levels[0];
                    level.occupied &= !(1 << digit);
                    self.reached = self.reached - self.reached % BUCKETS as u64 + digit as u64;
                    soon.extend(level.buckets[digit].drain(..));
                }
                Some((index, digit)) if soon.is_empty() => self.deal_out(index, digit, soon),
                _ => {
                    // The rest differs in higher digits: the last one is used up.
                    self.reached |= BUCKETS as u64 - 1;
                    return;
                }
            }
        }
    }

    /// Moves on to the first quarter in a bucket that is not of the lowest digit, and the bucket's keys
    /// to lower ones.
    fn deal_out(&mut self, index: usize, digit: usize, soon: &mut BinaryHeap<Key>) {
        let level = &mut self.levels[index];
        level.occupied &= !(1 << digit);
        let mut keys = mem::take(&mut level.buckets[digit]);
        self.reached = keys.iter().map(|key| Self::quarter(*key)).min().unwrap_or(self.reached);
        let of_this_quarter = keys.drain(..).filter_map(|key| self.put(key));
        soon.extend(of_this_quarter);
        if keys.capacity() <= KEEP {
            self.levels[index].buckets[digit] = keys;
        }
    }

    /// Where the next keys are: level and digit.
    fn next_bucket(&self) -> Option<(usize, usize)> {
        let index = self.levels.iter().position(|level| level.occupied != 0)?;
        Some((index, self.levels[index].occupied.trailing_zeros() as usize))
    }

    /// The next key.
    pub(crate) fn first(&self) -> Option<Key> {
        let (index, digit) = self.next_bucket()?;
        // Reversed: the greatest is first.
        self.levels[index].buckets[digit].iter().max().copied()
    }
}
