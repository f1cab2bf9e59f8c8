//! Comparisons with known ratios, and the sentences of their verdicts.

use lowtide_stats::{
    Comparison, Interval, Observation, Preference, Sample, SeedSamples, ValueRange, Verdict,
    VerdictSentence, compare_means, compare_percentile,
};
use lowtide_units::Quantile;

/// Seeds of a thousand values from 1 to 10, each seed with its factor.
fn seeds(factors: &[f64], scale: f64) -> Vec<Sample> {
    factors
        .iter()
        .map(|factor| {
            let values = (0..1000_u32).map(|i| 1.0 + f64::from(i * 617 % 1000) * 0.009);
            let flows = values.map(|v| Observation::Complete(v * factor * scale));
            Sample::new(flows, ValueRange::NOT_NEGATIVE).expect("valid values")
        })
        .collect()
}

fn compare(a: &[Sample], b: &[Sample], tolerance: f64) -> Comparison {
    let [a, b] = [a, b].map(|of| SeedSamples::new(of.iter().collect()));
    compare_percentile(&a, &b, Quantile::P50, tolerance)
}

const FACTORS: [f64; 6] = [0.5, 0.7, 1.0, 1.2, 2.0, 3.0];
/// As above, changed by up to 2 %.
const CHANGED: [f64; 6] = [0.505, 0.695, 1.02, 1.19, 1.99, 3.03];

fn sentence(comparison: &Comparison) -> String {
    let verdict = comparison.verdict(Preference::Lower);
    let (names, measure) = (["cubic", "dctcp"], "p50 completion time of reads");
    VerdictSentence { verdict, comparison, names, measure, unit: "ms" }.to_string()
}

#[test]
fn pairs_of_seeds_decide_what_single_schemes_cannot() {
    let (a, b) = (seeds(&FACTORS, 1.0), seeds(&CHANGED, 1.5));
    let found = compare(&a, &b, 0.05);
    let [low, high] = found.interval.confidence().expect("six seeds");
    assert!(low < 1.5 && 1.5 < high && high - low < 0.1, "{low} {high}");
    assert_eq!(found.verdict(Preference::Lower), Verdict::Worse);
    assert_eq!(found.verdict(Preference::Higher), Verdict::Better);
    let [of_a, of_b] = found.values.map(|v| v.interval.confidence().expect("an interval"));
    assert!(of_a[1] > of_b[0], "the intervals of both overlap");
    let back = compare(&b, &a, 0.05);
    assert_eq!(back.verdict(Preference::Lower), Verdict::Better);
    assert!((back.ratio.unwrap_or_default() * found.ratio.unwrap_or_default() - 1.0).abs() < 1e-9);
}

#[test]
fn a_small_difference_is_the_same_within_the_tolerance() {
    let (a, b) = (seeds(&FACTORS, 1.0), seeds(&CHANGED, 1.0));
    assert_eq!(compare(&a, &b, 0.05).verdict(Preference::Lower), Verdict::Same);
    assert_eq!(compare(&a, &b, 0.001).verdict(Preference::Lower), Verdict::Undecided);
    // Its sign is certain, and it is within the tolerance.
    let b = seeds(&CHANGED, 1.03);
    assert_eq!(compare(&a, &b, 0.001).verdict(Preference::Lower), Verdict::Worse);
    assert_eq!(compare(&a, &b, 0.1).verdict(Preference::Lower), Verdict::Same);
}

#[test]
fn own_percentiles_that_agree_at_ties_decide_nothing() {
    // Of each seed six of eleven flows are at most one, in B five: the medians are 1 and 2 in every
    // seed, but each seed is one flow from the other median.
    let of = |low: [u32; 5]| -> Vec<Sample> {
        low.iter()
            .enumerate()
            .map(|(seed, low)| {
                let flows = (0..11).map(|i| if i < *low { 1.0 } else { 2.0 });
                let last = Observation::Complete(2.5 + seed as f64);
                let flows = flows.map(Observation::Complete).chain([last]);
                Sample::new(flows, ValueRange::NOT_NEGATIVE).expect("valid values")
            })
            .collect()
    };
    let found = compare(&of([6, 6, 7, 6, 6]), &of([5, 5, 5, 5, 5]), 0.05);
    assert_eq!(found.ratio, Some(2.0));
    let found = compare(&of([6, 8, 6, 6, 9]), &of([5, 3, 6, 5, 5]), 0.05);
    assert_eq!(found.verdict(Preference::Lower), Verdict::Undecided);
}

#[test]
fn means_of_seeds_are_compared_by_their_ratio() {
    let some = |of: &[f64]| of.iter().copied().map(Some).collect::<Vec<_>>();
    let a = some(&[10.0, 20.0, 30.0, 40.0, 50.0]);
    let b = some(&[11.1, 21.8, 33.3, 43.6, 55.2]);
    let found = compare_means(&a, &b, ValueRange::NOT_NEGATIVE, 0.05);
    assert!((found.ratio.unwrap_or_default() - 1.1).abs() < 1e-9);
    assert_eq!(found.verdict(Preference::Higher), Verdict::Better);
    // Against zero there is no ratio, but the sign of the difference may be certain.
    let none = some(&[0.0; 5]);
    let found = compare_means(&none, &a, ValueRange::NOT_NEGATIVE, 0.05);
    assert_eq!((found.ratio, found.interval.confidence()), (None, None));
    assert_eq!(found.verdict(Preference::Lower), Verdict::Worse);
    let found = compare_means(&none, &none, ValueRange::NOT_NEGATIVE, 0.0);
    assert_eq!(found.verdict(Preference::Lower), Verdict::Same);
}

#[test]
fn a_verdict_has_one_sentence() {
    let (a, b) = (seeds(&FACTORS, 1.0), seeds(&CHANGED, 1.5));
    let start = "dctcp is worse than cubic in p50 completion time of reads: ";
    let text = sentence(&compare(&a, &b, 0.05));
    assert!(text.starts_with(start), "{text}");
    assert!(text.contains(" ms, 1.5") && text.contains(" times (95 % interval 1.4"), "{text}");
    let same = sentence(&compare(&a, &seeds(&CHANGED, 1.0), 0.05));
    assert!(same.starts_with("dctcp is the same as cubic within 5 % in p50 "), "{same}");
    let few = compare(&a[..3], &b[..3], 0.05);
    assert!(matches!(few.interval, Interval::SeedRange { .. }));
    let text = sentence(&few);
    assert!(text.starts_with("dctcp against cubic is undecided in p50 "), "{text}");
    assert!(text.contains(" times (seeds from 1.4"), "{text}");
    let one = sentence(&compare(&a[..1], &b[..1], 0.05));
    assert!(one.ends_with(" (one seed has no interval)."), "{one}");
    let equal = sentence(&compare(&a, &a, 0.0));
    assert!(equal.starts_with("dctcp is the same as cubic within 0 % in "), "{equal}");
    assert!(equal.ends_with(", 1.00 times (every seed)."), "{equal}");
}
