//! The send buffer: written bytes that the peer has not acknowledged.

use std::collections::VecDeque;
use std::ops::Range;

/// Capacity that is kept while any byte is held, bytes.
const MIN_CAPACITY: usize = 64 << 10;

/// Bytes to send or retransmit.
#[derive(Clone, Debug, Default)]
pub struct SendRing {
    /// Stream offset of the first byte held.
    base: u64,
    bytes: VecDeque<u8>,
}

impl SendRing {
    /// Appends bytes that the application wrote.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Returns the bytes of `range` as two slices. Bytes of the range that are not held are left
    /// out.
    pub fn slices(&self, range: &Range<u64>) -> (&[u8], &[u8]) {
        let index = |at: u64| {
            let index = usize::try_from(at.saturating_sub(self.base)).unwrap_or(usize::MAX);
            index.min(self.bytes.len())
        };
        let (start, end) = (index(range.start), index(range.end.max(range.start)));
        let (front, back) = self.bytes.as_slices();
        let split = front.len();
        let first = front.get(start.min(split)..end.min(split)).unwrap_or(&[]);
        let second = back.get(start.max(split) - split..end.max(split) - split).unwrap_or(&[]);
        (first, second)
    }

    /// Returns the bytes of `range`, as [`Self::slices`] does, joined.
    pub fn copy(&self, range: &Range<u64>) -> Vec<u8> {
        let (first, second) = self.slices(range);
        [first, second].concat()
    }

    /// Removes all bytes below `upto`, which are acknowledged.
    pub fn acknowledge(&mut self, upto: u64) {
        let n = usize::try_from(upto.saturating_sub(self.base)).unwrap_or(usize::MAX);
        let n = n.min(self.bytes.len());
        self.bytes.drain(..n);
        self.base += n as u64;
    }

    /// Frees memory if less than an eighth is in use; [`MIN_CAPACITY`] bytes stay. For memory
    /// pressure: a peer may have acknowledged all but one byte.
    pub fn shrink(&mut self) {
        if self.bytes.capacity() > MIN_CAPACITY && self.bytes.len() < self.bytes.capacity() / 8 {
            self.bytes.shrink_to((2 * self.bytes.len()).max(MIN_CAPACITY));
        }
    }

    /// Frees memory that an idle connection does not need.
    pub fn trim(&mut self) {
        if self.bytes.is_empty() {
            self.bytes = VecDeque::new();
        }
    }

    /// Bytes held.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether no bytes are held.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        self.bytes.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledged_bytes_are_freed_and_the_rest_can_be_retransmitted() {
        let mut ring = SendRing::default();
        ring.push(b"abcdef");
        assert_eq!(ring.copy(&(0..3)), b"abc");
        ring.acknowledge(4);
        assert_eq!((ring.len(), ring.copy(&(4..6))), (2, b"ef".to_vec()));
        assert_eq!(ring.copy(&(2..5)), b"e", "acknowledged bytes are left out");
        assert_eq!(ring.copy(&(6..9)), b"");
        ring.acknowledge(u64::MAX);
        ring.trim();
        assert!(ring.is_empty());
        assert_eq!(ring.memory(), 0);
    }

    #[test]
    fn one_unacknowledged_byte_does_not_keep_all_memory() {
        let mut ring = SendRing::default();
        ring.push(&vec![7; 4 << 20]);
        ring.acknowledge((4 << 20) - 1);
        ring.shrink();
        assert_eq!(ring.copy(&((4 << 20) - 1..4 << 20)), [7]);
        assert!(ring.memory() <= 2 * MIN_CAPACITY, "{}", ring.memory());
    }

    #[test]
    fn a_ring_that_has_wrapped_gives_the_same_bytes() {
        let mut ring = SendRing::default();
        let (mut written, mut acked) = (0_u64, 0);
        let byte = |at: u64| (at % 251) as u8;
        for round in 0..200_u64 {
            let bytes: Vec<u8> = (written..written + 7 + round % 13).map(byte).collect();
            ring.push(&bytes);
            written += bytes.len() as u64;
            acked += (written - acked) / 2;
            ring.acknowledge(acked);
            let expected: Vec<u8> = (acked..written).map(byte).collect();
            assert_eq!(ring.copy(&(acked..written)), expected, "round {round}");
        }
    }
}
