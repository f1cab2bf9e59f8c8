//! Conversion of windows to rates, for pacing.

use lowtide_units::Rate;

/// `percent` of `bytes` per `span_ps` picoseconds; none below one bit per second.
pub fn per_round_trip(bytes: u64, percent: u64, span_ps: u64) -> Option<Rate> {
    let bits = u128::from(bytes) * u128::from(8 * percent) * 10_000_000_000;
    let bps = bits.checked_div(u128::from(span_ps))?;
    Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_per_round_trip_is_a_rate() {
        // 125 kB in 100 us are 10 Gbit/s.
        let rate = |percent| per_round_trip(125_000, percent, 100_000_000).map(Rate::as_bps);
        assert_eq!(rate(100), Some(10_000_000_000));
        assert_eq!(rate(120), Some(12_000_000_000));
        assert_eq!(per_round_trip(0, 100, 1), None);
        assert_eq!(per_round_trip(1, 100, 0), None);
        assert_eq!(per_round_trip(u64::MAX, 200, 1).map(Rate::as_bps), Some(u64::MAX));
    }
}
