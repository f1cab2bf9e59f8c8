//! The bytes of one connection. `tcp` deals in ranges of the stream; the bytes are kept here.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// What the application wrote and the peer has not acknowledged.
#[derive(Debug, Default)]
pub(super) struct SendBuffer {
    /// Stream offset of the first byte held.
    base: u64,
    bytes: VecDeque<u8>,
    /// Segments sent and not wholly acknowledged: start to end.
    flying: BTreeMap<u64, u64>,
    /// One past the highest byte ever sent.
    highest: u64,
    /// Segments that repeated bytes.
    pub(super) repeated: u64,
}

impl SendBuffer {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// The bytes of `range`, which the connection names only while it holds them.
    pub(super) fn copy(&self, range: &Range<u64>) -> Vec<u8> {
        let index = |at: u64| (at.saturating_sub(self.base) as usize).min(self.bytes.len());
        let (start, end) = (index(range.start), index(range.end.max(range.start)));
        self.bytes.range(start..end).copied().collect()
    }

    pub(super) fn note_sent(&mut self, range: &Range<u64>) {
        if range.is_empty() {
            return;
        }
        if range.start < self.highest {
            self.repeated += 1;
        } else {
            self.flying.insert(range.start, range.end);
        }
        self.highest = self.highest.max(range.end);
    }

    /// Everything below `upto` is acknowledged.
    pub(super) fn forget(&mut self, upto: u64) {
        let n = (upto.saturating_sub(self.base) as usize).min(self.bytes.len());
        self.bytes.drain(..n);
        self.base += n as u64;
        self.flying.retain(|_, end| *end > upto);
    }

    /// Segments sent and not wholly acknowledged.
    pub(super) fn unacknowledged(&self) -> u64 {
        self.flying.len() as u64
    }
}

/// What arrived and the application has not read, with holes where nothing arrived yet.
#[derive(Debug, Default)]
pub(super) struct ReceiveBuffer {
    /// Stream offset of the first byte held: what the application reads next.
    base: u64,
    bytes: VecDeque<u8>,
    /// One past the last byte that may be read.
    readable: u64,
}

impl ReceiveBuffer {
    pub(super) fn keep(&mut self, range: &Range<u64>, bytes: &[u8]) {
        let end = range.end.saturating_sub(self.base) as usize;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        for (at, byte) in range.clone().zip(bytes) {
            let slot =
                at.checked_sub(self.base).and_then(|index| self.bytes.get_mut(index as usize));
            if let Some(slot) = slot {
                *slot = *byte;
            }
        }
    }

    pub(super) fn set_readable(&mut self, upto: u64) {
        self.readable = self.readable.max(upto);
    }

    /// Bytes that can be read now.
    pub(super) fn unread(&self) -> u64 {
        self.readable.saturating_sub(self.base)
    }

    /// At most `max` bytes, left in place when only peeked at.
    pub(super) fn take(&mut self, max: usize, peek: bool) -> Vec<u8> {
        let n = max.min(self.unread() as usize).min(self.bytes.len());
        if peek {
            return self.bytes.iter().take(n).copied().collect();
        }
        self.base += n as u64;
        self.bytes.drain(..n).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_out_of_order_are_read_in_order() {
        let mut buffer = ReceiveBuffer::default();
        buffer.keep(&(3..5), b"de");
        buffer.keep(&(0..3), b"abc");
        assert_eq!(buffer.unread(), 0, "nothing is readable before the connection says so");
        buffer.set_readable(5);
        assert_eq!(buffer.take(2, true), b"ab");
        assert_eq!(buffer.take(4, false), b"abcd");
        buffer.keep(&(5..6), b"f");
        buffer.set_readable(6);
        assert_eq!(buffer.take(9, false), b"ef");
    }

    #[test]
    fn acknowledged_bytes_are_forgotten_and_the_rest_can_be_sent_again() {
        let mut buffer = SendBuffer::default();
        buffer.push(b"abcdef");
        buffer.note_sent(&(0..3));
        buffer.note_sent(&(3..6));
        assert_eq!(buffer.unacknowledged(), 2);
        buffer.forget(4);
        assert_eq!((buffer.unacknowledged(), buffer.copy(&(4..6))), (1, b"ef".to_vec()));
        buffer.note_sent(&(3..6));
        assert_eq!((buffer.repeated, buffer.unacknowledged()), (1, 1));
    }
}
