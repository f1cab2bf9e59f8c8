//! Prints the statistics of samples as JSON, for the judges in `tests/judges`.
//!
//! It reads a list of cases from stdin. A case has the seeds of two schemes, `a` and `b`, each with
//! `complete`, `cut_off` and `failed`, and a `tolerance`.

use std::io::{self, Write};

use lowtide_stats::{
    Observation, Preference, Sample, SeedSamples, ValueRange, compare_means, compare_percentile,
    holm, share_interval,
};
use lowtide_units::Quantile;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Seed {
    complete: Vec<f64>,
    cut_off: Vec<f64>,
    failed: usize,
}

#[derive(Deserialize)]
struct Case {
    a: Vec<Seed>,
    b: Vec<Seed>,
    tolerance: f64,
}

const PERCENTILES: [Quantile; 4] = [Quantile::P50, Quantile::P95, Quantile::P99, Quantile::P999];

fn sample(seed: &Seed) -> Result<Sample, Box<dyn std::error::Error>> {
    let complete = seed.complete.iter().map(|v| Observation::Complete(*v));
    let cut_off = seed.cut_off.iter().map(|v| Observation::CutOff(*v));
    let failed = std::iter::repeat_n(Observation::Failed, seed.failed);
    Ok(Sample::new(complete.chain(cut_off).chain(failed), ValueRange::NOT_NEGATIVE)?)
}

fn judged(case: &Case) -> Result<Value, Box<dyn std::error::Error>> {
    let samples = |seeds: &[Seed]| seeds.iter().map(sample).collect::<Result<Vec<Sample>, _>>();
    let (a, b) = (samples(&case.a)?, samples(&case.b)?);
    let [a, b] = [&a, &b].map(|of| SeedSamples::new(of.iter().collect()));
    let curve = a.survival();
    let compared = PERCENTILES.map(|q| compare_percentile(&a, &b, q, case.tolerance));
    let means = |of: &[Seed]| -> Vec<Option<f64>> {
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        of.iter().map(|seed| Some(mean(&seed.complete))).collect()
    };
    let range = ValueRange::NOT_NEGATIVE;
    Ok(json!({
        "percentiles": a.percentiles(PERCENTILES),
        "survival": curve.steps.iter().map(|s| [s.value, s.survival]).collect::<Vec<_>>(),
        "kaplan_meier": PERCENTILES.map(|q| curve.quantile(q)),
        "compared": compared,
        "means": compare_means(&means(&case.a), &means(&case.b), range, case.tolerance),
        "holm": holm(&compared.map(|c| (c.evidence, Preference::Lower)), 0.05),
        "single": compared.map(|c| c.verdict(Preference::Lower)),
    }))
}

#[expect(clippy::disallowed_methods, reason = "an example prints its results")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cases: Vec<Case> = serde_json::from_reader(io::stdin().lock())?;
    let results = cases.iter().map(judged).collect::<Result<Vec<Value>, _>>()?;
    let shares: Vec<Value> = (1..=40)
        .flat_map(|n| (0..=n).map(move |k| (k, n)))
        .map(|(k, n)| {
            let found = share_interval(f64::from(k) / f64::from(n), f64::from(n), 0.95);
            json!([k, n, found.low, found.high])
        })
        .collect();
    let text = json!({ "cases": results, "shares": shares }).to_string();
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}
