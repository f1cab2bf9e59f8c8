//! The Internet checksum (RFC 1071).

/// A running one's complement sum.
///
/// Bytes may come in several parts if every part except the last has an even length.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checksum(u64);

impl Checksum {
    /// The sum of no bytes.
    pub const fn new() -> Self {
        Self(0)
    }

    /// The sum with `bytes` added; a trailing odd byte counts as the high half of a word.
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        // Four bytes at a time: 2^16 is 1 modulo 2^16 - 1, so wide words fold to the same sum. A
        // u64 has room for 2^32 of them, 16 GiB.
        let (words, rest) = bytes.as_chunks::<4>();
        let sum: u64 = words.iter().map(|word| u64::from(u32::from_be_bytes(*word))).sum();
        let mut last = [0; 4];
        for (to, from) in last.iter_mut().zip(rest) {
            *to = *from;
        }
        self.with_u32(u32::from_be_bytes(last)).plus(sum)
    }

    /// The sum with the 32-bit word `word` added.
    #[must_use]
    pub const fn with_u32(self, word: u32) -> Self {
        self.plus(word as u64)
    }

    /// The combined sum of both.
    #[must_use]
    pub const fn with_sum(self, other: Self) -> Self {
        self.plus(other.0)
    }

    /// The checksum field: the one's complement of the sum. It is zero over bytes that already
    /// contain their correct checksum.
    pub const fn finish(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        let [.., high, low] = sum.to_be_bytes();
        !u16::from_be_bytes([high, low])
    }

    const fn plus(self, sum: u64) -> Self {
        let (sum, carry) = self.0.overflowing_add(sum);
        Self(sum + carry as u64)
    }
}
