//! Buffers for the bytes of packets in transit, which are reused.

/// Buffers by key.
#[derive(Clone, Debug)]
pub(crate) struct Slab {
    buffers: Vec<Vec<u8>>,
    free: Vec<u32>,
    max_packets: usize,
}

impl Slab {
    /// A slab for at most `most` packets.
    pub(crate) fn new(most: usize) -> Self {
        Self { buffers: Vec::new(), free: Vec::new(), max_packets: most }
    }

    /// Stores a copy of a packet. Returns its key, `None` if the slab is full.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Option<u32> {
        let key = match self.free.pop() {
            Some(key) => key,
            None if self.buffers.len() < self.max_packets => {
                self.buffers.push(Vec::new());
                (self.buffers.len() - 1) as u32
            }
            None => return None,
        };
        let buffer = self.buffers.get_mut(key as usize)?;
        buffer.clear();
        buffer.extend_from_slice(bytes);
        Some(key)
    }

    /// The bytes of a stored packet.
    pub(crate) fn get(&mut self, key: u32) -> &mut [u8] {
        self.buffers.get_mut(key as usize).map_or(&mut [], Vec::as_mut_slice)
    }

    /// Frees a stored packet. To be called once per packet.
    pub(crate) fn forget(&mut self, key: u32) {
        self.free.push(key);
    }

    /// Number of stored packets.
    pub(crate) fn len(&self) -> usize {
        self.buffers.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_reused_and_limited() {
        let mut slab = Slab::new(2);
        let (a, b) = (slab.put(b"one").unwrap(), slab.put(b"two").unwrap());
        assert_eq!((slab.put(b"three"), slab.len()), (None, 2));
        slab.forget(a);
        assert_eq!(slab.put(b"4"), Some(a));
        assert_eq!(slab.get(a), b"4");
        assert_eq!(slab.len(), 2);
        assert_eq!(slab.get(b), b"two");
    }
}
