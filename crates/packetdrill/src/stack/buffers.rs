//! The segments that carried unacknowledged bytes.

use std::collections::BTreeMap;
use std::ops::Range;

/// Segments of one connection.
#[derive(Debug, Default)]
pub(super) struct SentSegments {
    /// Segments not fully acknowledged: start to end.
    in_flight: BTreeMap<u64, u64>,
    /// One past the highest byte sent.
    snd_max: u64,
    /// Number of segments that repeated bytes.
    pub(super) retransmitted: u64,
}

impl SentSegments {
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

    /// Discards segments below `upto`, which is acknowledged.
    pub(super) fn discard_acked(&mut self, upto: u64) {
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
        let mut segments = SentSegments::default();
        segments.on_sent(&(0..3));
        segments.on_sent(&(3..6));
        assert_eq!(segments.unacknowledged(), 2);
        segments.discard_acked(4);
        assert_eq!(segments.unacknowledged(), 1);
        segments.on_sent(&(3..6));
        assert_eq!((segments.retransmitted, segments.unacknowledged()), (1, 1));
    }
}
