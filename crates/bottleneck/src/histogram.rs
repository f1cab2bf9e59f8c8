//! Log-linear histogram of times and sizes with a relative error of at most 1/32.

/// Bits of the sub-bucket index within each power of two.
const SUBBUCKET_BITS: u32 = 5;
const SUBBUCKETS: u64 = 1 << SUBBUCKET_BITS;

/// Bucket counts, and the exact number, sum and maximum of the values.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    max: u64,
}

/// Bucket of `value`: exact below 32, then 32 buckets per power of two.
fn bucket_of(value: u64) -> usize {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(SUBBUCKET_BITS + 1);
    (u64::from(shift) * SUBBUCKETS + (value >> shift)) as usize
}

/// Smallest value of a bucket.
fn bucket_start(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let shift = (bucket / SUBBUCKETS).saturating_sub(1);
    (bucket - shift * SUBBUCKETS) << shift
}

impl Histogram {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        let bucket = bucket_of(value);
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.count += 1;
        self.sum += u128::from(value);
        self.max = self.max.max(value);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of the values.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Mean of the values, rounded down; zero if there are none.
    pub fn mean(&self) -> u64 {
        u64::try_from(self.sum / u128::from(self.count.max(1))).unwrap_or(u64::MAX)
    }

    /// Largest value; zero if there are none.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The value that `percent` of all values (0 to 100) do not exceed, rounded up to the end of
    /// its bucket.
    pub fn percentile(&self, percent: u64) -> u64 {
        let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100).max(1);
        let mut seen = 0_u128;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += u128::from(*count);
            if seen >= rank {
                return (bucket_start(bucket + 1) - 1).min(self.max);
            }
        }
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_contiguous() {
        for value in (0..5_000).chain((0..64).map(|s| 1 << s)).chain([u64::MAX]) {
            let at = bucket_of(value);
            assert!(bucket_start(at) <= value, "{value}");
            assert!(at == bucket_of(u64::MAX) || value < bucket_start(at + 1), "{value}");
            let width = value - bucket_start(at);
            assert!(width <= value / 32, "{value} is in a bucket from {}", bucket_start(at));
        }
    }

    #[test]
    fn percentiles_match_the_values() {
        let mut all = Histogram::default();
        assert_eq!((all.mean(), all.percentile(50), all.max()), (0, 0, 0));
        (0..=1_000).for_each(|v| all.add(v * 100));
        assert_eq!((all.count(), all.mean(), all.max()), (1_001, 50_000, 100_000));
        for (percent, expected) in [(0, 0), (50, 50_000), (99, 99_000), (100, 100_000)] {
            let got = all.percentile(percent);
            assert!(got >= expected && got <= expected + expected / 31, "{percent}: {got}");
        }
    }
}
