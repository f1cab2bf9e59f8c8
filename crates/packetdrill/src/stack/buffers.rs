//! Unacknowledged data: the bytes, and the segments that carried them.

use std::collections::BTreeMap;
use std::ops::Range;

use lowtide_payload::SendRing;

/// Bytes written by the application and not acknowledged by the peer.
#[derive(Debug, Default)]
pub(super) struct SendBuffer {
    /// The bytes.
    pub(super) bytes: SendRing,
    /// Segments not fully acknowledged: start to end.
    in_flight: BTreeMap<u64, u64>,
    /// One past the highest byte sent.
    snd_max: u64,
    /// Number of segments that repeated bytes.
    pub(super) retransmitted: u64,
}

impl SendBuffer {
    pub(super) fn on_sent(&mut self, range: &Range<u64>) {
        if range.is_empty() {
            return;
        }
        if range.start < self.snd_max {
            self.retransmitted += 1;
        } else {
            self.in_flight.insert(range.start, range.end);
        }
        self.snd_max = self.snd_max.max(range.end);
    }

    /// Discards data below `upto`, which is acknowledged.
    pub(super) fn discard_acked(&mut self, upto: u64) {
        self.bytes.acknowledge(upto);
        self.in_flight.retain(|_, end| *end > upto);
    }

    /// Number of segments not fully acknowledged.
    pub(super) fn unacknowledged(&self) -> u64 {
        self.in_flight.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_outstanding_until_all_of_it_is_acknowledged() {
        let mut buffer = SendBuffer::default();
        buffer.bytes.push(b"abcdef");
        buffer.on_sent(&(0..3));
        buffer.on_sent(&(3..6));
        assert_eq!(buffer.unacknowledged(), 2);
        buffer.discard_acked(4);
        assert_eq!((buffer.unacknowledged(), buffer.bytes.copy(&(4..6))), (1, b"ef".to_vec()));
        buffer.on_sent(&(3..6));
        assert_eq!((buffer.retransmitted, buffer.unacknowledged()), (1, 1));
    }
}
