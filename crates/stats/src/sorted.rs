//! Values in ascending order, some of them infinite.

use std::borrow::Cow;

use lowtide_units::Quantile;

/// Values in ascending order, and the number of infinite ones.
#[derive(Clone, Debug)]
pub(crate) struct Sorted<'a> {
    pub(crate) values: Cow<'a, [f64]>,
    pub(crate) infinite: u64,
}

impl Sorted<'_> {
    /// Merges those of several seeds.
    pub(crate) fn pooled(seeds: &[Sorted<'_>]) -> Sorted<'static> {
        let mut all: Vec<f64> = seeds.iter().flat_map(|s| s.values.iter().copied()).collect();
        all.sort_unstable_by(f64::total_cmp);
        Sorted { values: all.into(), infinite: seeds.iter().map(|s| s.infinite).sum() }
    }

    /// Returns the number of values.
    pub(crate) fn count(&self) -> u64 {
        self.values.len() as u64 + self.infinite
    }

    /// Returns the value of a rank, which counts from one.
    pub(crate) fn at_rank(&self, rank: u64) -> f64 {
        self.values.get((rank as usize).wrapping_sub(1)).copied().unwrap_or(f64::INFINITY)
    }

    /// Returns a quantile (type 1), if there are enough values.
    pub(crate) fn quantile(&self, q: Quantile) -> Option<f64> {
        let n = self.count();
        q.is_defined_for(n).then(|| self.at_rank(q.rank(n)))
    }

    /// Returns how many values are at most `value`, which is finite.
    pub(crate) fn up_to(&self, value: f64) -> f64 {
        self.values.partition_point(|v| *v <= value) as f64
    }

    /// Returns how many values are less than `value`, which is finite.
    pub(crate) fn below(&self, value: f64) -> f64 {
        self.values.partition_point(|v| *v < value) as f64
    }
}
