//! Coverage with the flows of a real experiment: subsets of its seeds against all of them.

use std::error::Error;
use std::fmt::Write;
use std::io::Read;

use lowtide_stats::{Observation, Sample, SeedSamples, ValueRange};
use serde::Deserialize;

use crate::coverage::{Counts, PERCENTILES};
use crate::model::Random;

/// Flows of one class.
#[derive(Deserialize)]
struct Class {
    name: String,
    /// The possible minimum.
    least: f64,
    /// Values of the flows of each seed.
    seeds: Vec<Vec<f64>>,
}

/// Returns the table; a subset of the seeds is drawn without replacement.
pub(crate) fn table(input: impl Read, trials: usize, seed: u64) -> Result<String, Box<dyn Error>> {
    let classes: Vec<Class> = serde_json::from_reader(input)?;
    let mut random = Random::new(seed);
    let mut text = "| class | seeds | flows of all | p50 | p95 | p99 | p99.9 |\n".to_owned();
    text += "|---|---|---|---|---|---|---|\n";
    let quantiles = PERCENTILES.map(|(_, q)| q);
    for class in &classes {
        let range = ValueRange { least: class.least, ..ValueRange::NOT_NEGATIVE };
        let samples: Vec<Sample> = class
            .seeds
            .iter()
            .map(|flows| Sample::new(flows.iter().copied().map(Observation::Complete), range))
            .collect::<Result<_, _>>()?;
        let all = SeedSamples::new(samples.iter().collect());
        let truths = all.percentiles(quantiles).map(|e| e.point.value());
        for seeds in [5, 10] {
            let mut counts = vec![Counts::default(); quantiles.len()];
            for _ in 0..trials {
                let mut order: Vec<&Sample> = samples.iter().collect();
                for i in 0..seeds {
                    let chosen = i + random.below(order.len() - i);
                    order.swap(i, chosen);
                }
                order.truncate(seeds);
                let found = SeedSamples::new(order).percentiles(quantiles);
                for ((counts, truth), estimate) in counts.iter_mut().zip(truths).zip(found) {
                    if let Some(truth) = truth {
                        counts.add(estimate.interval, truth);
                    }
                }
            }
            let cells: Vec<String> = counts.iter_mut().map(Counts::cell).collect();
            let (name, flows) = (&class.name, all.flows());
            let _ = writeln!(
                text,
                "| {name} | {seeds} of {} | {flows} | {} |",
                samples.len(),
                cells.join(" | ")
            );
        }
    }
    Ok(text)
}
