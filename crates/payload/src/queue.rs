//! Bytes in order, in chunks: appended at the end, taken from the front.

use std::collections::VecDeque;

/// The least and the largest capacity of a chunk, bytes.
const LEAST: usize = 2 << 10;
const LARGEST: usize = 64 << 10;
/// A chunk of at least so many bytes is taken over as it is; a smaller one is copied.
const MOVED: usize = 16 << 10;

/// A queue of bytes. Its chunks grow with what it holds, so that one byte takes [`LEAST`] bytes of
/// memory and no append copies what is there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    chunks: VecDeque<Vec<u8>>,
    /// Bytes of the first chunk that were taken already.
    head: usize,
    len: usize,
    /// Capacity of all chunks.
    capacity: usize,
}

impl Queue {
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of memory that it takes.
    pub(crate) fn memory(&self) -> usize {
        self.capacity + self.chunks.capacity() * size_of::<Vec<u8>>()
    }

    pub(crate) fn append(&mut self, mut bytes: &[u8]) {
        if let Some(last) = self.chunks.back_mut() {
            let room = (last.capacity() - last.len()).min(bytes.len());
            let (fits, rest) = bytes.split_at(room);
            last.extend_from_slice(fits);
            self.len += room;
            bytes = rest;
        }
        while !bytes.is_empty() {
            let mut chunk = Vec::with_capacity(self.len.clamp(LEAST, LARGEST));
            let (fits, rest) = bytes.split_at(bytes.len().min(chunk.capacity()));
            chunk.extend_from_slice(fits);
            self.len += fits.len();
            self.capacity += chunk.capacity();
            self.chunks.push_back(chunk);
            bytes = rest;
        }
    }

    /// Appends `chunk` from its byte `skip` on; without a copy where it is large.
    pub(crate) fn append_chunk(&mut self, mut chunk: Vec<u8>, skip: usize) {
        if skip > 0 || chunk.len() < MOVED {
            self.append(chunk.get(skip..).unwrap_or(&[]));
            return;
        }
        if let Some(last) = self.chunks.back_mut() {
            // Nothing will be appended to it any more.
            self.capacity -= last.capacity();
            last.shrink_to_fit();
            self.capacity += last.capacity();
        }
        chunk.shrink_to(chunk.len().max(LARGEST));
        self.len += chunk.len();
        self.capacity += chunk.capacity();
        self.chunks.push_back(chunk);
    }

    /// Replaces what is held from `at` on by `bytes`, as far as anything is held there.
    pub(crate) fn overwrite(&mut self, at: usize, mut bytes: &[u8]) {
        let mut at = at + self.head;
        for chunk in &mut self.chunks {
            if at >= chunk.len() {
                at -= chunk.len();
                continue;
            }
            let n = bytes.len().min(chunk.len() - at);
            let (these, rest) = bytes.split_at(n);
            if let Some(place) = chunk.get_mut(at..at + n) {
                place.copy_from_slice(these);
            }
            (at, bytes) = (0, rest);
            if bytes.is_empty() {
                return;
            }
        }
    }

    /// Copies the first bytes into `out`, at most `most` of them, and says how many.
    pub(crate) fn peek(&self, out: &mut [u8], most: usize) -> usize {
        let wanted = out.len().min(most).min(self.len);
        let (mut done, mut skip) = (0, self.head);
        for chunk in &self.chunks {
            let held = chunk.get(skip..).unwrap_or(&[]);
            let n = held.len().min(wanted - done);
            out[done..done + n].copy_from_slice(&held[..n]);
            (done, skip) = (done + n, 0);
            if done == wanted {
                break;
            }
        }
        done
    }

    /// The first `n` bytes are gone.
    pub(crate) fn consume(&mut self, n: usize) {
        let mut left = n.min(self.len);
        self.len -= left;
        let mut chunks = self.chunks.len();
        while let Some(first) = self.chunks.front_mut() {
            let held = first.len() - self.head;
            if left < held {
                self.head += left;
                return;
            }
            left -= held;
            self.head = 0;
            if self.len == 0 && chunks == 1 {
                // The next bytes go here: a reader that keeps up allocates nothing.
                first.clear();
                return;
            }
            self.capacity -= first.capacity();
            self.chunks.pop_front();
            chunks -= 1;
        }
    }

    /// Gives all memory back, if nothing is held.
    pub(crate) fn trim(&mut self) {
        if self.is_empty() {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_follows_what_is_held() {
        let mut queue = Queue::default();
        queue.append(b"a");
        assert!(queue.memory() <= LEAST + 200, "{}", queue.memory());
        let spine = |queue: &Queue| queue.chunks.capacity() * size_of::<Vec<u8>>();
        let mut most = 0;
        for _ in 0..4_000 {
            queue.append(&[7; 1448]);
            assert!(queue.memory() - spine(&queue) <= 2 * queue.len() + LEAST);
            most = most.max(queue.chunks.len());
        }
        assert!(most <= 4_000 * 1448 / LARGEST + 10, "{most} chunks");
        while queue.len() > 1 {
            queue.consume((queue.len() - 1).min(1000));
            assert!(queue.memory() - spine(&queue) <= queue.len() + 2 * LARGEST);
        }
        queue.consume(1);
        queue.trim();
        assert_eq!((queue.len(), queue.memory()), (0, 0));
    }

    #[test]
    fn a_reader_that_keeps_up_needs_one_chunk() {
        let mut queue = Queue::default();
        let mut out = [0; 1448];
        for round in 0..1_000_usize {
            queue.append(&[round as u8; 1448]);
            assert_eq!(queue.peek(&mut out, 5000), 1448);
            assert_eq!(out, [round as u8; 1448]);
            queue.consume(1448);
            assert_eq!((queue.chunks.len(), queue.capacity), (1, LEAST));
        }
    }

    #[test]
    fn a_large_chunk_is_taken_over_and_a_small_one_copied() {
        let mut queue = Queue::default();
        queue.append(b"xyz");
        let large = vec![1; MOVED];
        let place = large.as_ptr();
        queue.append_chunk(large, 0);
        assert_eq!(queue.chunks[1].as_ptr(), place);
        queue.append_chunk(vec![2; 10], 4);
        queue.append_chunk(vec![3; MOVED], 1);
        assert_eq!(queue.len(), 3 + MOVED + 6 + MOVED - 1);
        let mut out = vec![0; queue.len()];
        assert_eq!(queue.peek(&mut out, usize::MAX), out.len());
        let expected = [&b"xyz"[..], &[1; MOVED], &[2; 6], &[3; MOVED - 1]].concat();
        assert!(out == expected);
        let capacity: usize = queue.chunks.iter().map(Vec::capacity).sum();
        assert_eq!(queue.capacity, capacity);
    }
}
