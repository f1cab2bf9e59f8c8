//! The bytes of packets under way. Places, and their memory, are used again.

/// The bytes by key.
#[derive(Clone, Debug)]
pub(crate) struct Slab {
    places: Vec<Vec<u8>>,
    free: Vec<u32>,
    max_packets: usize,
}

impl Slab {
    /// Room for `most` packets.
    pub(crate) fn new(most: usize) -> Self {
        Self { places: Vec::new(), free: Vec::new(), max_packets: most }
    }

    /// Keeps a copy; `None` where there is no room.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Option<u32> {
        let key = match self.free.pop() {
            Some(key) => key,
            None if self.places.len() < self.max_packets => {
                self.places.push(Vec::new());
                (self.places.len() - 1) as u32
            }
            None => return None,
        };
        let place = self.places.get_mut(key as usize)?;
        place.clear();
        place.extend_from_slice(bytes);
        Some(key)
    }

    /// The bytes of a packet that was put.
    pub(crate) fn get(&mut self, key: u32) -> &mut [u8] {
        self.places.get_mut(key as usize).map_or(&mut [], Vec::as_mut_slice)
    }

    /// Forgets a packet. Once for each that was put.
    pub(crate) fn forget(&mut self, key: u32) {
        self.free.push(key);
    }

    /// Packets that are kept.
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again_and_room_ends() {
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
