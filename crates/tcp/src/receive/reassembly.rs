//! Reassembly: the byte ranges that have arrived, in order and beyond (RFC 9293 §3.10.7.4, RFC
//! 2018).
//!
//! Holds ranges of offsets, no bytes. The window bounds the number of ranges; [`MAX_RANGES`] bounds
//! it against an adversary that sends every second byte.

use alloc::vec::Vec;

/// Maximum number of ranges; a segment that needs another is dropped as if it had not arrived.
pub(crate) const MAX_RANGES: usize = 1024;

/// Ranges found in one scan over all of them: more than a SACK option has room for.
const BLOCKS_PER_SCAN: usize = 6;

#[derive(Clone, Copy, Debug)]
struct Held {
    start: u64,
    end: u64,
    /// Logical time of the last update: SACK reports the latest range first (RFC 2018 §4).
    touched: u64,
}

/// Result of inserting a range.
#[expect(clippy::struct_excessive_bools, reason = "independent facts of one arrival")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InsertOutcome {
    /// It advanced the in-order edge.
    pub(crate) advanced: bool,
    /// It filled a gap or part of one, below data already held.
    pub(crate) filled: bool,
    /// All of it was held before.
    pub(crate) duplicate: bool,
    /// It was rejected because there is no room for another range.
    pub(crate) refused: bool,
}

/// The ranges that have arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    held: Vec<Held>,
    clock: u64,
    /// Ranges visited to find the latest.
    #[cfg(test)]
    scanned: core::cell::Cell<usize>,
}

impl Reassembly {
    /// Heap memory, bytes.
    pub(crate) const fn heap(&self) -> usize {
        self.held.capacity() * size_of::<Held>()
    }

    pub(crate) fn has_gap(&self) -> bool {
        !self.held.is_empty()
    }

    /// Adds `[start, end)`, with `start >= *edge`, and advances the in-order `edge` as far as
    /// possible.
    pub(crate) fn insert(&mut self, edge: &mut u64, start: u64, end: u64) -> InsertOutcome {
        let mut placed =
            InsertOutcome { advanced: false, filled: false, duplicate: false, refused: false };
        self.clock += 1;
        if start == *edge && self.held.is_empty() {
            *edge = end;
            placed.advanced = true;
            return placed;
        }
        // Ranges that touch or overlap [start, end) are merged.
        let first = self.held.partition_point(|h| h.end < start);
        let last = self.held.partition_point(|h| h.start <= end);
        let overlapped = self.held.get(first..last).unwrap_or(&[]);
        if overlapped.iter().any(|h| h.start <= start && end <= h.end) {
            placed.duplicate = true;
            if let Some(h) = self.held.get_mut(first) {
                h.touched = self.clock;
            }
            return placed;
        }
        let merged_start = overlapped.first().map_or(start, |h| h.start.min(start));
        let merged_end = overlapped.last().map_or(end, |h| h.end.max(end));
        placed.filled = !self.held.is_empty() && self.held.last().is_some_and(|h| start < h.end);
        if merged_start == *edge {
            self.held.drain(first..last);
            *edge = merged_end;
            placed.advanced = true;
            return placed;
        }
        if first == last && self.held.len() >= MAX_RANGES {
            placed.refused = true;
            return placed;
        }
        let whole = Held { start: merged_start, end: merged_end, touched: self.clock };
        self.held.splice(first..last, [whole]);
        placed
    }

    /// Returns the first part of `[start, end)` that is held.
    pub(crate) fn first_held(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        let first = self.held.partition_point(|h| h.end <= start);
        let part = self.held.get(first).map(|h| (h.start.max(start), h.end.min(end)));
        part.filter(|(from, to)| from < to)
    }

    /// Returns the range that contains `offset`.
    pub(crate) fn covering(&self, offset: u64) -> Option<(u64, u64)> {
        let first = self.held.partition_point(|h| h.end <= offset);
        self.held.get(first).filter(|h| h.start <= offset).map(|h| (h.start, h.end))
    }

    /// Passes up to `room` ranges beyond the edge to `take`, the latest first. Visits every range
    /// once per [`BLOCKS_PER_SCAN`] of them.
    pub(crate) fn blocks(&self, room: usize, mut take: impl FnMut(u64, u64)) {
        let (mut below, mut left) = (u64::MAX, room);
        while left > 0 {
            // The latest ranges so far, latest first; an unused slot has `touched` 0.
            let mut latest = [Held { start: 0, end: 0, touched: 0 }; BLOCKS_PER_SCAN];
            let limit = left.min(BLOCKS_PER_SCAN);
            for held in self.held.iter().filter(|h| h.touched < below) {
                #[cfg(test)]
                self.scanned.set(self.scanned.get() + 1);
                let place = latest.partition_point(|l| l.touched > held.touched);
                if let Some(last) = latest.last_mut().filter(|_| place < BLOCKS_PER_SCAN) {
                    *last = *held;
                    latest[place..].rotate_right(1);
                }
            }
            let found = latest.iter().take(limit).take_while(|h| h.touched > 0);
            let mut n = 0;
            for held in found {
                take(held.start, held.end);
                (below, n) = (held.touched, n + 1);
            }
            left = if n < limit { 0 } else { left - n };
        }
    }

    /// Discards all ranges.
    pub(crate) fn clear(&mut self) {
        self.held = Vec::new();
    }

    /// One past the highest offset held.
    pub(crate) fn top(&self) -> Option<u64> {
        self.held.last().map(|h| h.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec;

    #[test]
    fn latest_block_comes_first() {
        let mut edge = 0;
        let mut r = Reassembly::default();
        r.insert(&mut edge, 10, 20);
        r.insert(&mut edge, 30, 40);
        r.insert(&mut edge, 50, 60);
        r.insert(&mut edge, 20, 25);
        let mut blocks = vec![];
        r.blocks(3, |a, b| blocks.push((a, b)));
        assert_eq!(blocks, [(10, 25), (50, 60), (30, 40)]);
        assert_eq!(edge, 0);
    }

    #[test]
    fn a_hostile_comb_of_ranges_is_bounded() {
        let mut edge = 0;
        let mut r = Reassembly::default();
        for i in 0..5_000_u64 {
            let placed = r.insert(&mut edge, 2 * i + 1, 2 * i + 2);
            assert_eq!(placed.refused, i >= MAX_RANGES as u64);
        }
        assert!(r.held.len() <= MAX_RANGES);
        assert_eq!(
            r.insert(&mut edge, 0, 20_000),
            InsertOutcome { advanced: true, filled: true, duplicate: false, refused: false }
        );
        assert_eq!(edge, 20_000);
        assert!(!r.has_gap());
    }

    #[test]
    fn work_and_memory_of_a_hostile_comb_are_bounded() {
        let (mut edge, mut r) = (0, Reassembly::default());
        for i in 0..20_000_u64 {
            r.insert(&mut edge, 1 + 2 * (i * 7919 % 20_000), 2 + 2 * (i * 7919 % 20_000));
            let before = r.scanned.get();
            r.blocks(4, |_, _| ());
            assert!(r.scanned.get() - before <= MAX_RANGES, "each range once per ACK");
            assert!(r.heap() <= 2 * MAX_RANGES * size_of::<Held>(), "{} bytes", r.heap());
        }
        r.clear();
        assert_eq!((r.heap(), r.has_gap(), r.top()), (0, false, None));
    }

    proptest! {
        /// Compares with a map of single bytes.
        #[test]
        fn agrees_with_a_byte_map(pieces in prop::collection::vec((0_u64..200, 1_u64..40), 1..60)) {
            let mut map = vec![false; 300];
            let mut edge = 0;
            let mut r = Reassembly::default();
            for (start, len) in pieces {
                let (start, end) = (start.max(edge), (start + len).max(edge));
                if start == end {
                    continue;
                }
                let before = map.clone();
                let first = (start..end).find(|i| *i >= edge && before[*i as usize]);
                let held = first.map(|from| {
                    (from, (from..end).find(|i| !before[*i as usize]).unwrap_or(end))
                });
                prop_assert_eq!(r.first_held(start, end), held);
                let placed = r.insert(&mut edge, start, end);
                map[start as usize..end as usize].fill(true);
                let naive = map.iter().position(|b| !b).unwrap_or(map.len()) as u64;
                prop_assert_eq!(edge, naive);
                let all_there = before[start as usize..end as usize].iter().all(|b| *b);
                prop_assert_eq!(placed.duplicate, all_there);
                let mut seen = vec![false; 300];
                r.blocks(1000, |a, b| seen[a as usize..b as usize].fill(true));
                for (i, there) in map.iter().enumerate().skip(edge as usize) {
                    prop_assert_eq!(*there, seen[i], "byte {}", i);
                }
            }
        }
    }
}
