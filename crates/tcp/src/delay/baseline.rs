//! Minimum one-way delay, and the queueing delay above it.

use lowtide_units::{Duration, Instant};

use super::DelaySample;

/// One-way delay and round-trip time without queues (DX §III, "One-way queuing delay").
///
/// The one-way delay is between two clocks, so it has any value. It is updated only when the
/// round-trip time is at its minimum. A separate minimum would follow a clock that gains and would
/// not follow one that loses.
#[derive(Clone, Debug)]
pub(crate) struct Baseline {
    slack: Duration,
    lifetime: Duration,
    minimum: Option<PathMinimum>,
}

#[derive(Clone, Copy, Debug)]
struct PathMinimum {
    /// Nanoseconds; negative because of noise.
    rtt: i32,
    /// Nanoseconds between two clocks, modulo 2^32.
    one_way: u32,
    /// Time at which the round trip was last at its minimum.
    seen_at: Instant,
}

impl Baseline {
    pub(crate) const fn new(slack: Duration, lifetime: Duration) -> Self {
        Self { slack, lifetime, minimum: None }
    }

    /// Adds a sample: one packet (or the mean of several) took `there` and its ACK `back`, each
    /// between two clocks, in nanoseconds modulo 2^32.
    pub(crate) fn on_sample(&mut self, now: Instant, there: u32, back: u32) -> DelaySample {
        let rtt = there.wrapping_add(back).cast_signed();
        let slack = i32::try_from(self.slack.as_ns()).unwrap_or(i32::MAX);
        let current = self.minimum.filter(|least| {
            self.lifetime == Duration::ZERO || now.saturating_since(least.seen_at) <= self.lifetime
        });
        let least = match current {
            Some(least) if rtt > least.rtt.saturating_add(slack) => least,
            found => {
                let rtt = found.map_or(rtt, |least| least.rtt.min(rtt));
                PathMinimum { rtt, one_way: there, seen_at: now }
            }
        };
        self.minimum = Some(least);
        let above = there.wrapping_sub(least.one_way).cast_signed().max(0);
        DelaySample {
            queueing: non_negative(above),
            rtt: non_negative(rtt.max(0)),
            base_rtt: non_negative(least.rtt.max(0)),
            in_hosts: Duration::ZERO,
        }
    }
}

/// Nanoseconds known to be non-negative.
const fn non_negative(ns: i32) -> Duration {
    Duration::from_ns(ns.unsigned_abs() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One-way delays without queues, in nanoseconds.
    const THERE: u64 = 40_000;
    const BACK: u64 = 30_000;

    /// A path between an exact clock and one that is `offset` ns ahead and gains `drift` ns per ms.
    struct Path {
        baseline: Baseline,
        offset: i64,
        drift: i64,
    }

    impl Path {
        fn new(offset: i64, drift: i64) -> Self {
            let baseline = Baseline::new(Duration::from_ns(50), Duration::ZERO);
            Self { baseline, offset, drift }
        }
        fn far(&self, at: u64) -> u32 {
            let at = at.cast_signed();
            (at + self.offset + at * self.drift / 1_000_000) as u32
        }
        /// The queueing delay computed for a packet sent at `at` that queued `there` and `back`.
        fn measure(&mut self, at: u64, there: u64, back: u64) -> u64 {
            let arrived = at + THERE + there;
            let left = arrived + 77_777;
            let heard = left + BACK + back;
            let there = self.far(arrived).wrapping_sub(at as u32);
            let back = (heard as u32).wrapping_sub(self.far(left));
            let now = Instant::ZERO + Duration::from_ns(heard);
            self.baseline.on_sample(now, there, back).queueing.as_ns()
        }
    }

    #[test]
    fn any_clock_offset_works() {
        // DX fig. 6 has 5 s; 2^31 ns is the maximum difference in 32 bits.
        for offset in [0, 5_000_000_000, -5_000_000_000, 1 << 31, -(1 << 31)] {
            let mut path = Path::new(offset, 0);
            assert_eq!(path.measure(0, 0, 0), 0);
            assert_eq!(path.measure(1_000, 1_230, 0), 1_230, "offset {offset}");
            assert_eq!(path.measure(2_000, 1_230, 98_765), 1_230, "a queue on the way back");
            assert_eq!(path.measure(3_000, 0, 0), 0);
        }
    }

    #[test]
    fn stamps_wrap_within_a_packet_and_between_two() {
        let wrap = 1 << 32;
        let mut path = Path::new(0, 0);
        assert_eq!(path.measure(wrap - 500_000, 0, 0), 0);
        for at in [wrap - 20_000, wrap - 100_000, wrap - 130_000, wrap - 1, wrap, 3 * wrap - 7] {
            assert_eq!(path.measure(at, 9_000, 0), 9_000, "left at {at}");
        }
    }

    #[test]
    fn the_first_packets_may_have_queued() {
        let mut path = Path::new(0, 0);
        assert_eq!(path.measure(0, 5_000, 0), 0, "there is nothing to compare with");
        assert_eq!(path.measure(1, 4_000, 3_000), 0, "a shorter round trip, so far the least");
        assert_eq!(path.measure(2, 0, 0), 0);
        assert_eq!(path.measure(3, 4_000, 0), 4_000);
    }

    #[test]
    fn drift_is_taken_out_where_the_queue_runs_empty() {
        // DX §III: 40 ns per ms, which is 40 us in this second.
        for drift in [40, -40] {
            let mut path = Path::new(1_234_567, drift);
            for ms in 0..1_000_u64 {
                let at = ms * 1_000_000;
                assert!(path.measure(at, 0, 0) < 50);
                let computed = path.measure(at + 500_000, 12_300, 20_000);
                assert!(computed.abs_diff(12_300) <= 25, "{drift} ns per ms, {ms} ms: {computed}");
            }
        }
    }

    #[test]
    fn a_clock_that_loses_is_not_followed_down_by_a_queue() {
        // The one-way delay of a steady queue falls below the baseline: no queue, not a new
        // baseline.
        let mut path = Path::new(0, -40);
        assert_eq!(path.measure(0, 0, 0), 0);
        let second = 1_000_000_000;
        assert_eq!(path.measure(second, 30_000, 0), 0, "40 us lost, 30 us queued");
        assert_eq!(path.measure(second + 200_000, 0, 0), 0);
        assert!(path.measure(second + 400_000, 30_000, 0).abs_diff(30_000) < 20);
    }

    #[test]
    fn a_lucky_minimum_is_forgotten_after_its_lifetime() {
        let ms = Duration::from_ms(1);
        for (lifetime, after) in [(ms * 10, 0), (Duration::ZERO, 500)] {
            let mut path = Path::new(0, 0);
            path.baseline.lifetime = lifetime;
            // Noise: 500 ns below the true minimum.
            path.measure(0, 0, 0);
            let lucky = path.baseline.minimum.as_mut().unwrap();
            lucky.rtt -= 500;
            lucky.one_way = lucky.one_way.wrapping_sub(500);
            assert_eq!(path.measure(9_000_000, 0, 0), 500);
            path.measure(20_000_000, 0, 0);
            assert_eq!(path.measure(20_500_000, 0, 0), after);
        }
    }
}
