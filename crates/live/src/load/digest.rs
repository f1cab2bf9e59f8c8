//! Test data whose bytes depend on their offset, and a checksum of a stream.

use std::sync::OnceLock;

use crate::mix::mix;

/// Length of the repeated block: a prime, so that no segment size divides it.
const PERIOD: usize = 1_048_573;

/// An endless stream of bytes derived from a seed. All streams of a process share one block and
/// start at different offsets. So seeds, which clients choose, cost no memory.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    block: &'static [u8],
    begin: u64,
}

fn block() -> &'static [u8] {
    static BLOCK: OnceLock<Vec<u8>> = OnceLock::new();
    BLOCK.get_or_init(|| {
        let words = (1..=PERIOD.div_ceil(8) as u64).map(|n| mix(n.wrapping_mul(FACTOR)));
        let mut block: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        block.truncate(PERIOD);
        block
    })
}

impl Pattern {
    /// Returns the stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Self { block: block(), begin: mix(seed.wrapping_add(FACTOR)) % PERIOD as u64 }
    }

    /// Returns the contiguous bytes of the stream from `offset` on: at least one, at most `most`.
    pub fn at(&self, offset: u64, most: usize) -> &[u8] {
        let start = ((self.begin + offset % PERIOD as u64) % PERIOD as u64) as usize;
        let end = (start + most.max(1)).min(PERIOD);
        self.block.get(start..end).unwrap_or(&[])
    }
}

const LANES: usize = 4;
const BLOCK: usize = 8 * LANES;
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// A fast 64-bit checksum of a stream, independent of how it is split. It depends on byte positions
/// and is not cryptographic.
#[derive(Clone, Debug)]
pub struct Digest {
    lanes: [u64; LANES],
    /// The bytes of an incomplete block.
    partial: [u8; BLOCK],
    len: u64,
}

impl Default for Digest {
    fn default() -> Self {
        Self { lanes: [1, 2, 3, 4], partial: [0; BLOCK], len: 0 }
    }
}

impl Digest {
    /// Appends `bytes` to the stream.
    pub fn update(&mut self, mut bytes: &[u8]) {
        let held = (self.len % BLOCK as u64) as usize;
        self.len += bytes.len() as u64;
        if held > 0 {
            let (now, rest) = bytes.split_at(bytes.len().min(BLOCK - held));
            self.partial[held..held + now.len()].copy_from_slice(now);
            if held + now.len() < BLOCK {
                return;
            }
            let block = self.partial;
            self.absorb_block(&block);
            bytes = rest;
        }
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        for block in blocks {
            self.absorb_block(block);
        }
        self.partial[..rest.len()].copy_from_slice(rest);
    }

    #[inline]
    fn absorb_block(&mut self, block: &[u8; BLOCK]) {
        let (words, _) = block.as_chunks::<8>();
        for (lane, word) in self.lanes.iter_mut().zip(words) {
            *lane = (*lane ^ u64::from_le_bytes(*word)).wrapping_mul(FACTOR).rotate_left(29);
        }
    }

    /// Bytes so far.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether there was no byte so far.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Checksum of all bytes so far.
    pub fn value(&self) -> u64 {
        let mut last = self.clone();
        let held = (self.len % BLOCK as u64) as usize;
        last.partial[held..].fill(0);
        let block = last.partial;
        last.absorb_block(&block);
        last.lanes.iter().fold(mix(self.len), |sum, lane| mix(sum ^ lane))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_depends_on_every_byte_and_not_on_the_split() {
        let pattern = Pattern::new(7);
        let bytes = pattern.at(0, 1000);
        assert_eq!(bytes.len(), 1000);
        let whole = |bytes: &[u8]| {
            let mut digest = Digest::default();
            digest.update(bytes);
            digest.value()
        };
        for piece in 1..80 {
            let mut digest = Digest::default();
            bytes.chunks(piece).for_each(|chunk| digest.update(chunk));
            assert_eq!((digest.value(), digest.len()), (whole(bytes), 1000), "{piece}");
        }
        let mut seen = std::collections::BTreeSet::from([whole(bytes)]);
        for at in 0..1000 {
            let mut other = bytes.to_vec();
            other[at] ^= 1;
            assert!(seen.insert(whole(&other)), "byte {at}");
        }
        assert!(seen.insert(whole(&bytes[..999])) && seen.insert(whole(&[bytes, &[0]].concat())));
        assert_ne!(whole(&[0; 31]), whole(&[0; 32]));
    }

    #[test]
    fn a_stream_does_not_depend_on_how_it_is_read() {
        let pattern = Pattern::new(3);
        assert_eq!(pattern.at(5, 10), &pattern.at(0, 15)[5..]);
        let last = PERIOD as u64 - 1 - pattern.begin;
        assert_eq!(pattern.at(last, 10).len(), 1);
        assert_eq!(pattern.at(PERIOD as u64, 9), pattern.at(0, 9));
        assert_ne!(pattern.at(0, 64), Pattern::new(4).at(0, 64));
        assert_ne!(pattern.at(1448, 1448), pattern.at(0, 1448));
    }
}
