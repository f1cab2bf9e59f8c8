//! What arrived and the application has not read, with holes where nothing arrived yet.

use std::collections::VecDeque;
use std::ops::Range;

/// Bytes from where the application reads next up to the highest that came.
#[derive(Clone, Debug, Default)]
pub struct ReceiveRing {
    /// Stream offset of the first byte held: what the application reads next.
    base: u64,
    bytes: VecDeque<u8>,
    /// One past the last byte that may be read.
    readable: u64,
}

impl ReceiveRing {
    /// `bytes` are those of `range`, which the connection bounds by the window that it offered; what they have
    /// beyond it is not kept.
    pub fn keep(&mut self, range: &Range<u64>, bytes: &[u8]) {
        let len = range.end.saturating_sub(range.start) as usize;
        let bytes = bytes.get(..len).unwrap_or(bytes);
        let held_end = self.base + self.bytes.len() as u64;
        if range.start == held_end {
            self.bytes.extend(bytes);
            return;
        }
        let skip = self.base.saturating_sub(range.start) as usize;
        let bytes = bytes.get(skip..).unwrap_or(&[]);
        let start = range.start.max(self.base).saturating_sub(self.base) as usize;
        let end = start + bytes.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        let (front, back) = self.bytes.as_mut_slices();
        let split = front.len();
        let in_front = split.saturating_sub(start).min(bytes.len());
        let (first, second) = bytes.split_at(in_front);
        if let Some(place) = front.get_mut(start..start + first.len()) {
            place.copy_from_slice(first);
        }
        let start = start.max(split) - split;
        if let Some(place) = back.get_mut(start..start + second.len()) {
            place.copy_from_slice(second);
        }
    }

    /// Everything below `upto` may be read.
    pub fn set_readable(&mut self, upto: u64) {
        self.readable = self.readable.max(upto);
    }

    /// Bytes that can be read now.
    pub fn unread(&self) -> u64 {
        self.readable.saturating_sub(self.base).min(self.bytes.len() as u64)
    }

    /// Copies what can be read into `out` and says how much it was; it stays in place.
    pub fn peek(&self, out: &mut [u8]) -> usize {
        let n = out.len().min(self.unread() as usize);
        let (front, back) = self.bytes.as_slices();
        let first = n.min(front.len());
        out[..first].copy_from_slice(&front[..first]);
        out[first..n].copy_from_slice(&back[..n - first]);
        n
    }

    /// The same, and what was copied is gone.
    pub fn read(&mut self, out: &mut [u8]) -> usize {
        let n = self.peek(out);
        self.bytes.drain(..n);
        self.base += n as u64;
        n
    }

    /// Gives back memory that an idle connection does not need.
    pub fn trim(&mut self) {
        if self.bytes.is_empty() {
            self.bytes = VecDeque::new();
        }
    }

    /// Bytes of memory that are taken.
    pub fn memory(&self) -> usize {
        self.bytes.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(ring: &mut ReceiveRing, max: usize) -> Vec<u8> {
        let mut out = vec![0; max];
        let n = ring.read(&mut out);
        out.truncate(n);
        out
    }

    #[test]
    fn bytes_out_of_order_are_read_in_order() {
        let mut ring = ReceiveRing::default();
        ring.keep(&(3..5), b"de");
        ring.keep(&(0..3), b"abc");
        assert_eq!(ring.unread(), 0, "nothing is readable before the connection says so");
        ring.set_readable(5);
        let mut seen = [0; 2];
        assert_eq!((ring.peek(&mut seen), &seen), (2, b"ab"));
        assert_eq!(take(&mut ring, 4), b"abcd");
        ring.keep(&(5..6), b"fXX");
        ring.set_readable(9);
        assert_eq!(take(&mut ring, 9), b"ef", "no byte beyond the range");
        ring.trim();
        assert_eq!((ring.unread(), ring.memory()), (0, 0));
    }

    #[test]
    fn holes_are_filled_wherever_the_ring_has_wrapped() {
        let byte = |at: u64| (at % 251) as u8;
        let mut ring = ReceiveRing::default();
        let mut at = 0_u64;
        for round in 0..300_u64 {
            let (first, second) = (5 + round % 11, 3 + round % 7);
            let middle = at + first;
            let end = middle + second;
            let bytes = |range: Range<u64>| range.map(byte).collect::<Vec<u8>>();
            // The second half comes first, then the whole again.
            ring.keep(&(middle..end), &bytes(middle..end));
            ring.keep(&(at..end), &bytes(at..end));
            ring.set_readable(end);
            let left = ring.unread() / 3;
            let want = (ring.unread() - left) as usize;
            let start = end - ring.unread();
            assert_eq!(take(&mut ring, want), bytes(start..end - left), "round {round}");
            at = end;
        }
    }

    #[test]
    fn what_was_read_already_is_not_kept_again() {
        let mut ring = ReceiveRing::default();
        ring.keep(&(0..4), b"abcd");
        ring.set_readable(4);
        assert_eq!(take(&mut ring, 2), b"ab");
        ring.keep(&(0..6), b"abXdef");
        ring.set_readable(6);
        assert_eq!(take(&mut ring, 9), b"Xdef");
    }
}
