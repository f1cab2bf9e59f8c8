//! Chunks of bytes that were used and will be again.

/// Capacity of a chunk, bytes.
pub(crate) const CHUNK: usize = 64 << 10;
/// The most chunks that wait to be used again.
const MAX_CHUNKS: usize = 16;

/// Chunks that one host's connections hand to each other: what a busy reader frees the next segment
/// needs, and the allocator would give it back to the system in between. At most 1 MiB.
#[derive(Clone, Debug, Default)]
pub struct ChunkPool(Vec<Vec<u8>>);

impl ChunkPool {
    pub(crate) fn get(&mut self) -> Option<Vec<u8>> {
        self.0.pop()
    }

    /// Keeps a chunk if it is of that capacity and there is room.
    pub(crate) fn put(&mut self, mut chunk: Vec<u8>) {
        if chunk.capacity() == CHUNK && self.0.len() < MAX_CHUNKS {
            chunk.clear();
            self.0.push(chunk);
        }
    }

    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        self.0.len() * CHUNK
    }
}
