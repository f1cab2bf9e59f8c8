//! Studies whether intervals and verdicts hold their level, by simulation with known truth.
//!
//! `study coverage TRIALS SEED` prints `docs/evidence/statistics.md`'s tables of coverage and
//! width, `study verdicts FAMILIES SEED` its table of false statements, and
//! `study samples TRIALS SEED <SAMPLES.json` the coverage of subsets of the seeds of a real
//! experiment, whose seeds together are the truth: a list of classes, each with `name` and `seeds`,
//! lists of values. Of the same seed all are reproducible.

mod coverage;
mod model;
mod samples;
mod verdicts;

use std::error::Error;
use std::io::{self, Write};

#[expect(clippy::disallowed_methods, reason = "an example prints its results")]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [study, trials, seed] = arguments.as_slice() else {
        return Err("usage: study coverage|verdicts|samples TRIALS SEED".into());
    };
    let (trials, seed) = (trials.parse()?, seed.parse()?);
    let (text, misses) = match study.as_str() {
        "coverage" => coverage::tables(trials, seed),
        "verdicts" => verdicts::table(trials, seed),
        "samples" => (samples::table(io::stdin().lock(), trials, seed)?, 0),
        other => return Err(format!("there is no study `{other}`").into()),
    };
    io::stdout().write_all(text.as_bytes())?;
    if misses > 0 {
        return Err(format!("{misses} cells miss their level by more than three errors").into());
    }
    Ok(())
}
