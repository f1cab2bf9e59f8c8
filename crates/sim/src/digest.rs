//! Running hashes of observed values.

use crate::seed::{GAMMA, mix64};

/// A 64-bit running hash, not collision-resistant against adversaries.
///
/// Runs with the same value did the same things. Each step is a bijection of the state for a given
/// value and of the value for a given state. So sequences that differ in one place never collide.
/// The algorithm is part of the result format and pinned by test vectors. Start with `s =
/// 0x9e3779b97f4a7c15`; for each value `s = (s ^ v) * 0xd6e8feb86659fd93` modulo 2^64, then `s ^= s
/// >> 32`. The output is splitmix64's output function of `s`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self::new()
    }
}

impl Digest {
    /// Returns the digest of an empty sequence.
    pub const fn new() -> Self {
        Self(GAMMA)
    }
    /// Adds one value.
    #[inline]
    pub const fn update(&mut self, value: u64) {
        let s = (self.0 ^ value).wrapping_mul(0xd6e8_feb8_6659_fd93);
        self.0 = s ^ (s >> 32);
    }
    /// The digest so far.
    pub const fn value(self) -> u64 {
        mix64(self.0)
    }
    /// Combines the digests of many entities, in entity order.
    ///
    /// The result is the digest of the values followed by their count.
    pub fn combine(values: impl IntoIterator<Item = u64>) -> u64 {
        let mut all = Self::new();
        let mut n = 0;
        for value in values {
            all.update(value);
            n += 1;
        }
        all.update(n);
        all.value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> u64 {
        let mut d = Digest::new();
        for &v in values {
            d.update(v);
        }
        d.value()
    }

    #[test]
    fn golden_vectors() {
        // From an independent implementation of the text above in another language.
        assert_eq!(of(&[]), 0xe220_a839_7b1d_cdaf);
        assert_eq!(of(&[0]), 0x8b17_2f19_d02c_3b2b);
        assert_eq!(of(&[1, 2, 3]), 0xc0e2_635d_4bbd_a542);
        assert_eq!(of(&[u64::MAX]), 0x8698_c73a_5c99_1fcf);
        assert_eq!(Digest::combine([1, 2]), 0xc4c6_98be_b7e9_f29f);
    }

    #[test]
    fn order_count_and_every_bit_matter() {
        assert_ne!(of(&[1, 2]), of(&[2, 1]));
        assert_ne!(of(&[0]), of(&[0, 0]));
        assert_ne!(Digest::combine([]), Digest::combine([0]));
        for bit in 0..64 {
            assert_ne!(of(&[5, 0, 9]), of(&[5, 1 << bit, 9]), "bit {bit}");
        }
    }
}
