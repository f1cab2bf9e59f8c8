//! Results that no statistic can use: each has a typed reason, and none a wrong number.

use lowtide_stats::{
    Estimate, Interval, InvalidSample, MissingInterval, MissingValue, Observation, PointValue,
    Preference, Sample, SeedSamples, ValueRange, Verdict, VerdictSentence, compare_means,
    compare_percentile,
};
use lowtide_units::Quantile;

use Observation::{Complete, CutOff, Failed};

fn sample(flows: impl IntoIterator<Item = Observation>) -> Sample {
    Sample::new(flows, ValueRange::NOT_NEGATIVE).expect("valid values")
}

/// A seed with the values `1..=n`, times `factor`.
fn ramp(n: u32, factor: f64) -> Sample {
    sample((1..=n).map(|i| Complete(f64::from(i) * factor)))
}

fn percentile(samples: &[Sample], q: Quantile) -> Estimate {
    SeedSamples::new(samples.iter().collect()).percentile(q)
}

fn missing(reason: MissingInterval) -> Interval {
    Interval::Missing { reason }
}

const NO_VALUE: Interval = Interval::Missing { reason: MissingInterval::NoValue };

#[test]
fn no_seed_and_no_flow() {
    let reason = MissingValue::NoFlows;
    for samples in [vec![], vec![sample([]), sample([])]] {
        let found = percentile(&samples, Quantile::P50);
        assert_eq!((found.point, found.interval), (PointValue::Missing { reason }, NO_VALUE));
        let seeds = SeedSamples::new(samples.iter().collect());
        assert!(matches!(seeds.mean().point, PointValue::Missing { .. }));
        assert!(seeds.survival().steps.is_empty());
    }
}

#[test]
fn all_flows_cut_off() {
    let seeds: Vec<Sample> =
        (1..=6).map(|i| sample((1..=9).map(|j| CutOff(f64::from(i * j))))).collect();
    let found = percentile(&seeds, Quantile::P50);
    assert_eq!(found.point, PointValue::Between { low: 14.0, high: None });
    assert_eq!(found.interval, missing(MissingInterval::Unfinished));
    let mean = SeedSamples::new(seeds.iter().collect()).mean();
    assert_eq!(mean.point, PointValue::Between { low: 17.5, high: None });
}

#[test]
fn all_flows_failed() {
    let seeds: Vec<Sample> = (0..6).map(|_| sample([Failed; 9])).collect();
    let found = percentile(&seeds, Quantile::P50);
    assert_eq!((found.point, found.interval), (PointValue::Infinite, NO_VALUE));
    let mean = SeedSamples::new(seeds.iter().collect()).mean();
    assert_eq!((mean.point, mean.interval), (PointValue::Infinite, NO_VALUE));
}

#[test]
fn failed_flows_are_infinite_and_not_censored() {
    // Of ten flows six fail: the median is infinite, though the four others end early.
    let flows = || [Complete(1.0); 4].into_iter().chain([Failed; 6]);
    let seeds = vec![sample(flows()), sample(flows())];
    assert_eq!(percentile(&seeds, Quantile::P50).point, PointValue::Infinite);
    // Cut off instead, they may have ended at any time from their age on.
    let flows = || [Complete(1.0); 4].into_iter().chain([CutOff(3.0); 6]);
    let seeds = vec![sample(flows()), sample(flows())];
    let between = PointValue::Between { low: 3.0, high: None };
    assert_eq!(percentile(&seeds, Quantile::P50).point, between);
}

#[test]
fn three_cut_off_flows_of_many_leave_numbers() {
    let seeds: Vec<Sample> = (0..5)
        .map(|seed| {
            let flows = (1..=376).map(move |i| {
                let value = f64::from(i * 7919 % 377) + f64::from(seed) / 9.0;
                if seed < 3 && i == 100 { CutOff(value / 2.0) } else { Complete(value) }
            });
            sample(flows)
        })
        .collect();
    let seeds = SeedSamples::new(seeds.iter().collect());
    let found = seeds.percentiles([Quantile::P50, Quantile::P95, Quantile::P99]);
    for estimate in found {
        let value = estimate.point.value().expect("the cuts change it by less than its interval");
        let [low, high] = estimate.interval.confidence().expect("an interval");
        assert!(low < value && value < high);
    }
    let PointValue::KaplanMeier { value, low, high } = found[0].point else {
        panic!("{:?}", found[0])
    };
    assert!(low <= value && value <= high && low < high);
    assert!(matches!(seeds.mean().point, PointValue::Between { high: None, .. }));
}

#[test]
fn two_flows_have_a_median_and_no_tail() {
    let seeds = vec![sample([Complete(1.0)]), sample([Complete(2.0)])];
    let found = percentile(&seeds, Quantile::P50);
    assert_eq!(found.point, PointValue::Exact { value: 1.0 });
    assert_eq!(found.interval, missing(MissingInterval::FewFlows { needs: 2 }));
    let tail = percentile(&seeds, Quantile::P95).point;
    assert_eq!(tail, PointValue::Missing { reason: MissingValue::FewFlows { needs: 20 } });
}

#[test]
fn a_percentile_that_the_sample_cannot_have() {
    let seeds: Vec<Sample> = (0..5).map(|_| ramp(199, 1.0)).collect();
    let tail = percentile(&seeds, Quantile::P999).point;
    assert_eq!(tail, PointValue::Missing { reason: MissingValue::FewFlows { needs: 1000 } });
    // All seeds together have the 99th percentile, none has it alone.
    let seeds: Vec<Sample> = (1..=5).map(|i| ramp(99, f64::from(i))).collect();
    let found = percentile(&seeds, Quantile::P99);
    assert_eq!(found.point, PointValue::Exact { value: 475.0 });
    assert_eq!(found.interval, missing(MissingInterval::FewFlows { needs: 100 }));
}

#[test]
fn seeds_that_differ_much_have_no_interval_of_a_far_tail() {
    let seeds: Vec<Sample> = (1..=5).map(|i| ramp(2000, f64::from(i))).collect();
    let found = percentile(&seeds, Quantile::P999);
    assert!(found.point.value().is_some());
    assert_eq!(found.interval, missing(MissingInterval::SeedsDiffer));
    assert!(percentile(&seeds, Quantile::P99).interval.confidence().is_some());
}

#[test]
fn one_seed_and_few_seeds() {
    let found = percentile(&[ramp(100, 1.0)], Quantile::P50);
    assert_eq!(found.point, PointValue::Exact { value: 50.0 });
    assert_eq!(found.interval, missing(MissingInterval::OneSeed));
    let seeds: Vec<Sample> = (1..=4).map(|i| ramp(100, f64::from(i))).collect();
    let found = percentile(&seeds, Quantile::P50);
    assert_eq!(found.interval, Interval::SeedRange { low: 50.0, high: 200.0 });
    assert_eq!(found.interval.confidence(), None, "a range has no level");
}

#[test]
fn identical_results() {
    let seeds: Vec<Sample> = (0..5).map(|_| ramp(100, 1.0)).collect();
    let of = || SeedSamples::new(seeds.iter().collect());
    assert_eq!(of().percentile(Quantile::P50).interval, Interval::SeedIndependent);
    assert_eq!(of().mean().interval, Interval::SeedIndependent);
    let found = compare_percentile(&of(), &of(), Quantile::P99, 0.0);
    assert_eq!((found.ratio, found.interval), (Some(1.0), Interval::SeedIndependent));
    assert_eq!(found.verdict(Preference::Lower), Verdict::Same);
    // Even a single seed shows that the results are equal.
    let one = SeedSamples::new(vec![&seeds[0]]);
    let found = compare_percentile(&one, &one.clone(), Quantile::P50, 0.0);
    assert_eq!(found.verdict(Preference::Lower), Verdict::Same);
    // Medians that agree by chance are not identical results.
    let alike: Vec<Sample> = (0..5)
        .map(|i| {
            sample(
                (1..=99).map(|j| Complete(f64::from(j) + f64::from(j - 50) * f64::from(i) / 399.0)),
            )
        })
        .collect();
    let [low, high] = percentile(&alike, Quantile::P50).interval.confidence().expect("interval");
    assert!(low < 50.0 && high > 50.0);
}

#[test]
fn infinite_and_missing_values() {
    let of = |value| Sample::new([Complete(1.0), value], ValueRange::NOT_NEGATIVE);
    assert_eq!(of(Complete(f64::INFINITY)), Err(InvalidSample::NotFinite(f64::INFINITY)));
    assert!(matches!(of(Complete(f64::NAN)), Err(InvalidSample::NotFinite(_))));
    assert!(matches!(of(Complete(-1.0)), Err(InvalidSample::OutOfRange { value: -1.0, .. })));
    let text = Sample::new([Complete(0.9)], ValueRange::SLOWDOWN).expect_err("below one");
    assert_eq!(text.to_string(), "the value 0.9 is outside of the possible range from 1 to inf");
    let values = [Some(1.0), None, Some(3.0), Some(2.0), Some(2.5)];
    let all = [Some(1.0); 5];
    let found = compare_means(&values, &all, ValueRange::NOT_NEGATIVE, 0.05);
    let reason = MissingValue::MissingSeeds { missing: 1 };
    assert_eq!(found.values[0].point, PointValue::Missing { reason });
    assert_eq!((found.ratio, found.interval), (None, NO_VALUE));
    assert_eq!(found.verdict(Preference::Lower), Verdict::Undecided);
}

#[test]
fn comparisons_without_pairs_or_values_are_undecided() {
    let of = |n: u32, factor: f64| -> Vec<Sample> {
        (1..=n).map(|i| ramp(50, factor * f64::from(i))).collect()
    };
    let compare = |a: &[Sample], b: &[Sample], q| {
        let [a, b] = [a, b].map(|s| SeedSamples::new(s.iter().collect()));
        let found = compare_percentile(&a, &b, q, 0.05);
        (found.interval, found.verdict(Preference::Lower))
    };
    let undecided = |reason| (missing(reason), Verdict::Undecided);
    let found = compare(&of(5, 1.0), &of(6, 2.0), Quantile::P50);
    assert_eq!(found, undecided(MissingInterval::UnpairedSeeds));
    let found = compare(&of(1, 1.0), &of(1, 2.0), Quantile::P50);
    assert_eq!(found, undecided(MissingInterval::OneSeed));
    let found = compare(&of(4, 1.0), &of(4, 2.0), Quantile::P50);
    assert_eq!(found, (Interval::SeedRange { low: 2.0, high: 2.0 }, Verdict::Undecided));
    let found = compare(&of(5, 1.0), &of(5, 2.0), Quantile::P99);
    assert_eq!(found, undecided(MissingInterval::FewFlows { needs: 100 }));
    let found = compare(&of(5, 1.0), &vec![sample([]); 5], Quantile::P50);
    assert_eq!(found, (NO_VALUE, Verdict::Undecided));
    let zero = vec![sample([Complete(0.0); 50]); 5];
    let (interval, verdict) = compare(&zero, &of(5, 1.0), Quantile::P50);
    assert_eq!((interval.confidence(), verdict), (None, Verdict::Worse));
}

#[test]
fn flows_that_fail_are_worse() {
    let a: Vec<Sample> = (1..=5).map(|i| ramp(50, 1.0 + f64::from(i) / 9.0)).collect();
    let b: Vec<Sample> = (1..=5)
        .map(|i| {
            let flows = (1..=50).map(|j| if j % 5 < 3 { Failed } else { Complete(f64::from(j)) });
            sample(flows.chain([Complete(f64::from(i))]))
        })
        .collect();
    let [a, b] = [&a, &b].map(|s| SeedSamples::new(s.iter().collect()));
    let found = compare_percentile(&a, &b, Quantile::P50, 0.05);
    assert_eq!(found.verdict(Preference::Lower), Verdict::Worse);
    assert_eq!((found.ratio, found.values[1].point), (None, PointValue::Infinite));
    let names = ["a", "b"];
    let (verdict, measure) = (Verdict::Worse, "median completion time");
    let sentence =
        VerdictSentence { verdict, comparison: &found, names, measure, unit: "ms" }.to_string();
    let [_, rest] = ["", sentence.strip_prefix("b is worse than a in ").expect("the verdict")];
    assert!(rest.starts_with("median completion time: never against 3"), "{sentence}");
}

#[test]
fn cut_off_flows_decide_nothing_that_they_could_change() {
    // Without the cut-off flows B would be better by far.
    let a: Vec<Sample> = (1..=5).map(|i| ramp(50, 10.0 + f64::from(i))).collect();
    let b =
        |cut: u32| -> Vec<Sample> {
            (1..=5)
                .map(|i| {
                    let value = |j: u32| f64::from(j) * (1.0 + f64::from(i) / 10.0);
                    sample((1..=50).map(|j| {
                        if j <= cut { CutOff(value(j) / 2.0) } else { Complete(value(j)) }
                    }))
                })
                .collect()
        };
    let compare = |cut| {
        let b = b(cut);
        let [a, b] = [&a, &b].map(|s| SeedSamples::new(s.iter().collect()));
        compare_percentile(&a, &b, Quantile::P50, 0.05).verdict(Preference::Lower)
    };
    assert_eq!(compare(0), Verdict::Better);
    assert_eq!(compare(2), Verdict::Better);
    assert_eq!(compare(30), Verdict::Undecided);
}
