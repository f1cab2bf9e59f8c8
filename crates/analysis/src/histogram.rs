//! Quantiles of values that are too many to store.
//!
//! Contract: exact for values below 128, and for minimum and maximum; within 0.8 % for other
//! values. Uses memory for the magnitudes that occur, at most a few kilobytes.

use std::collections::BTreeMap;

use lowtide_units::Quantile;
use serde::Serialize;

/// Significant bits of a value that are kept.
const BITS: u32 = 7;

#[derive(Clone, Debug, Default)]
pub(super) struct LogHistogram {
    bins: BTreeMap<u16, u64>,
    count: u64,
    least: u64,
    most: u64,
}

/// Summary of many values. A quantile that needs more values than there are is absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(super) struct ValueSummary {
    pub(super) count: u64,
    pub(super) min: u64,
    pub(super) p50: Option<u64>,
    pub(super) p99: Option<u64>,
    pub(super) max: u64,
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
    pub(super) fn add(&mut self, value: u64) {
        self.least = if self.count == 0 { value } else { self.least.min(value) };
        self.most = self.most.max(value);
        self.count += 1;
        *self.bins.entry(bin(value)).or_default() += 1;
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.least)
    }

    pub(super) fn quantile(&self, q: Quantile) -> Option<u64> {
        if !q.is_defined_for(self.count) {
            return None;
        }
        let rank = q.rank(self.count);
        let mut below = 0;
        let found = self.bins.iter().find(|(_, n)| {
            below += **n;
            below >= rank
        });
        found.map(|(bin, _)| middle(*bin).clamp(self.least, self.most))
    }

    pub(super) fn summary(&self) -> Option<ValueSummary> {
        (self.count > 0).then(|| ValueSummary {
            count: self.count,
            min: self.least,
            p50: self.quantile(Quantile::P50),
            p99: self.quantile(Quantile::P99),
            max: self.most,
        })
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
        (1..=1000_u64).for_each(|v| h.add(v * 1000));
        let s = h.summary().unwrap();
        assert_eq!((s.count, s.min, s.max), (1000, 1000, 1_000_000));
        assert!(
            s.p50.unwrap().abs_diff(500_000) < 4_000 && s.p99.unwrap().abs_diff(990_000) < 8_000
        );
        let mut few = LogHistogram::default();
        few.add(7);
        assert_eq!(few.quantile(Quantile::P99), None, "one value has no 99th percentile");
        assert_eq!(LogHistogram::default().summary(), None);
    }
}
