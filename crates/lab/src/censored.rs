//! Right-censored durations: samples of one run, and of several runs together.
//!
//! Contract: a quantile exists only if the missing times cannot change it. A censored duration is
//! at least its age; a failed one never ends.

use lowtide_rows::{FlowRow, FlowStatus};
use lowtide_units::Quantile;

/// A right-censored duration.
#[derive(Clone, Copy)]
pub(crate) struct CensoredTime {
    /// Duration if it ended, picoseconds.
    pub(crate) took_ps: Option<u64>,
    /// Age at the end of the run, picoseconds.
    pub(crate) elapsed_ps: u64,
    /// Whether it failed, so that it never ends.
    pub(crate) failed: bool,
}

impl CensoredTime {
    pub(crate) fn of_flow(flow: &FlowRow, ended_ps: u64) -> Self {
        Self {
            took_ps: flow.fct_ps,
            elapsed_ps: ended_ps.saturating_sub(flow.start_ps),
            failed: flow.status == FlowStatus::Failed,
        }
    }
}

/// Many right-censored values: those that ended, and lower bounds of the others.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct CensoredSample {
    /// Values that ended, ascending.
    known: Box<[u64]>,
    /// Lower bounds of the others, ascending; [`u64::MAX`] if one never ends.
    bounds: Box<[u64]>,
}

impl CensoredSample {
    /// Collects the values; `scaled` converts a duration to a value, which is at least `floor`. A
    /// censored duration is at least its age; a failed one is infinite.
    pub(crate) fn new<T>(
        all: impl Iterator<Item = (T, CensoredTime)>,
        floor: u64,
        scaled: impl Fn(&T, u64) -> Option<u64>,
    ) -> Self {
        let (mut known, mut bounds) = (Vec::new(), Vec::new());
        for (of, timed) in all {
            if let Some(value) = timed.took_ps.and_then(|t| scaled(&of, t)) {
                known.push(value);
                continue;
            }
            bounds.push(if timed.failed {
                u64::MAX
            } else if timed.took_ps.is_some() {
                floor
            } else {
                scaled(&of, timed.elapsed_ps).unwrap_or(0).max(floor)
            });
        }
        known.sort_unstable();
        bounds.sort_unstable();
        Self { known: known.into(), bounds: bounds.into() }
    }

    /// Returns the values that ended, ascending.
    pub(crate) fn known(&self) -> &[u64] {
        &self.known
    }

    /// Returns the number of values, censored ones included.
    pub(crate) fn count(&self) -> u64 {
        (self.known.len() + self.bounds.len()) as u64
    }

    /// Returns how many values are known to be at most `value`.
    pub(crate) fn surely_up_to(&self, value: u64) -> u64 {
        self.known.partition_point(|v| *v <= value) as u64
    }

    /// Returns how many values may be less than `value`.
    pub(crate) fn maybe_below(&self, value: u64) -> u64 {
        let below = |of: &[u64]| of.partition_point(|v| *v < value) as u64;
        below(&self.known) + below(&self.bounds)
    }

    pub(crate) fn quantile(&self, q: Quantile) -> Option<u64> {
        Pool::new(vec![self]).quantile(q, &[1])
    }

    pub(crate) fn max(&self) -> Option<u64> {
        self.known.last().copied().filter(|_| self.bounds.is_empty())
    }

    pub(crate) fn mean(&self) -> Option<f64> {
        self.mean_at_least().filter(|_| self.bounds.is_empty())
    }

    /// Returns the mean with each censored value at its bound; `None` if one is unbounded.
    pub(crate) fn mean_at_least(&self) -> Option<f64> {
        let bounded = self.bounds.last() != Some(&u64::MAX);
        let sum: u128 = self.known.iter().chain(&self.bounds).map(|t| u128::from(*t)).sum();
        (bounded && self.count() > 0).then(|| sum as f64 / self.count() as f64)
    }
}

/// Samples of several runs, taken together.
pub(crate) struct Pool<'a> {
    samples: Vec<&'a CensoredSample>,
    /// All known values, ascending.
    values: Vec<u64>,
}

impl<'a> Pool<'a> {
    pub(crate) fn new(samples: Vec<&'a CensoredSample>) -> Self {
        let mut values: Vec<u64> = samples.iter().flat_map(|s| s.known()).copied().collect();
        if samples.len() > 1 {
            values.sort_unstable();
        }
        Self { samples, values }
    }

    /// Returns all known values, ascending.
    pub(crate) fn values(&self) -> &[u64] {
        &self.values
    }

    /// Returns the number of values with each sample taken `weights` times.
    pub(crate) fn count(&self, weights: &[u32]) -> u64 {
        self.weighted(weights, CensoredSample::count)
    }

    fn weighted(&self, weights: &[u32], of: impl Fn(&CensoredSample) -> u64) -> u64 {
        let each = self.samples.iter().zip(weights).filter(|(_, w)| **w > 0);
        each.map(|(sample, w)| u64::from(*w) * of(sample)).sum()
    }

    /// Returns a quantile with each sample taken `weights` times; `None` if the values are too few
    /// for it, or if a censored one could change it.
    pub(crate) fn quantile(&self, q: Quantile, weights: &[u32]) -> Option<u64> {
        q.is_defined_for(self.count(weights)).then(|| self.value_at_rank(q, weights))?
    }

    /// Returns a quantile as [`Self::quantile`] does, of however few values.
    pub(crate) fn value_at_rank(&self, q: Quantile, weights: &[u32]) -> Option<u64> {
        let rank = q.rank(self.count(weights));
        let reaches = |v: &u64| self.weighted(weights, |s| s.surely_up_to(*v)) >= rank;
        let value = *self.values.get(self.values.partition_point(|v| !reaches(v)))?;
        (self.weighted(weights, |s| s.maybe_below(value)) < rank).then_some(value)
    }
}
