//! Comparisons of two schemes, paired by seed.
//!
//! Contract: A is the baseline. Both have the same seeds in the same order, and samples of the same
//! flows. A tolerance of 0.05 means that ratios of B to A from 1/1.05 to 1.05 are the same. If
//! flows were cut off, a statement must hold whether those of A end now and those of B never do,
//! or the opposite.

use lowtide_units::Quantile;
use serde::Serialize;

use crate::contrast::{Contrast, Tests};
use crate::estimate::{Estimate, PointValue};
use crate::interval::{Interval, IntervalMethod, LEAST_SEEDS, MissingInterval};
use crate::mean::seed_mean;
use crate::range::ValueRange;
use crate::ratio::RatioTests;
use crate::seeds::{BoundedSeeds, SeedSamples};
use crate::verdict::{Evidence, Preference, Verdict};

/// Comparison of B with A.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Comparison {
    /// The estimates of A and B.
    pub values: [Estimate; 2],
    /// B over A; `None` if cut-off flows could change it by more than its interval, or if a value
    /// is missing, infinite or zero.
    pub ratio: Option<f64>,
    /// The interval of the ratio, or the reason why there is none.
    pub interval: Interval,
    /// Ratios from its inverse to one and this are the same.
    pub tolerance: f64,
    /// The evidence for each statement.
    pub evidence: Evidence,
}

impl Comparison {
    /// Returns the verdict of this comparison alone. Several that are stated together need
    /// [`crate::holm`].
    pub fn verdict(&self, better: Preference) -> Verdict {
        self.evidence.verdict(better, 1.0 - crate::interval::LEVEL)
    }

    fn undecided(values: [Estimate; 2], tolerance: f64, interval: Interval) -> Self {
        Self { values, ratio: ratio(values), interval, tolerance, evidence: Evidence::NONE }
    }
}

fn ratio([a, b]: [Estimate; 2]) -> Option<f64> {
    let ratio = b.point.value()? / a.point.value()?;
    ratio.is_finite().then_some(ratio)
}

/// Returns the logarithms of the ratios that a tolerance allows.
fn limits(tolerance: f64) -> [f64; 2] {
    let limit = tolerance.ln_1p();
    [-limit, limit]
}

/// Compares a percentile of two schemes.
pub fn compare_percentile(
    a: &SeedSamples<'_>,
    b: &SeedSamples<'_>,
    q: Quantile,
    tolerance: f64,
) -> Comparison {
    let values = [a.percentile(q), b.percentile(q)];
    let undecided = |interval| Comparison::undecided(values, tolerance, interval);
    if a.seeds() != b.seeds() {
        return undecided(Interval::missing(MissingInterval::UnpairedSeeds));
    }
    if values.iter().any(|v| matches!(v.point, PointValue::Missing { .. })) {
        return undecided(Interval::missing(MissingInterval::NoValue));
    }
    let certain = a.is_identical_to(b) || (a.are_identical() && b.are_identical());
    if let (true, Some(ratio)) = (certain, ratio(values)) {
        let evidence = Evidence::certain(ratio.ln(), limits(tolerance));
        return Comparison { evidence, ..undecided(Interval::SeedIndependent) };
    }
    let upper = |of: &'_ SeedSamples<'_>| of.never_ends.is_some();
    let mut found = bounded([&a.ends_now, &b.ends_now], q, tolerance);
    if upper(a) || upper(b) {
        let of_a = a.never_ends.as_ref().unwrap_or(&a.ends_now);
        let of_b = b.never_ends.as_ref().unwrap_or(&b.ends_now);
        let least = bounded([of_a, &b.ends_now], q, tolerance);
        let most = bounded([&a.ends_now, of_b], q, tolerance);
        found = (least.0.hull(most.0), least.1.and(most.1));
    }
    Comparison { evidence: found.1, ..undecided(found.0) }
}

/// Compares under one assumption about cut-off flows.
fn bounded([a, b]: [&BoundedSeeds<'_>; 2], q: Quantile, tolerance: f64) -> (Interval, Evidence) {
    let missing = |reason| (Interval::missing(reason), Evidence::NONE);
    let (Some(of_a), Some(of_b)) = (a.own(q), b.own(q)) else {
        let needs = q.least_count();
        return missing(match a.seeds.len() {
            1 => MissingInterval::OneSeed,
            _ => MissingInterval::FewFlows { needs },
        });
    };
    let log = |a: f64, b: f64| Some((b / a).ln()).filter(|log| log.is_finite());
    let own: Option<Vec<f64>> = of_a.iter().zip(&of_b).map(|(a, b)| log(*a, *b)).collect();
    if a.seeds.len() < LEAST_SEEDS {
        let own: Vec<f64> = own.into_iter().flatten().map(f64::exp).collect();
        let few = (own.len() == a.seeds.len()).then(|| Interval::of_few(&own)).flatten();
        return few.map_or(missing(MissingInterval::Unfinished), |few| (few, Evidence::NONE));
    }
    let all = a.pooled.quantile(q).zip(b.pooled.quantile(q)).and_then(|(a, b)| log(a, b));
    let tests = RatioTests::new([a, b], q, own.as_deref().zip(all));
    let evidence = tests.evidence(limits(tolerance));
    let interval =
        tests.interval().map_or(Interval::missing(MissingInterval::Unfinished), |[low, high]| {
            Interval::Confidence {
                low: low.exp(),
                high: high.exp(),
                method: IntervalMethod::SectionsShares,
            }
        });
    // Without a finite ratio only its direction can be known.
    let same = if interval.confidence().is_some() { evidence.same } else { 1.0 };
    (interval, Evidence { same, ..evidence })
}

/// Compares a metric with one value per seed. The ratio of its means has Student's t on its
/// logarithm, by the delta method. If a mean is not positive, only the sign of the difference is
/// tested.
pub fn compare_means(
    a: &[Option<f64>],
    b: &[Option<f64>],
    range: ValueRange,
    tolerance: f64,
) -> Comparison {
    let values = [seed_mean(a, range), seed_mean(b, range)];
    let undecided = |interval| Comparison::undecided(values, tolerance, interval);
    if a.len() != b.len() {
        return undecided(Interval::missing(MissingInterval::UnpairedSeeds));
    }
    let [Some(mean_a), Some(mean_b)] = values.map(|v| v.point.value()) else {
        return undecided(Interval::missing(MissingInterval::NoValue));
    };
    let pairs: Vec<[f64; 2]> = a.iter().zip(b).filter_map(|(a, b)| Some([(*a)?, (*b)?])).collect();
    let positive = mean_a > 0.0 && mean_b > 0.0;
    let difference = if positive { (mean_b / mean_a).ln() } else { mean_b - mean_a };
    // A metric may have one value in few seeds by chance.
    let independent = pairs.len() >= LEAST_SEEDS
        && values.iter().all(|v| v.interval == Interval::SeedIndependent);
    if independent || pairs.iter().all(|[a, b]| a.to_bits() == b.to_bits()) {
        let evidence = Evidence::certain(difference, limits(tolerance));
        return Comparison { evidence, ..undecided(Interval::SeedIndependent) };
    }
    let ratios: Vec<f64> = pairs.iter().map(|[a, b]| b / a).collect();
    if let Some(few) = Interval::of_few(&ratios) {
        let zero = ratios.iter().any(|ratio| !ratio.is_finite());
        return undecided(if zero { Interval::missing(MissingInterval::OutOfRange) } else { few });
    }
    let own: Vec<f64> = pairs
        .iter()
        .map(|[a, b]| if positive { difference + b / mean_b - a / mean_a } else { b - a })
        .collect();
    let tests = Contrast::new(&own, difference);
    if !positive {
        let evidence = Evidence { same: 1.0, ..tests.evidence([0.0; 2]) };
        let interval = Interval::missing(MissingInterval::OutOfRange);
        return Comparison { evidence, ..undecided(interval) };
    }
    let [low, high] = tests.interval().map(f64::exp);
    let interval = Interval::Confidence { low, high, method: IntervalMethod::LogT };
    Comparison { evidence: tests.evidence(limits(tolerance)), ..undecided(interval) }
}
