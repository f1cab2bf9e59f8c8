//! False statements of families of verdicts with known truth, and their power.

use std::fmt::Write;

use lowtide_stats::{
    Evidence, Observation, Preference, Sample, SeedSamples, ValueRange, Verdict,
    compare_percentile, holm,
};
use lowtide_units::Quantile;

use crate::model::{Base, Model, Random, Shape};

const TOLERANCE: f64 = 0.2;
/// True ratios of the four classes of a family: equal, the same within the tolerance, just beyond
/// it, and much worse.
const RATIOS: [f64; 4] = [1.0, 0.9, 1.2001, 1.5];
const PERCENTILES: [Quantile; 3] = [Quantile::P50, Quantile::P95, Quantile::P99];
/// Share of the variation between seeds that is common to both schemes.
const COMMON: f64 = 0.8;

/// Draws the flows of both schemes.
fn draw(
    model: Model,
    (seeds, flows): (usize, usize),
    ratio: f64,
    random: &mut Random,
) -> [Vec<Sample>; 2] {
    let sample = |factor: f64, scale: f64, random: &mut Random| {
        let values = model.flows(factor, flows, random);
        let ended = values.into_iter().map(|v| Observation::Complete(v * scale));
        Sample::new(ended, ValueRange::NOT_NEGATIVE).ok()
    };
    let pairs = (0..seeds).filter_map(|_| {
        let common = random.normal();
        let factor = |random: &mut Random| {
            let own = COMMON.sqrt() * common + (1.0 - COMMON).sqrt() * random.normal();
            (model.seed_factor * own).exp()
        };
        let (of_a, of_b) = (factor(random), factor(random));
        Some((sample(of_a, 1.0, random)?, sample(of_b, ratio, random)?))
    });
    let (a, b) = pairs.unzip();
    [a, b]
}

fn is_false(verdict: Verdict, ratio: f64) -> bool {
    match verdict {
        Verdict::Better => ratio >= 1.0,
        Verdict::Worse => ratio <= 1.0,
        Verdict::Same => ratio.ln().abs() > TOLERANCE.ln_1p(),
        Verdict::Undecided => false,
    }
}

/// False families that are allowed, as a share.
const MOST: f64 = 0.05;

/// Returns the table, and the number of rows that certainly have more than [`MOST`] false families.
pub(crate) fn table(families: usize, seed: u64) -> (String, usize) {
    let mut text = "| seeds x flows | distribution | factor | false families | without Holm | \
                    worse by 1.5 found | equal found |\n|---|---|---|---|---|---|---|\n"
        .to_owned();
    let shapes = [
        ("log-normal", Base::LogNormal, Shape::Plain),
        ("Pareto", Base::Pareto, Shape::Plain),
        ("grid", Base::LogNormal, Shape::Grid),
        ("noisy sizes", Base::LogNormal, Shape::NoisySizes),
    ];
    let mut random = Random::new(seed);
    let mut misses = 0;
    for size in [(5, 200), (10, 200), (10, 600)] {
        for (name, base, shape) in shapes {
            for seed_factor in [0.1, 0.5] {
                let model = Model { base, shape, seed_factor };
                let (mut wrong, mut alone, mut worse, mut equal) = (0, 0, 0, 0);
                for _ in 0..families {
                    let mut family: Vec<(f64, (Evidence, Preference))> = Vec::new();
                    for ratio in RATIOS {
                        let drawn = draw(model, size, ratio, &mut random);
                        let [a, b] =
                            drawn.each_ref().map(|of| SeedSamples::new(of.iter().collect()));
                        for q in PERCENTILES {
                            let found = compare_percentile(&a, &b, q, TOLERANCE);
                            family.push((ratio, (found.evidence, Preference::Lower)));
                        }
                    }
                    let members: Vec<_> = family.iter().map(|(_, member)| *member).collect();
                    let verdicts = holm(&members, MOST);
                    let any = |of: &dyn Fn(usize) -> Verdict| {
                        family.iter().enumerate().any(|(i, (ratio, _))| is_false(of(i), *ratio))
                    };
                    wrong += usize::from(any(&|i| verdicts[i]));
                    alone += usize::from(any(&|i| members[i].0.verdict(Preference::Lower, MOST)));
                    let count = |ratio: f64, verdict: Verdict| {
                        let has = |(of, v): &(&(f64, _), &Verdict)| {
                            (of.0 - ratio).abs() < 1e-9 && **v == verdict
                        };
                        family.iter().zip(&verdicts).filter(has).count()
                    };
                    worse += count(1.5, Verdict::Worse);
                    equal += count(1.0, Verdict::Same);
                }
                let error = 3.0 * (MOST * (1.0 - MOST) / families as f64).sqrt();
                misses += usize::from(wrong as f64 / families as f64 > MOST + error);
                let percent = |n: usize, of: usize| 100.0 * n as f64 / of as f64;
                let all = families * PERCENTILES.len();
                let _ = writeln!(
                    text,
                    "| {} x {} | {name} | {seed_factor} | {:.1} % | {:.1} % | {:.0} % | {:.0} % |",
                    size.0,
                    size.1,
                    percent(wrong, families),
                    percent(alone, families),
                    percent(worse, all),
                    percent(equal, all)
                );
            }
        }
    }
    (text, misses)
}
