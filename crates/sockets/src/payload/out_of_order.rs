//! Out-of-order bytes, in chunks keyed by offset.

use std::collections::BTreeMap;

/// Bytes of memory charged per chunk beside its payload: its share of the B-tree and the
/// allocator's overhead. At least 5 of 11 slots of a node are in use.
pub(crate) const CHUNK_OVERHEAD: usize = 128;
/// Bytes charged for the first node of the tree.
const NODE: usize = 384;
/// Largest chunk, bytes.
const MAX_CHUNK: usize = 64 << 10;
/// Largest chunk that is copied to the end of an adjacent one, bytes.
const COPY_LIMIT: usize = 2 << 10;

/// Chunks that do not overlap. Of two adjacent chunks the first is full or the second exceeds
/// [`COPY_LIMIT`]. So there is at most one chunk per gap and one per [`COPY_LIMIT`] bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct OutOfOrder {
    chunks: BTreeMap<u64, Vec<u8>>,
    /// Capacity of all chunks.
    capacity: usize,
}

impl OutOfOrder {
    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Bytes of memory in use.
    pub(crate) fn memory(&self) -> usize {
        let node = if self.chunks.is_empty() { 0 } else { NODE };
        self.capacity + self.chunks.len() * CHUNK_OVERHEAD + node
    }

    #[cfg(test)]
    pub(crate) fn chunks(&self) -> usize {
        self.chunks.len()
    }

    fn remove(&mut self, at: u64) -> Option<Vec<u8>> {
        let chunk = self.chunks.remove(&at)?;
        self.capacity -= chunk.capacity();
        Some(chunk)
    }

    /// Inserts `bytes` at offset `start`. A chunk that extends beyond the new bytes is kept; one
    /// that they cover is replaced.
    ///
    /// Cost: O(log n) in the number of chunks, plus each covered chunk once.
    pub(crate) fn insert(&mut self, mut start: u64, mut bytes: &[u8]) {
        let mut left = None;
        if let Some((&at, chunk)) = self.chunks.range(..=start).next_back() {
            let end = at + chunk.len() as u64;
            if end >= start {
                bytes = bytes.get((end - start) as usize..).unwrap_or(&[]);
                start = end;
                left = Some(at);
            }
        }
        if bytes.is_empty() {
            return;
        }
        let end = start + bytes.len() as u64;
        while let Some((&at, chunk)) = self.chunks.range(start..end).next() {
            if at + chunk.len() as u64 > end {
                bytes = bytes.get(..(at - start) as usize).unwrap_or(bytes);
                break;
            }
            self.remove(at);
        }
        if bytes.is_empty() {
            return;
        }
        let end = start + bytes.len() as u64;
        let right = self.chunks.get(&end).filter(|r| r.len() <= COPY_LIMIT).map(Vec::len);
        let joins = |len: usize| len + bytes.len() + right.unwrap_or(0) <= MAX_CHUNK;
        let left = left.filter(|at| self.chunks.get(at).is_some_and(|l| joins(l.len())));
        let right = right.filter(|_| left.is_some() || joins(0)).and_then(|_| self.remove(end));
        let right = right.as_deref().unwrap_or(&[]);
        if let Some(chunk) = left.and_then(|at| self.chunks.get_mut(&at)) {
            self.capacity -= chunk.capacity();
            chunk.reserve(bytes.len() + right.len());
            chunk.extend_from_slice(bytes);
            chunk.extend_from_slice(right);
            self.capacity += chunk.capacity();
        } else {
            let chunk = [bytes, right].concat();
            self.capacity += chunk.capacity();
            self.chunks.insert(start, chunk);
        }
    }

    /// Removes the first chunk if it begins at or before `offset`. Also returns the number of its
    /// bytes before `offset`.
    pub(crate) fn take_at(&mut self, offset: u64) -> Option<(Vec<u8>, usize)> {
        let (&at, _) = self.chunks.first_key_value().filter(|(at, _)| **at <= offset)?;
        let chunk = self.remove(at)?;
        let skip = usize::try_from(offset - at).unwrap_or(usize::MAX).min(chunk.len());
        Some((chunk, skip))
    }

    /// Discards all chunks.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_byte_takes_the_memory_of_one_byte_at_any_offset() {
        let mut held = OutOfOrder::default();
        for n in 0..1_000_u64 {
            held.insert((n + 1) << 24, b"x");
            assert_eq!(held.memory(), NODE + (n as usize + 1) * (1 + CHUNK_OVERHEAD));
        }
    }

    #[test]
    fn adjacent_single_bytes_are_joined_in_either_order() {
        let total = 100_000_u64;
        for backwards in [false, true] {
            let mut held = OutOfOrder::default();
            for n in 0..total {
                let at = if backwards { total - 1 - n } else { n };
                held.insert(10 + at, &[at as u8]);
            }
            let most = 1 + total as usize / COPY_LIMIT;
            assert!(held.chunks() <= most, "{} chunks, {backwards}", held.chunks());
            assert!(held.memory() <= 2 * total as usize + most * CHUNK_OVERHEAD + NODE);
        }
        // Every second byte first, then those between: one chunk remains.
        let mut held = OutOfOrder::default();
        for first in [0, 1] {
            for n in (first..2_000_u64).step_by(2) {
                held.insert(n, b"x");
            }
        }
        assert_eq!(held.chunks(), 1);
    }

    #[test]
    fn a_segment_over_scattered_bytes_replaces_them() {
        let mut held = OutOfOrder::default();
        for n in 0..1_000 {
            held.insert(100 + 2 * n, b"x");
        }
        held.insert(100, &[1; 3_000]);
        assert_eq!(held.chunks(), 1);
        let (chunk, skip) = held.take_at(101).unwrap();
        // The first byte is from the earlier chunk, which ends there.
        assert_eq!((chunk.len(), skip, chunk[0]), (3_000, 1, b'x'));
        assert_eq!(held.memory(), 0);
    }

    proptest! {
        /// Compares with a map of single bytes; each byte's value follows from its offset.
        #[test]
        fn agrees_with_a_byte_map(pieces in prop::collection::vec((0_u64..20_000, 1_usize..5_000), 1..60)) {
            let byte = |at: u64| (at % 251) as u8;
            let mut map = vec![false; 25_000];
            let mut held = OutOfOrder::default();
            for (start, len) in pieces {
                let end = start + len as u64;
                held.insert(start, &(start..end).map(byte).collect::<Vec<u8>>());
                map[start as usize..end as usize].fill(true);
                let capacity: usize = held.chunks.values().map(Vec::capacity).sum();
                prop_assert_eq!(held.capacity, capacity);
            }
            let mut seen = vec![false; 25_000];
            let mut last: Option<(u64, usize)> = None;
            for (at, chunk) in &held.chunks {
                if let Some((end, len)) = last {
                    prop_assert!(end <= *at, "chunks overlap");
                    prop_assert!(end < *at || chunk.len() > COPY_LIMIT || len + chunk.len() > MAX_CHUNK);
                }
                last = Some((at + chunk.len() as u64, chunk.len()));
                for (i, b) in (*at..).zip(chunk) {
                    prop_assert_eq!(*b, byte(i));
                    seen[i as usize] = true;
                }
            }
            prop_assert!(map == seen);
        }
    }
}
