//! Spans of time and sizes, counted by magnitude: what is read from it is right to one part in 32.

/// Buckets of one doubling.
const SUBBUCKET_BITS: u32 = 5;
const SUBBUCKETS: u64 = 1 << SUBBUCKET_BITS;

/// Counts of values, and their exact number, sum and greatest.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    max: u64,
}

/// Where `value` is counted: below 32 exactly, above in one of 32 parts of its doubling.
fn bucket_of(value: u64) -> usize {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(SUBBUCKET_BITS + 1);
    (u64::from(shift) * SUBBUCKETS + (value >> shift)) as usize
}

/// The least value that is counted at `place`.
fn bucket_start(place: usize) -> u64 {
    let place = place as u64;
    let shift = (place / SUBBUCKETS).saturating_sub(1);
    (place - shift * SUBBUCKETS) << shift
}

impl Histogram {
    /// One more value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        let place = bucket_of(value);
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += 1;
        self.count += 1;
        self.sum += u128::from(value);
        self.max = self.max.max(value);
    }

    /// How many values there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Their mean, rounded down; zero without any.
    pub fn mean(&self) -> u64 {
        u64::try_from(self.sum / u128::from(self.count.max(1))).unwrap_or(u64::MAX)
    }

    /// The greatest; zero without any.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The value that `percent` of all do not exceed (0 to 100), rounded up to the end of its bucket.
    pub fn percentile(&self, percent: u64) -> u64 {
        let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100).max(1);
        let mut seen = 0_u128;
        for (place, count) in self.counts.iter().enumerate() {
            seen += u128::from(*count);
            if seen >= rank {
                return (bucket_start(place + 1) - 1).min(self.max);
            }
        }
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_one_another_without_a_gap() {
        for value in (0..5_000).chain((0..64).map(|s| 1 << s)).chain([u64::MAX]) {
            let at = bucket_of(value);
            assert!(bucket_start(at) <= value, "{value}");
            assert!(at == bucket_of(u64::MAX) || value < bucket_start(at + 1), "{value}");
            let width = value - bucket_start(at);
            assert!(width <= value / 32, "{value} is in a bucket from {}", bucket_start(at));
        }
    }

    #[test]
    fn percentiles_are_those_of_the_values() {
        let mut all = Histogram::default();
        assert_eq!((all.mean(), all.percentile(50), all.max()), (0, 0, 0));
        (0..=1_000).for_each(|v| all.add(v * 100));
        assert_eq!((all.count(), all.mean(), all.max()), (1_001, 50_000, 100_000));
        for (percent, want) in [(0, 0), (50, 50_000), (99, 99_000), (100, 100_000)] {
            let got = all.percentile(percent);
            assert!(got >= want && got <= want + want / 31, "{percent}: {got}");
        }
    }
}
