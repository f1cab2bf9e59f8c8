//! Received bytes that the application has not read, with gaps.

use std::ops::Range;

use super::out_of_order::OutOfOrder;
use super::pool::ChunkPool;
use super::queue::ByteQueue;

/// The receive buffer of a connection. Only bytes that arrived take memory, at any offset.
#[derive(Clone, Debug, Default)]
pub struct ReceiveBuffer {
    /// Stream offset of the first byte held, which the application reads next.
    base: u64,
    /// Bytes up to the first gap.
    in_order: ByteQueue,
    out_of_order: OutOfOrder,
    /// Offset after the last byte that may be read.
    readable: u64,
}

impl ReceiveBuffer {
    /// Inserts `bytes` at `range`, which the connection limits to its advertised window. Bytes
    /// beyond the range are not kept.
    ///
    /// Cost: one copy for bytes in order. Otherwise O(log n) in the number of chunks. A chunk that
    /// is covered, or that a filled gap makes readable, is visited once.
    pub fn insert(&mut self, range: &Range<u64>, bytes: &[u8], pool: &mut ChunkPool) {
        let len = range.end.saturating_sub(range.start) as usize;
        let bytes = bytes.get(..len).unwrap_or(bytes);
        if range.start == self.in_order_end() && self.out_of_order.is_empty() {
            self.in_order.append(bytes, pool);
        } else {
            self.insert_slow(range.start, bytes, pool);
        }
    }

    fn in_order_end(&self) -> u64 {
        self.base + self.in_order.len() as u64
    }

    #[cold]
    #[inline(never)]
    fn insert_slow(&mut self, start: u64, bytes: &[u8], pool: &mut ChunkPool) {
        let end = self.in_order_end();
        if start > end {
            self.out_of_order.insert(start, bytes);
            return;
        }
        let already_read = usize::try_from(self.base.saturating_sub(start)).unwrap_or(usize::MAX);
        let bytes = bytes.get(already_read..).unwrap_or(&[]);
        let start = start.max(self.base);
        let duplicate = usize::try_from(end - start).unwrap_or(usize::MAX).min(bytes.len());
        let (duplicate, new) = bytes.split_at(duplicate);
        self.in_order.overwrite((start - self.base) as usize, duplicate);
        self.in_order.append(new, pool);
        while let Some((chunk, skip)) = self.out_of_order.take_at(self.in_order_end()) {
            self.in_order.append_chunk(chunk, skip, pool);
        }
    }

    /// Makes all bytes below `upto` readable.
    pub fn set_readable(&mut self, upto: u64) {
        self.readable = self.readable.max(upto);
    }

    /// Bytes that can be read now.
    pub fn unread(&self) -> u64 {
        self.readable.saturating_sub(self.base).min(self.in_order.len() as u64)
    }

    /// Copies readable bytes into `out` without consuming them. Returns their number.
    pub fn peek(&self, out: &mut [u8]) -> usize {
        let most = usize::try_from(self.unread()).unwrap_or(usize::MAX);
        self.in_order.peek(out, most)
    }

    /// Copies readable bytes into `out` and consumes them. Returns their number.
    pub fn read(&mut self, out: &mut [u8], pool: &mut ChunkPool) -> usize {
        let n = self.peek(out);
        self.in_order.consume(n, pool);
        self.base += n as u64;
        n
    }

    /// Discards out-of-order bytes. The connection must do so as well, so that they are
    /// retransmitted.
    pub fn discard_out_of_order(&mut self) {
        self.out_of_order.clear();
    }

    /// Frees memory that an idle connection does not need.
    pub fn trim(&mut self, pool: &mut ChunkPool) {
        self.in_order.trim(pool);
    }

    /// Bytes of memory in use, including the allocator's overhead for small chunks.
    pub fn memory(&self) -> usize {
        self.in_order.memory() + self.out_of_order.memory()
    }

    /// Bytes of memory in use for out-of-order data.
    pub fn out_of_order_memory(&self) -> usize {
        self.out_of_order.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(ring: &mut ReceiveBuffer, max: usize) -> Vec<u8> {
        let mut out = vec![0; max];
        let n = ring.read(&mut out, &mut ChunkPool::default());
        out.truncate(n);
        out
    }

    #[test]
    fn bytes_out_of_order_are_read_in_order() {
        let mut ring = ReceiveBuffer::default();
        ring.insert(&(3..5), b"de", &mut ChunkPool::default());
        ring.insert(&(0..3), b"abc", &mut ChunkPool::default());
        assert_eq!(ring.unread(), 0, "nothing is readable before the connection says so");
        ring.set_readable(5);
        let mut seen = [0; 2];
        assert_eq!((ring.peek(&mut seen), &seen), (2, b"ab"));
        assert_eq!(take(&mut ring, 4), b"abcd");
        ring.insert(&(5..6), b"fXX", &mut ChunkPool::default());
        ring.set_readable(9);
        assert_eq!(take(&mut ring, 9), b"ef", "no byte beyond the range");
        ring.trim(&mut ChunkPool::default());
        assert_eq!((ring.unread(), ring.memory()), (0, 0));
    }

    #[test]
    fn gaps_are_filled_at_any_offset() {
        let byte = |at: u64| (at % 251) as u8;
        let mut ring = ReceiveBuffer::default();
        let mut at = 0_u64;
        for round in 0..300_u64 {
            let (first, second) = (5 + round % 11, 3 + round % 7);
            let middle = at + first;
            let end = middle + second;
            let bytes = |range: Range<u64>| range.map(byte).collect::<Vec<u8>>();
            // The second part comes first, then both.
            ring.insert(&(middle..end), &bytes(middle..end), &mut ChunkPool::default());
            ring.insert(&(at..end), &bytes(at..end), &mut ChunkPool::default());
            ring.set_readable(end);
            let left = ring.unread() / 3;
            let want = (ring.unread() - left) as usize;
            let start = end - ring.unread();
            assert_eq!(take(&mut ring, want), bytes(start..end - left), "round {round}");
            at = end;
        }
    }

    #[test]
    fn bytes_already_read_are_not_kept_again() {
        let mut ring = ReceiveBuffer::default();
        ring.insert(&(0..4), b"abcd", &mut ChunkPool::default());
        ring.set_readable(4);
        assert_eq!(take(&mut ring, 2), b"ab");
        ring.insert(&(0..6), b"abXdef", &mut ChunkPool::default());
        ring.set_readable(6);
        assert_eq!(take(&mut ring, 9), b"Xdef");
    }

    #[test]
    fn a_byte_at_the_far_end_of_the_window_takes_no_more_than_itself() {
        let mut buffer = ReceiveBuffer::default();
        buffer.insert(&((16 << 20) - 1..16 << 20), b"x", &mut ChunkPool::default());
        assert!(buffer.memory() <= 600, "{} bytes of memory for one", buffer.memory());
        buffer.discard_out_of_order();
        assert_eq!((buffer.memory(), buffer.unread()), (0, 0));
        // The discarded byte must not become readable.
        buffer.insert(&(0..3), b"abc", &mut ChunkPool::default());
        buffer.set_readable(3);
        assert_eq!(take(&mut buffer, 9), b"abc");
    }

    #[test]
    fn a_filled_gap_makes_everything_behind_it_readable() {
        let mut buffer = ReceiveBuffer::default();
        let bytes: Vec<u8> = (0..300_000_u32).map(|i| (i % 251) as u8).collect();
        let segments: Vec<&[u8]> = bytes.chunks(1448).collect();
        let at = |n: usize| (1448 * n) as u64;
        for (n, segment) in segments.iter().enumerate().filter(|(n, _)| !n.is_multiple_of(100)) {
            buffer.insert(
                &(at(n)..at(n) + segment.len() as u64),
                segment,
                &mut ChunkPool::default(),
            );
        }
        assert!(buffer.memory() <= 2 * bytes.len() + 4096, "{}", buffer.memory());
        for n in (0..segments.len()).step_by(100) {
            buffer.insert(&(at(n)..at(n) + 1448), segments[n], &mut ChunkPool::default());
        }
        assert_eq!(buffer.out_of_order_memory(), 0);
        buffer.set_readable(bytes.len() as u64);
        assert!(take(&mut buffer, bytes.len() + 1) == bytes);
    }
}
