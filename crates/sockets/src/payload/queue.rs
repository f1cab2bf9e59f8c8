//! A FIFO of bytes in chunks.

use std::collections::VecDeque;

use super::pool::{CHUNK, ChunkPool};

/// Smallest capacity of a chunk, bytes; the largest is [`CHUNK`].
const MIN_CHUNK: usize = 2 << 10;
/// A queue of at least this many bytes takes chunks from the pool. Out-of-order chunks of at least
/// this many bytes are moved in; smaller ones are copied.
const LARGE: usize = 16 << 10;

/// A queue of bytes. Chunk sizes grow with the queue: one byte takes [`MIN_CHUNK`] bytes of memory,
/// and appending copies no earlier bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByteQueue {
    /// Full chunks, oldest first.
    full: VecDeque<Vec<u8>>,
    /// The chunk to which bytes are appended. A queue with only this chunk allocates nothing else.
    last: Vec<u8>,
    /// Bytes of the first chunk that are consumed.
    head: usize,
    len: usize,
    /// Capacity of all chunks.
    capacity: usize,
}

impl ByteQueue {
    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of memory in use.
    pub(crate) fn memory(&self) -> usize {
        self.capacity + self.full.capacity() * size_of::<Vec<u8>>()
    }

    #[inline]
    pub(crate) fn append(&mut self, bytes: &[u8], pool: &mut ChunkPool) {
        if bytes.len() <= self.last.capacity() - self.last.len() {
            self.last.extend_from_slice(bytes);
            self.len += bytes.len();
        } else {
            self.append_more(bytes, pool);
        }
    }

    #[inline(never)]
    fn append_more(&mut self, bytes: &[u8], pool: &mut ChunkPool) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = self.last.capacity() - self.last.len();
            if room == 0 {
                self.add_chunk(pool);
                continue;
            }
            let (fits, beyond) = rest.split_at(room.min(rest.len()));
            self.last.extend_from_slice(fits);
            self.len += fits.len();
            rest = beyond;
        }
    }

    fn add_chunk(&mut self, pool: &mut ChunkPool) {
        let used = if self.len >= LARGE { pool.get() } else { None };
        let chunk = used.unwrap_or_else(|| Vec::with_capacity(self.len.clamp(MIN_CHUNK, CHUNK)));
        self.capacity += chunk.capacity();
        self.close_last(chunk);
    }

    /// Makes `next` the last chunk.
    fn close_last(&mut self, next: Vec<u8>) {
        let last = std::mem::replace(&mut self.last, next);
        if last.is_empty() {
            self.capacity -= last.capacity();
        } else {
            self.full.push_back(last);
        }
    }

    /// Appends `chunk` from its byte `skip` on; a large chunk is not copied.
    pub(crate) fn append_chunk(&mut self, mut chunk: Vec<u8>, skip: usize, pool: &mut ChunkPool) {
        if skip > 0 || chunk.len() < LARGE {
            self.append(chunk.get(skip..).unwrap_or(&[]), pool);
            return;
        }
        // Nothing is appended to the last chunk any more.
        self.capacity -= self.last.capacity();
        self.last.shrink_to_fit();
        self.capacity += self.last.capacity();
        chunk.shrink_to(chunk.len().max(CHUNK));
        self.len += chunk.len();
        self.capacity += chunk.capacity();
        self.close_last(chunk);
    }

    fn chunks(&self) -> impl Iterator<Item = &[u8]> {
        self.full.iter().map(Vec::as_slice).chain([self.last.as_slice()])
    }

    /// Overwrites the bytes from `at` on with `bytes`, as far as the queue reaches.
    pub(crate) fn overwrite(&mut self, at: usize, mut bytes: &[u8]) {
        let mut at = at + self.head;
        for chunk in self.full.iter_mut().chain([&mut self.last]) {
            if at >= chunk.len() {
                at -= chunk.len();
                continue;
            }
            let n = bytes.len().min(chunk.len() - at);
            let (these, rest) = bytes.split_at(n);
            if let Some(target) = chunk.get_mut(at..at + n) {
                target.copy_from_slice(these);
            }
            (at, bytes) = (0, rest);
            if bytes.is_empty() {
                return;
            }
        }
    }

    /// Copies at most `most` bytes from the front into `out`. Returns their number.
    pub(crate) fn peek(&self, out: &mut [u8], most: usize) -> usize {
        let wanted = out.len().min(most).min(self.len);
        let (mut done, mut skip) = (0, self.head);
        for chunk in self.chunks() {
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

    /// Removes the first `n` bytes.
    pub(crate) fn consume(&mut self, n: usize, pool: &mut ChunkPool) {
        let mut left = n.min(self.len);
        self.len -= left;
        while let Some(first) = self.full.front() {
            let held = first.len() - self.head;
            if left < held {
                self.head += left;
                return;
            }
            left -= held;
            self.head = 0;
            self.capacity -= first.capacity();
            if let Some(chunk) = self.full.pop_front() {
                pool.put(chunk);
            }
        }
        self.head += left;
        if self.len == 0 {
            // Reuse the chunk: a reader that keeps up allocates nothing.
            self.last.clear();
            self.head = 0;
        }
    }

    /// Frees all memory if the queue is empty.
    pub(crate) fn trim(&mut self, pool: &mut ChunkPool) {
        if self.is_empty() && self.memory() > 0 {
            pool.put(std::mem::take(self).last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_proportional_to_the_bytes_held() {
        let (mut queue, pool) = (ByteQueue::default(), &mut ChunkPool::default());
        queue.append(b"a", pool);
        assert!(queue.memory() <= MIN_CHUNK + 200, "{}", queue.memory());
        let spine = |queue: &ByteQueue| queue.full.capacity() * size_of::<Vec<u8>>();
        let mut most = 0;
        for _ in 0..4_000 {
            queue.append(&[7; 1448], pool);
            assert!(queue.memory() - spine(&queue) <= 2 * queue.len() + MIN_CHUNK);
            most = most.max(queue.chunks().count());
        }
        assert!(most <= 4_000 * 1448 / CHUNK + 10, "{most} chunks");
        while queue.len() > 1 {
            queue.consume((queue.len() - 1).min(1000), pool);
            assert!(queue.memory() - spine(&queue) <= queue.len() + 2 * CHUNK);
        }
        queue.consume(1, pool);
        queue.trim(pool);
        assert_eq!((queue.len(), queue.memory()), (0, 0));
        assert_eq!(pool.memory(), 16 * CHUNK, "the pool keeps no more");
    }

    #[test]
    fn a_reader_that_keeps_up_needs_one_chunk() {
        let (mut queue, pool) = (ByteQueue::default(), &mut ChunkPool::default());
        let mut out = [0; 1448];
        for round in 0..1_000_usize {
            queue.append(&[round as u8; 1448], pool);
            assert_eq!(queue.peek(&mut out, 5000), 1448);
            assert_eq!(out, [round as u8; 1448]);
            queue.consume(1448, pool);
            assert_eq!((queue.full.capacity(), queue.capacity), (0, MIN_CHUNK));
        }
    }

    #[test]
    fn a_large_chunk_is_moved_and_a_small_one_copied() {
        let (mut queue, pool) = (ByteQueue::default(), &mut ChunkPool::default());
        queue.append(b"xyz", pool);
        let large = vec![1; LARGE];
        let address = large.as_ptr();
        queue.append_chunk(large, 0, pool);
        assert_eq!(queue.last.as_ptr(), address);
        queue.append_chunk(vec![2; 10], 4, pool);
        queue.append_chunk(vec![3; LARGE], 1, pool);
        assert_eq!(queue.len(), 3 + LARGE + 6 + LARGE - 1);
        let mut out = vec![0; queue.len()];
        assert_eq!(queue.peek(&mut out, usize::MAX), out.len());
        let expected = [&b"xyz"[..], &[1; LARGE], &[2; 6], &[3; LARGE - 1]].concat();
        assert!(out == expected);
        let capacity = queue.full.iter().map(Vec::capacity).sum::<usize>() + queue.last.capacity();
        assert_eq!(queue.capacity, capacity);
    }
}
