//! A free list of chunks.

/// Capacity of a chunk, bytes.
pub(crate) const CHUNK: usize = 64 << 10;
/// Most chunks in the free list.
const MAX_CHUNKS: usize = 16;

/// Free chunks shared by the connections of a host, at most 1 MiB. Without it, the allocator would
/// return a chunk to the system before the next segment needs one.
#[derive(Clone, Debug, Default)]
pub struct ChunkPool(Vec<Vec<u8>>);

impl ChunkPool {
    pub(crate) fn get(&mut self) -> Option<Vec<u8>> {
        self.0.pop()
    }

    /// Keeps a chunk of capacity [`CHUNK`] if there is room.
    pub(crate) fn put(&mut self, mut chunk: Vec<u8>) {
        if chunk.capacity() == CHUNK && self.0.len() < MAX_CHUNKS {
            chunk.clear();
            self.0.push(chunk);
        }
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        self.0.len() * CHUNK
    }
}
