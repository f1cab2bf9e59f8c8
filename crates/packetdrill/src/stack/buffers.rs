//! What the peer has not acknowledged: the bytes, and the segments that carried them.

use std::collections::BTreeMap;
use std::ops::Range;

use lowtide_payload::SendRing;

/// What the application wrote and the peer has not acknowledged.
#[derive(Debug, Default)]
pub(super) struct SendBuffer {
    /// The bytes.
    pub(super) bytes: SendRing,
    /// Segments sent and not wholly acknowledged: start to end.
    flying: BTreeMap<u64, u64>,
    /// One past the highest byte ever sent.
    highest: u64,
    /// Segments that repeated bytes.
    pub(super) repeated: u64,
}

impl SendBuffer {
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
        self.bytes.forget(upto);
        self.flying.retain(|_, end| *end > upto);
    }

    /// Segments sent and not wholly acknowledged.
    pub(super) fn unacknowledged(&self) -> u64 {
        self.flying.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_outstanding_until_all_of_it_is_acknowledged() {
        let mut buffer = SendBuffer::default();
        buffer.bytes.push(b"abcdef");
        buffer.note_sent(&(0..3));
        buffer.note_sent(&(3..6));
        assert_eq!(buffer.unacknowledged(), 2);
        buffer.forget(4);
        assert_eq!((buffer.unacknowledged(), buffer.bytes.copy(&(4..6))), (1, b"ef".to_vec()));
        buffer.note_sent(&(3..6));
        assert_eq!((buffer.repeated, buffer.unacknowledged()), (1, 1));
    }
}
