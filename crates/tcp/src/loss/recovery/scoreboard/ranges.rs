//! A set of offsets as ranges that neither overlap nor touch, with logarithmic search.

use alloc::collections::BTreeMap;

use super::visits::count_visit;

/// Bytes of a tree node per range, at most: nodes are at least five elevenths full.
const NODE_BYTES: usize = 48;

/// Half-open ranges of offsets.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    /// The end of each range by its start.
    ends: BTreeMap<u64, u64>,
}

impl Ranges {
    /// Adds `[start, end)` and merges it with ranges that it overlaps or touches.
    pub(super) fn insert(&mut self, mut start: u64, mut end: u64) {
        if start >= end {
            return;
        }
        if let Some((&before, &until)) = self.ends.range(..=start).next_back()
            && until >= start
        {
            if until >= end {
                return;
            }
            start = before;
        }
        while let Some((&inner, &until)) = self.ends.range(start..=end).next() {
            count_visit();
            self.ends.remove(&inner);
            end = end.max(until);
        }
        self.ends.insert(start, end);
    }

    /// Removes all offsets below `offset`.
    pub(super) fn cut_below(&mut self, offset: u64) {
        while let Some((&start, &end)) = self.ends.first_key_value() {
            if start >= offset {
                return;
            }
            count_visit();
            self.ends.pop_first();
            if end > offset {
                self.ends.insert(offset, end);
                return;
            }
        }
    }

    /// Returns the end of the range that contains `offset`.
    pub(super) fn end_at(&self, offset: u64) -> Option<u64> {
        let (_, end) = self.ends.range(..=offset).next_back()?;
        Some(*end).filter(|end| *end > offset)
    }

    /// The lowest range.
    pub(super) fn first(&self) -> Option<(u64, u64)> {
        self.ends.first_key_value().map(|(start, end)| (*start, *end))
    }

    /// The ranges in descending order.
    pub(super) fn descending(&self) -> impl Iterator<Item = (u64, u64)> {
        self.ends.iter().rev().map(|(start, end)| (*start, *end))
    }

    pub(super) fn clear(&mut self) {
        self.ends.clear();
    }

    /// Heap memory, bytes, at most.
    pub(super) fn heap(&self) -> usize {
        self.ends.len() * NODE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use std::vec::Vec;

    use super::*;

    /// Maximal runs of members.
    fn runs(members: &[bool]) -> Vec<(u64, u64)> {
        let mut out: Vec<(u64, u64)> = Vec::new();
        for (i, _) in members.iter().enumerate().filter(|(_, is)| **is) {
            let at = i as u64;
            match out.last_mut() {
                Some((_, end)) if *end == at => *end += 1,
                _ => out.push((at, at + 1)),
            }
        }
        out
    }

    proptest! {
        #[test]
        fn agrees_with_a_set_of_single_offsets(
            steps in prop::collection::vec((0_u64..40, 0_u64..12, prop::bool::weighted(0.15)), 1..80),
        ) {
            let (mut ranges, mut members) = (Ranges::default(), [false; 64]);
            for (at, len, cut) in steps {
                if cut {
                    ranges.cut_below(at);
                    members[..at as usize].fill(false);
                } else {
                    ranges.insert(at, at + len);
                    members[at as usize..(at + len) as usize].fill(true);
                }
                let expected = runs(&members);
                let mut got: Vec<_> = ranges.descending().collect();
                got.reverse();
                prop_assert_eq!(&got, &expected);
                prop_assert_eq!(ranges.first(), expected.first().copied());
                for offset in 0..64 {
                    let end = expected.iter().find(|(s, e)| (*s..*e).contains(&offset));
                    prop_assert_eq!(ranges.end_at(offset), end.map(|(_, e)| *e));
                }
            }
        }
    }
}
