//! The uninterpreted rest of a frame.

use super::skip::SkipReason;

/// Bytes from a header on: those captured, and their number on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) len: usize,
}

impl Cursor<'_> {
    /// Returns the rest after `n` bytes.
    pub(super) fn skip(self, n: usize) -> Result<Self, SkipReason> {
        let len = self.len.checked_sub(n).ok_or(SkipReason::Malformed)?;
        let bytes = self.bytes.get(n..).ok_or(SkipReason::Truncated)?;
        Ok(Self { bytes, len })
    }

    /// Returns the first `len` bytes.
    pub(super) fn limit(self, len: usize) -> Self {
        let bytes = self.bytes.get(..len).unwrap_or(self.bytes);
        Self { bytes, len: self.len.min(len) }
    }

    pub(super) fn byte(self, at: usize) -> Result<u8, SkipReason> {
        self.bytes.get(at).copied().ok_or(SkipReason::Truncated)
    }

    /// Returns the 16-bit number at `at`, big-endian.
    pub(super) fn half(self, at: usize) -> Result<u16, SkipReason> {
        let bytes: Option<&[u8; 2]> = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
        bytes.map(|b| u16::from_be_bytes(*b)).ok_or(SkipReason::Truncated)
    }

    /// Returns the 32-bit number at `at`, big-endian.
    pub(super) fn word(self, at: usize) -> Result<u32, SkipReason> {
        Ok(u32::from(self.half(at)?) << 16 | u32::from(self.half(at + 2)?))
    }
}
