//! Ratios of tails between two schemes, over the same seeds.
//!
//! Contract: paired. Both schemes have the seeds of an interval in common, so the part of the
//! variation that both share cancels. A ratio whose interval contains one is undecided.

use std::cmp::Reverse;

use lowtide_record::SweepPoint;
use serde::Serialize;

use super::estimate::{Resamples, SeedInterval, SeedSelection};
use super::{
    FlowSet, IntervalMethod, Percentile, TailMetric, TailQuantile, TailRow, all_classes,
    by_scheme_and_point, flow_sets, missing_interval,
};
use crate::censored::CensoredSample;
use crate::facts::RunFacts;

/// Percentiles that are compared, the highest first. The 99.9th is rarely known for every scheme.
const COMPARED: [Percentile; 3] = [Percentile::P99, Percentile::P95, Percentile::P50];

/// The tail of one scheme over that of another, at one point.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TailRatio {
    /// The point of the sweep.
    pub point: SweepPoint,
    /// The traffic group.
    pub group: String,
    /// The size class; null for all flows of the group.
    pub class: Option<String>,
    /// The metric.
    pub metric: TailMetric,
    /// The highest percentile, up to the 99th, that all schemes have at all points with an
    /// interval.
    pub percentile: Percentile,
    /// The scheme in the denominator.
    pub a: String,
    /// The scheme in the numerator.
    pub b: String,
    /// The percentiles of both.
    pub values: [f64; 2],
    /// `b` over `a`.
    pub ratio: f64,
    /// Its 95 % interval.
    pub ci95: Option<[f64; 2]>,
    /// Method of the interval.
    pub interval: Option<IntervalMethod>,
    /// Seeds that both have.
    pub pairs: usize,
    /// The scheme with the shorter tail.
    pub verdict: TailVerdict,
    /// Reason of an absent interval.
    pub note: Option<String>,
}

/// Which of two tails is shorter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TailVerdict {
    /// The tail of `a`.
    AShorter,
    /// The tail of `b`.
    BShorter,
    /// Exactly equal for every seed.
    Same,
    /// The interval contains one, or there is none.
    Undecided,
}

/// Returns the ratios of all pairs of schemes at every point.
pub(crate) fn ratios(runs: &[RunFacts], rows: &[TailRow]) -> Vec<TailRatio> {
    let classes = all_classes(runs);
    let cells = by_scheme_and_point(runs);
    let mut out = Vec::new();
    for (i, a) in cells.iter().enumerate() {
        for b in cells.iter().skip(i + 1).filter(|b| b[0].key.point == a[0].key.point) {
            let (a, b) = paired(a, b);
            let resamples = Resamples::new(a.len());
            for set in flow_sets(&a, &classes) {
                out.extend(ratio(&a, &b, set, common_percentile(rows, set), &resamples));
            }
        }
    }
    let point = |r: &TailRatio| rows.iter().position(|row| row.point == r.point);
    out.sort_by_key(point);
    out
}

/// Returns the ratio of a percentile of scheme `b` to that of `a`, whatever other schemes have.
pub(crate) fn ratio_between(
    runs: &[RunFacts],
    [a, b]: [&str; 2],
    set: FlowSet<'_>,
    percentile: Percentile,
) -> Option<TailRatio> {
    let of = |scheme: &str| runs.iter().filter(|r| r.key.scheme == scheme).collect::<Vec<_>>();
    let (a, b) = paired(&of(a), &of(b));
    ratio(&a, &b, set, percentile, &Resamples::new(a.len()))
}

/// Returns the runs of seeds that both have, in the same order.
fn paired<'a>(a: &[&'a RunFacts], b: &[&'a RunFacts]) -> (Vec<&'a RunFacts>, Vec<&'a RunFacts>) {
    let partner = |run: &&'a RunFacts| {
        b.iter().find(|other| other.key.seed == run.key.seed).map(|other| (*run, *other))
    };
    a.iter().filter_map(partner).unzip()
}

/// Returns the highest percentile that every row of these flows has with an interval; without any,
/// the highest that every row has; else the median.
pub(crate) fn common_percentile(rows: &[TailRow], set: FlowSet<'_>) -> Percentile {
    let of = |row: &&TailRow| set.has(row);
    let all = |is: &dyn Fn(&TailQuantile) -> bool| {
        COMPARED.into_iter().find(|which| rows.iter().filter(of).all(|r| is(r.quantile(*which))))
    };
    all(&|q| q.ci95.is_some() || q.seed_independent)
        .or_else(|| all(&|q| q.value.is_some()))
        .unwrap_or(Percentile::P50)
}

fn ratio(
    a: &[&RunFacts],
    b: &[&RunFacts],
    set: FlowSet<'_>,
    percentile: Percentile,
    resamples: &Resamples,
) -> Option<TailRatio> {
    let none = CensoredSample::default();
    let (of_a, of_b) = (set.pool(a, &none), set.pool(b, &none));
    let (first, partner) = (a.first()?, b.first()?);
    let (q, scale) = (percentile.quantile(), set.metric.scale() as f64);
    let over = |a: Option<u64>, b: Option<u64>| Some(b? as f64 / a.filter(|a| *a > 0)? as f64);
    let all = vec![1; a.len()];
    let values = [of_a.quantile(q, &all)?, of_b.quantile(q, &all)?];
    let ratio = over(Some(values[0]), Some(values[1]))?;
    let beyond = percentile.beyond(of_a.count(&all).min(of_b.count(&all)));
    let interval = resamples.interval(ratio, beyond, &|selection| match selection {
        SeedSelection::Alone(w) => over(of_a.quantile(q, w), of_b.quantile(q, w)),
        SeedSelection::Resampled(w) => over(of_a.value_at_rank(q, w), of_b.value_at_rank(q, w)),
    });
    let (ci95, method) = match &interval {
        SeedInterval::Known(ci95, method) => (Some(*ci95), Some(*method)),
        _ => (None, None),
    };
    Some(TailRatio {
        point: first.key.point.clone(),
        group: set.group.to_owned(),
        class: set.class.map(str::to_owned),
        metric: set.metric,
        percentile,
        a: first.key.scheme.clone(),
        b: partner.key.scheme.clone(),
        values: values.map(|v| v as f64 / scale),
        ratio,
        ci95,
        interval: method,
        pairs: a.len(),
        verdict: judge(ratio, &interval),
        note: missing_interval(&interval, percentile),
    })
}

fn judge(ratio: f64, interval: &SeedInterval) -> TailVerdict {
    let [low, high] = match interval {
        SeedInterval::Known(ci95, _) => *ci95,
        SeedInterval::SeedIndependent => [ratio; 2],
        _ => return TailVerdict::Undecided,
    };
    if low > 1.0 {
        TailVerdict::AShorter
    } else if high < 1.0 {
        TailVerdict::BShorter
    } else if low >= 1.0 && high <= 1.0 {
        TailVerdict::Same
    } else {
        TailVerdict::Undecided
    }
}

/// Returns the key that orders sets of flows by size, the shortest first; groups without sizes are
/// absent.
fn length(row: &TailRow) -> Option<(u64, Reverse<usize>)> {
    let above = row.above_bytes?;
    Some((above, Reverse(row.flows)))
}

/// Returns the group and class of the shortest flows, and the metric that compares them.
pub(crate) fn shortest(rows: &[TailRow]) -> Option<(&str, Option<&str>, TailMetric)> {
    // Of a group with classes, the class counts; sizes that are swept differ from point to point.
    let classed =
        |row: &TailRow| rows.iter().any(|other| other.group == row.group && other.class.is_some());
    let sets = rows.iter().filter(|row| row.class.is_some() || !classed(row));
    let row = sets.filter_map(|row| Some((length(row)?, row))).min_by_key(|(length, _)| *length)?.1;
    Some((&row.group, row.class.as_deref(), row.metric))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_contains_one_is_undecided() {
        let known = |low, high| SeedInterval::Known([low, high], IntervalMethod::Sections);
        assert_eq!(judge(2.0, &known(1.1, 3.0)), TailVerdict::AShorter);
        assert_eq!(judge(0.5, &known(0.1, 0.9)), TailVerdict::BShorter);
        assert_eq!(judge(1.2, &known(0.9, 1.5)), TailVerdict::Undecided);
        assert_eq!(judge(2.0, &SeedInterval::OneSeed), TailVerdict::Undecided);
        assert_eq!(judge(2.0, &SeedInterval::SeedIndependent), TailVerdict::AShorter);
        assert_eq!(judge(1.0, &SeedInterval::SeedIndependent), TailVerdict::Same);
    }
}
