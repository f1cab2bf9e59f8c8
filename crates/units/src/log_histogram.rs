//! Quantiles of values that are too many to store.
//!
//! Contract: exact for values below 128, and for number, sum, minimum and maximum; a quantile of
//! other values is within 0.8 %. It uses 512 bytes for each power of two between the least and the
//! greatest value, at most 30 kB.

use alloc::vec::Vec;

use crate::Quantile;

/// Significant bits of a value that are kept.
const BITS: u32 = 7;

/// The bins of many values, and their exact number, sum, minimum and maximum.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LogHistogram {
    /// Number of the first bin of `counts`.
    first: u16,
    /// Counts of all bins from that of the least to that of the greatest value.
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    least: u64,
    most: u64,
}

fn bin(value: u64) -> u16 {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(BITS);
    // The first shift uses all significands, the others their upper half.
    ((shift as u16) << (BITS - 1)) + (value >> shift) as u16
}

/// Returns the middle of a bin.
fn middle(bin: u16) -> u64 {
    let half = 1_u16 << (BITS - 1);
    if bin < 2 * half {
        return u64::from(bin);
    }
    let shift = u32::from(bin / half - 1);
    let low = u64::from(bin % half + half) << shift;
    low + ((1_u64 << shift) >> 1)
}

impl LogHistogram {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        let bin = bin(value);
        let at = bin.checked_sub(self.first).map(usize::from);
        match at.and_then(|at| self.counts.get_mut(at)) {
            Some(count) => *count += 1,
            None => self.extend(bin),
        }
        self.least = if self.count == 0 { value } else { self.least.min(value) };
        self.most = self.most.max(value);
        self.count += 1;
        self.sum += u128::from(value);
    }

    /// Adds a value to a bin that the counts do not reach.
    #[cold]
    fn extend(&mut self, bin: u16) {
        if self.counts.is_empty() {
            self.first = bin;
        }
        if let Some(before) = self.first.checked_sub(bin) {
            self.counts.splice(0..0, (0..before).map(|_| 0));
            self.first = bin;
        }
        let at = usize::from(bin - self.first);
        self.counts.resize(self.counts.len().max(at + 1), 0);
        self.counts[at] += 1;
    }

    /// Returns the number of values.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the sum of the values.
    pub const fn sum(&self) -> u128 {
        self.sum
    }

    /// Returns the mean of the values, rounded down; zero if there are none.
    pub fn mean(&self) -> u64 {
        u64::try_from(self.sum / u128::from(self.count.max(1))).unwrap_or(u64::MAX)
    }

    /// Returns the least value, if there is any.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.least)
    }

    /// Returns the greatest value; zero if there are none.
    pub const fn max(&self) -> u64 {
        self.most
    }

    /// Returns a quantile, if it is defined for so many values.
    pub fn quantile(&self, q: Quantile) -> Option<u64> {
        q.is_defined_for(self.count).then(|| self.nearest_rank(q))
    }

    /// Returns the value at the rank of a quantile, however few the values; zero without any.
    pub fn nearest_rank(&self, q: Quantile) -> u64 {
        let rank = q.rank(self.count);
        let mut below = 0;
        let found = self.counts.iter().zip(self.first..).find(|(n, _)| {
            below += **n;
            below >= rank
        });
        found.map_or(0, |(_, bin)| middle(bin).clamp(self.least, self.most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_ascend_and_hold_their_values() {
        let mut before = 0;
        for value in (0..5000).chain((13..63).map(|i| 1_u64 << i)).chain([u64::MAX]) {
            let number = bin(value);
            assert!(number >= before, "{value}");
            before = number;
            let (middle, value) = (middle(number) as f64, value as f64);
            assert!((middle - value).abs() <= value * 0.008, "{value} in {middle}");
        }
    }

    #[test]
    fn quantiles_are_those_of_the_values() {
        let mut h = LogHistogram::default();
        assert_eq!((h.mean(), h.max(), h.min(), h.nearest_rank(Quantile::P50)), (0, 0, None, 0));
        h.add(7);
        assert_eq!(h.quantile(Quantile::P99), None, "one value has no 99th percentile");
        assert_eq!(h.nearest_rank(Quantile::P99), 7);
        let mut h = LogHistogram::default();
        // In an order in which values come below and above those before.
        for value in (1..=1000_u64).map(|v| v * 7919 % 1009).filter(|v| *v <= 1000) {
            h.add(value * 1000);
        }
        let mut sorted: Vec<u64> = (1..=1000_u64).map(|v| v * 7919 % 1009 * 1000).collect();
        sorted.retain(|v| *v <= 1_000_000);
        sorted.sort_unstable();
        assert_eq!(
            (h.count(), h.sum()),
            (sorted.len() as u64, sorted.iter().map(|v| u128::from(*v)).sum())
        );
        assert_eq!((h.min(), h.max()), (sorted.first().copied(), *sorted.last().unwrap()));
        for q in [Quantile::P1, Quantile::P50, Quantile::P95, Quantile::P99] {
            let (found, wanted) = (h.quantile(q).unwrap(), q.of(&sorted).unwrap());
            assert!(found.abs_diff(wanted) * 1000 <= wanted * 8, "{q:?}: {found} is not {wanted}");
        }
    }

    #[test]
    fn few_and_small_values_are_exact() {
        let mut h = LogHistogram::default();
        for value in [100, 3, 127, 3, 0] {
            h.add(value);
        }
        assert_eq!(h.quantile(Quantile::P50), Some(3));
        assert_eq!((h.nearest_rank(Quantile::P99), h.mean(), h.min()), (127, 46, Some(0)));
    }
}
