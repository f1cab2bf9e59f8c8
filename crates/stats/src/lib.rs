//! The statistics of results: samples, intervals over seeds, verdicts.
//!
//! Contract: no tables, files or formats; the only texts are [`VerdictSentence`] and the reasons of
//! absent values and intervals. Every case without a number has a type that says why. Values are
//! `f64` in the caller's unit.
//!
//! A [`Sample`] has the flows of one seed: completed, cut off by the end of the run, or failed.
//! [`SeedSamples`] has those of all seeds and gives an [`Estimate`] of a percentile or a mean.
//! [`seed_mean`] gives that of a metric with one value per seed. [`compare_percentile`] and
//! [`compare_means`] give a [`Comparison`] of two schemes, paired by seed. [`holm`] gives the
//! verdicts of all comparisons in one headline. `docs/evidence/statistics.md` has the coverage of
//! the intervals.

mod compare;
mod contrast;
mod estimate;
mod interval;
mod kaplan_meier;
mod mean;
mod range;
mod ratio;
mod sample;
mod seeds;
mod sentence;
mod sorted;
mod verdict;
mod woodruff;

pub use compare::{Comparison, compare_means, compare_percentile};
pub use estimate::{Estimate, MissingValue, PointValue};
pub use interval::{Interval, IntervalMethod, LEAST_SEEDS, LEVEL, MissingInterval};
pub use kaplan_meier::{KaplanMeier, SurvivalStep};
pub use mean::{seed_mean, seed_mean_at};
pub use range::ValueRange;
pub use sample::{InvalidSample, Observation, Sample};
pub use seeds::SeedSamples;
pub use sentence::{VerdictSentence, significant};
pub use verdict::{Evidence, Preference, Verdict, holm};
pub use woodruff::{ShareInterval, share_interval};
