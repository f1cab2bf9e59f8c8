//! The flows of all seeds: percentiles and means with their intervals.
//!
//! Contract: a percentile is one of the flows of all seeds together, of rank ⌈nq⌉ (type 1 of
//! Hyndman and Fan, 1996). Seeds are independent, flows of one seed are not. The interval is the
//! smallest that contains both of these:
//!
//! - *Sections* (Asmussen and Glynn 2007, ch. III): Student's t over the logarithms of the seeds'
//!   own percentiles, around the percentile of all. Beyond the 95th percentile its level is 97.5 %,
//!   as own values of far tails are too alike.
//! - *Woodruff's*: the interval of the share of flows up to the percentile, read from the ranks.
//!
//! Each misses its level where the other holds it: sections at ties and far tails, Woodruff's if
//! seeds differ much. If sections leave the possible range, Woodruff's is the interval. Beyond the
//! 99th percentile neither holds if seeds may differ much, so there is none.

use lowtide_units::Quantile;

use crate::estimate::{Estimate, MissingValue, PointValue};
use crate::interval::{
    Interval, IntervalMethod, LEVEL, MissingInterval, standard_error, students_t,
};
use crate::kaplan_meier::KaplanMeier;
use crate::range::ValueRange;
use crate::sample::Sample;
use crate::sorted::Sorted;
use crate::woodruff;

/// Level of sections beyond the 95th percentile.
const TAIL_LEVEL: f64 = 0.975;

/// Greatest intraclass correlation of seeds, at the 95th percentile, with an interval beyond the
/// 99th.
const MOST_CORRELATION: f64 = 0.02;

/// Percentiles whose intervals are ordered.
const USUAL: [Quantile; 4] = [Quantile::P50, Quantile::P95, Quantile::P99, Quantile::P999];

fn exceeds(q: Quantile, other: Quantile) -> bool {
    q.as_f64() > other.as_f64()
}

/// The flows of all seeds.
#[derive(Clone, Debug)]
pub struct SeedSamples<'a> {
    samples: Vec<&'a Sample>,
    range: ValueRange,
    /// The values if every cut-off flow ended now.
    pub(crate) ends_now: BoundedSeeds<'a>,
    /// The values if no cut-off flow ever ended; `None` if none was cut off.
    pub(crate) never_ends: Option<BoundedSeeds<'a>>,
}

/// The values of all seeds under one assumption about cut-off flows.
#[derive(Clone, Debug)]
pub(crate) struct BoundedSeeds<'a> {
    pub(crate) seeds: Vec<Sorted<'a>>,
    pub(crate) pooled: Sorted<'static>,
}

impl<'a> BoundedSeeds<'a> {
    fn new(samples: &[&'a Sample], of: fn(&'a Sample) -> Sorted<'a>) -> Self {
        let seeds: Vec<Sorted<'a>> = samples.iter().map(|sample| of(sample)).collect();
        let pooled = Sorted::pooled(&seeds);
        Self { seeds, pooled }
    }

    /// Returns the quantile of each seed alone; `None` if one has too few flows.
    pub(crate) fn own(&self, q: Quantile) -> Option<Vec<f64>> {
        self.seeds.iter().map(|seed| seed.quantile(q)).collect()
    }

    /// Whether flows of one seed may be correlated by more than [`MOST_CORRELATION`].
    fn seeds_may_differ(&self) -> bool {
        let value = self.pooled.quantile(Quantile::P95).filter(|value| value.is_finite());
        value.is_none_or(|value| {
            woodruff::seed_correlation(&self.seeds, value, Quantile::P95) > MOST_CORRELATION
        })
    }

    /// Returns the interval of a quantile, whose value over all seeds is `value`.
    fn interval(&self, q: Quantile, value: f64, range: ValueRange) -> Interval {
        let Some(own) = self.own(q) else {
            return match self.seeds.len() {
                1 => Interval::missing(MissingInterval::OneSeed),
                _ => Interval::missing(MissingInterval::FewFlows { needs: q.least_count() }),
            };
        };
        if let Some(few) = Interval::of_few(&own) {
            return few;
        }
        if !value.is_finite() {
            return Interval::missing(MissingInterval::Unfinished);
        }
        if exceeds(q, Quantile::P99) && self.seeds_may_differ() {
            return Interval::missing(MissingInterval::SeedsDiffer);
        }
        let [mut low, mut high] = woodruff::interval(&self.seeds, &self.pooled, q, value);
        let mut method = IntervalMethod::Woodruff;
        let level = if exceeds(q, Quantile::P95) { TAIL_LEVEL } else { LEVEL };
        if let Some(ends) = sections(value, &own, level)
            && range.contains(ends)
        {
            (low, high) = (low.min(ends[0]), high.max(ends[1]));
            method = IntervalMethod::SectionsWoodruff;
        }
        if high.is_finite() {
            Interval::Confidence { low, high, method }
        } else {
            Interval::missing(MissingInterval::Unfinished)
        }
    }
}

fn sections(value: f64, own: &[f64], level: f64) -> Option<[f64; 2]> {
    let error = standard_error(own.iter().map(|v| v.ln()), value.ln());
    let factor = (students_t(own.len() as f64 - 1.0, level) * error).exp();
    factor.is_finite().then(|| [value / factor, value * factor])
}

impl<'a> SeedSamples<'a> {
    /// Takes the flows of all seeds; their possible range is that of the first.
    pub fn new(samples: Vec<&'a Sample>) -> Self {
        let range = samples.first().map_or(ValueRange::ANY, |sample| sample.range());
        let cut = samples.iter().any(|sample| !sample.cut_off().is_empty());
        let never_ends = cut.then(|| BoundedSeeds::new(&samples, Sample::never_ends));
        let ends_now = BoundedSeeds::new(&samples, Sample::ends_now);
        Self { samples, range, ends_now, never_ends }
    }

    /// Returns the number of seeds.
    pub fn seeds(&self) -> usize {
        self.samples.len()
    }

    /// Returns the number of flows.
    pub fn flows(&self) -> u64 {
        self.ends_now.pooled.count()
    }

    /// Whether all of several seeds have identical results.
    pub fn are_identical(&self) -> bool {
        self.seeds() > 1 && self.samples.windows(2).all(|pair| pair[0] == pair[1])
    }

    /// Whether each seed has the results of the same seed of another scheme.
    pub fn is_identical_to(&self, other: &Self) -> bool {
        self.samples == other.samples
    }

    /// Returns the survival function of all flows.
    pub fn survival(&self) -> KaplanMeier {
        let mut cut: Vec<f64> =
            self.samples.iter().flat_map(|s| s.cut_off().iter().copied()).collect();
        cut.sort_unstable_by(f64::total_cmp);
        let complete = self.never_ends.as_ref().unwrap_or(&self.ends_now);
        let failed = self.samples.iter().map(|sample| sample.failed()).sum();
        KaplanMeier::new(&complete.pooled.values, &cut, failed)
    }

    /// Returns a percentile. Its interval is ordered among those of the usual percentiles: it does
    /// not begin before one of a lower percentile, nor end after one of a higher.
    pub fn percentile(&self, q: Quantile) -> Estimate {
        self.percentiles([q])[0]
    }

    /// Returns several percentiles, each as [`Self::percentile`] does.
    pub fn percentiles<const N: usize>(&self, all: [Quantile; N]) -> [Estimate; N] {
        let usual = USUAL.map(|q| (q, self.separate_percentile(q).interval.confidence()));
        all.map(|q| {
            let mut found = self.separate_percentile(q);
            if let Interval::Confidence { low, high, .. } = &mut found.interval {
                for (other, ends) in usual {
                    let Some([least, most]) = ends else { continue };
                    if exceeds(q, other) {
                        *low = low.max(least);
                    } else if exceeds(other, q) {
                        *high = high.min(most);
                    }
                }
            }
            found
        })
    }

    /// Returns a percentile whose interval depends on no other.
    fn separate_percentile(&self, q: Quantile) -> Estimate {
        let flows = self.flows();
        let estimate = |point, interval| Estimate { point, interval, seeds: self.seeds(), flows };
        let none = Interval::missing(MissingInterval::NoValue);
        if flows == 0 {
            return estimate(PointValue::Missing { reason: MissingValue::NoFlows }, none);
        }
        let Some(low) = self.ends_now.pooled.quantile(q) else {
            let reason = MissingValue::FewFlows { needs: q.least_count() };
            return estimate(PointValue::Missing { reason }, none);
        };
        if low.is_infinite() {
            return estimate(PointValue::Infinite, none);
        }
        let identical =
            |of: Interval| if self.are_identical() { Interval::SeedIndependent } else { of };
        let lower = self.ends_now.interval(q, low, self.range);
        let Some(never_ends) = &self.never_ends else {
            return estimate(PointValue::Exact { value: low }, identical(lower));
        };
        let high = never_ends.pooled.quantile(q).unwrap_or(f64::INFINITY);
        let upper = never_ends.interval(q, high, self.range);
        let interval = lower.hull(upper);
        if low.to_bits() == high.to_bits() {
            return estimate(PointValue::Exact { value: low }, identical(interval));
        }
        // The narrower one: the other may be wide because of the cuts.
        let width = width(lower).min(width(upper));
        let known = high.is_finite() && width.is_finite() && high - low < width;
        let point = match self.survival().quantile(q).filter(|_| known) {
            Some(value) => PointValue::KaplanMeier { value, low, high },
            None => PointValue::Between { low, high: high.is_finite().then_some(high) },
        };
        estimate(point, interval)
    }

    /// Returns the mean over seeds of the mean of each seed's flows.
    pub fn mean(&self) -> Estimate {
        let own = |of: &Sample| (of.count() > 0).then(|| of.least_sum() / of.count() as f64);
        let lower: Vec<Option<f64>> = self.samples.iter().map(|sample| own(sample)).collect();
        let infinite = lower.iter().flatten().any(|mean| mean.is_infinite());
        let mut found = crate::mean::seed_mean(&lower, self.range);
        found.flows = self.flows();
        if infinite {
            found.point = PointValue::Infinite;
            found.interval = Interval::missing(MissingInterval::NoValue);
        } else if let (Some(low), Some(_)) = (found.point.value(), &self.never_ends) {
            found.point = PointValue::Between { low, high: None };
            found.interval = Interval::missing(MissingInterval::Unfinished);
        }
        found
    }
}

/// Returns the width of an interval: infinite without an upper end, zero if it is unknown.
fn width(of: Interval) -> f64 {
    let unfinished = of == Interval::missing(MissingInterval::Unfinished);
    let unknown = if unfinished { f64::INFINITY } else { 0.0 };
    of.ends().map_or(unknown, |[low, high]| high - low)
}
