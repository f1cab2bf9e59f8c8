//! Sequence numbers: 32 bits that wrap (RFC 9293 §3.4).

use core::fmt;

/// A TCP sequence number. All arithmetic is modulo 2^32 and defined for every input.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SeqNum(u32);

impl SeqNum {
    /// The number `n`.
    pub const fn new(n: u32) -> Self {
        Self(n)
    }
    /// The raw 32 bits.
    pub const fn raw(self) -> u32 {
        self.0
    }
    /// The number advanced by `n`; only the low 32 bits of `n` matter.
    #[allow(clippy::cast_possible_truncation, reason = "modulo 2^32 is the definition")]
    pub const fn add(self, n: u64) -> Self {
        Self(self.0.wrapping_add(n as u32))
    }
    /// The signed distance from `other` to `self`, in -2^31 ..= 2^31 - 1.
    pub const fn diff(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0).cast_signed()
    }
    /// True if `self` is before `other` in the window of 2^31 around it.
    pub const fn before(self, other: Self) -> bool {
        self.diff(other) < 0
    }
}

impl fmt::Debug for SeqNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
