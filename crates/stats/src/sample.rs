//! The flows of one seed.
//!
//! Contract: every flow counts. A completed flow has a value. A flow that the end of the run cut
//! off is right-censored at its age. A failed flow is infinite and never censored. The caller
//! chooses the flows by their arrival, the same ones for all schemes that it compares, and of one
//! class of sizes: Kaplan-Meier assumes that cut-off flows are like the others.

use std::borrow::Cow;

use thiserror::Error;

use crate::range::ValueRange;
use crate::sorted::Sorted;

/// The end of one flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Observation {
    /// It completed with this value.
    Complete(f64),
    /// The end of the run cut it off: its value is at least this.
    CutOff(f64),
    /// It failed and never completes.
    Failed,
}

/// A sample that cannot be judged.
#[derive(Clone, Copy, PartialEq, Debug, Error)]
pub enum InvalidSample {
    /// A value is not a finite number.
    #[error("a value is {0}, not a finite number")]
    NotFinite(f64),
    /// A completed flow is outside of the possible range.
    #[error("the value {value} is outside of the possible range from {} to {}", range.least, range.most)]
    OutOfRange {
        /// The value that is farthest outside.
        value: f64,
        /// The possible range.
        range: ValueRange,
    },
}

/// The flows of one seed.
#[derive(Clone, PartialEq, Debug)]
pub struct Sample {
    /// Values of completed flows, ascending.
    complete: Box<[f64]>,
    /// Lower limits of cut-off flows, ascending.
    cut_off: Box<[f64]>,
    failed: u64,
    range: ValueRange,
}

impl Sample {
    /// Collects the flows. A cut-off flow is at least `range.least`, however young it is.
    ///
    /// # Errors
    /// A value is not finite, or a completed flow is outside of the range: a slowdown below one
    /// means that its ideal time is wrong.
    pub fn new(
        flows: impl IntoIterator<Item = Observation>,
        range: ValueRange,
    ) -> Result<Self, InvalidSample> {
        let (mut complete, mut cut_off, mut failed) = (Vec::new(), Vec::new(), 0);
        for flow in flows {
            match flow {
                Observation::Complete(value) | Observation::CutOff(value) if !value.is_finite() => {
                    return Err(InvalidSample::NotFinite(value));
                }
                Observation::Complete(value) => complete.push(value),
                Observation::CutOff(age) => cut_off.push(age.max(range.least)),
                Observation::Failed => failed += 1,
            }
        }
        complete.sort_unstable_by(f64::total_cmp);
        cut_off.sort_unstable_by(f64::total_cmp);
        if let (Some(&low), Some(&high)) = (complete.first(), complete.last())
            && !range.contains([low, high])
        {
            let value = if low < range.least { low } else { high };
            return Err(InvalidSample::OutOfRange { value, range });
        }
        Ok(Self { complete: complete.into(), cut_off: cut_off.into(), failed, range })
    }

    /// Returns a sample without flows.
    pub fn empty(range: ValueRange) -> Self {
        Self { complete: Box::default(), cut_off: Box::default(), failed: 0, range }
    }

    /// Returns the number of flows.
    pub fn count(&self) -> u64 {
        (self.complete.len() + self.cut_off.len()) as u64 + self.failed
    }

    /// Returns the values of completed flows, ascending.
    pub fn complete(&self) -> &[f64] {
        &self.complete
    }

    /// Returns the lower limits of cut-off flows, ascending.
    pub fn cut_off(&self) -> &[f64] {
        &self.cut_off
    }

    /// Returns the number of failed flows.
    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// Returns the possible range.
    pub fn range(&self) -> ValueRange {
        self.range
    }

    /// Returns the values if every cut-off flow completed at its age: the lower bound.
    pub(crate) fn ends_now(&self) -> Sorted<'_> {
        let values = if self.cut_off.is_empty() {
            Cow::Borrowed(&*self.complete)
        } else {
            let mut all = [&*self.complete, &*self.cut_off].concat();
            all.sort_unstable_by(f64::total_cmp);
            Cow::Owned(all)
        };
        Sorted { values, infinite: self.failed }
    }

    /// Returns the values if no cut-off flow ever completed: the upper bound.
    pub(crate) fn never_ends(&self) -> Sorted<'_> {
        let values = Cow::Borrowed(&*self.complete);
        Sorted { values, infinite: self.failed + self.cut_off.len() as u64 }
    }

    /// Returns the lower bound of the sum; infinite if a flow failed.
    pub(crate) fn least_sum(&self) -> f64 {
        let sum: f64 = self.complete.iter().chain(&self.cut_off).sum();
        if self.failed > 0 { f64::INFINITY } else { sum }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_cannot_be_are_errors() {
        use Observation::{Complete, CutOff, Failed};
        let slowdown = |flows: &[Observation]| {
            Sample::new(flows.iter().copied(), ValueRange::SLOWDOWN).map(|s| s.count())
        };
        for value in [f64::INFINITY, f64::NEG_INFINITY] {
            let found = slowdown(&[Complete(2.0), Complete(value)]);
            assert_eq!(found, Err(InvalidSample::NotFinite(value)));
        }
        assert!(matches!(slowdown(&[CutOff(f64::NAN)]), Err(InvalidSample::NotFinite(_))));
        let range = ValueRange::SLOWDOWN;
        let found = slowdown(&[Complete(2.0), Complete(0.97), Complete(0.99)]);
        assert_eq!(found, Err(InvalidSample::OutOfRange { value: 0.97, range }));
        assert_eq!(slowdown(&[Complete(1.0), Failed, CutOff(0.1)]), Ok(3));
    }

    #[test]
    fn a_young_cut_off_flow_is_at_least_the_least_value() {
        let of = [Observation::CutOff(0.1), Observation::CutOff(3.0)];
        let sample = Sample::new(of, ValueRange::SLOWDOWN).unwrap();
        assert_eq!(sample.cut_off(), [1.0, 3.0]);
    }
}
