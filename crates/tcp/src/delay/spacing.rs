//! Calibration of timestamps that come in batches (DX §III, "Error calibration").

use lowtide_units::{Duration, HostStamp};

/// Spaces the timestamps of back-to-back packets by at least their transmission time.
///
/// "If the packets are spaced with timestamps whose interval is smaller than what the link capacity
/// allows, we correct the timestamp of the latter packet to be at least transmission delay away
/// from the former packet's timestamp" (DX §III, fig. 5). One instance per direction of a NIC
/// processes the packets of all connections in order. A timestamp is never made earlier, so a late
/// one delays its successors until the line has a gap. Error: under 1 ns, because timestamps are
/// whole nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Spacing {
    /// The last stamp, corrected, in picoseconds.
    last_ps: u128,
}

impl Spacing {
    /// Corrects the timestamp of the next packet, whose transmission takes `needs`, including
    /// framing. `stamp` is the time of its last bit.
    pub fn correct(&mut self, stamp: HostStamp, needs: Duration) -> HostStamp {
        let earliest = self.last_ps + u128::from(needs.as_ps());
        self.last_ps = (u128::from(stamp.0) * 1_000).max(earliest);
        HostStamp(u64::try_from(self.last_ps / 1_000).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use lowtide_units::{Bytes, Rate};
    use std::vec::Vec;

    use super::*;

    fn corrected(gbps: u64, stamps: &[u64]) -> Vec<u64> {
        let full = Rate::from_gbps(gbps).serialization(Bytes::new(1538));
        let mut spacing = Spacing::default();
        stamps.iter().map(|s| spacing.correct(HostStamp(*s), full).0).collect()
    }

    #[test]
    fn a_batch_is_spread_and_later_stamps_are_unchanged() {
        // DX fig. 5: four packets with one stamp at 10 Gbit/s, 1230.4 ns each.
        let batch = [50_000; 4];
        assert_eq!(corrected(10, &batch), [50_000, 51_230, 52_460, 53_691]);
        assert_eq!(corrected(10, &[50_000, 50_010, 60_000]), [50_000, 51_230, 60_000]);
        // Fractions of a nanosecond add up: a thousand packets at 40 Gbit/s, 307.6 ns each.
        assert_eq!(corrected(40, &[10_000_000; 1_001])[1_000], 10_307_600);
    }

    #[test]
    fn stamps_far_enough_apart_are_unchanged() {
        let spaced = [50_000, 51_231, 52_462, 99_999];
        assert_eq!(corrected(10, &spaced), spaced);
    }
}
