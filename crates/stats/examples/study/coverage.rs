//! Coverage and width of the intervals of percentiles.

use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use lowtide_stats::{Interval, IntervalMethod, Observation, Sample, SeedSamples, ValueRange};
use lowtide_units::Quantile;

use crate::model::{Base, Model, Random, Shape};

/// Percentiles with their names.
pub(crate) const PERCENTILES: [(&str, Quantile); 4] = [
    ("p50", Quantile::P50),
    ("p95", Quantile::P95),
    ("p99", Quantile::P99),
    ("p99.9", Quantile::P999),
];
/// Seeds and flows of each seed.
const SIZES: [(usize, usize); 9] =
    [(5, 5), (10, 5), (5, 20), (10, 20), (5, 200), (10, 200), (5, 600), (5, 2000), (10, 2000)];
/// Flows of a seed from which on a cell has half of the trials.
const MANY_FLOWS: usize = 1000;
const SEED_FACTORS: [f64; 2] = [0.1, 0.5];
/// Columns of a table: a distribution, and whether the end of the run cuts flows off.
const COLUMNS: [(&str, Base, Shape, bool); 11] = [
    ("log-normal", Base::LogNormal, Shape::Plain, false),
    ("its atom", Base::LogNormal, Shape::Atom, false),
    ("its floor", Base::LogNormal, Shape::Floor, false),
    ("its grid", Base::LogNormal, Shape::Grid, false),
    ("cut off", Base::LogNormal, Shape::Plain, true),
    ("Pareto", Base::Pareto, Shape::Plain, false),
    ("its atom", Base::Pareto, Shape::Atom, false),
    ("its floor", Base::Pareto, Shape::Floor, false),
    ("its grid", Base::Pareto, Shape::Grid, false),
    ("sizes", Base::LogNormal, Shape::Sizes, false),
    ("noisy sizes", Base::LogNormal, Shape::NoisySizes, false),
];
/// Least coverage of an interval.
const LEAST: f64 = 0.93;
/// Share of trials with an interval from which on a cell shows its coverage.
const RARE: f64 = 0.002;

/// The intervals of one percentile over all trials.
#[derive(Clone, Default)]
pub(crate) struct Counts {
    trials: usize,
    held: usize,
    /// Of these, by Woodruff's method alone.
    woodruff: usize,
    /// Widths: the upper end over the lower one.
    widths: Vec<f64>,
}

impl Counts {
    pub(crate) fn add(&mut self, interval: Interval, truth: f64) {
        self.trials += 1;
        let Interval::Confidence { low, high, method } = interval else { return };
        self.widths.push(high / low);
        self.woodruff += usize::from(method == IntervalMethod::Woodruff);
        let rounding = 1e-8;
        self.held +=
            usize::from(low <= truth * (1.0 + rounding) && truth <= high * (1.0 + rounding));
    }

    fn coverage(&self) -> Option<f64> {
        let count = self.widths.len() as f64;
        (count > RARE * self.trials as f64).then(|| self.held as f64 / count)
    }

    /// Whether the coverage is below [`LEAST`] by more than three standard errors.
    fn misses(&self) -> bool {
        let error = 3.0 * (LEAST * (1.0 - LEAST) / self.widths.len() as f64).sqrt();
        self.coverage().is_some_and(|coverage| coverage + error < LEAST)
    }

    /// Returns the coverage in percent, the median width, and marks: `w` if most intervals are
    /// Woodruff's alone, the share of trials with an interval unless it is 100 %.
    pub(crate) fn cell(&mut self) -> String {
        let Some(coverage) = self.coverage() else { return "\u{2013}".to_owned() };
        self.widths.sort_unstable_by(f64::total_cmp);
        let count = self.widths.len();
        let mut text = format!("{:.1}", 100.0 * coverage);
        if coverage < LEAST {
            text = format!("**{text}**");
        }
        let _ = write!(text, " ({:.2})", self.widths[count / 2]);
        if 2 * self.woodruff > count {
            text += " w";
        }
        if count < self.trials {
            let _ = write!(text, " of {:.0} %", 100.0 * count as f64 / self.trials as f64);
        }
        text
    }
}

/// Draws the flows of a trial, and cuts off 0.2 to 0.3 % of them.
fn draw(
    model: Model,
    (seeds, flows): (usize, usize),
    cut: bool,
    random: &mut Random,
) -> Vec<Sample> {
    let range = match model.shape {
        Shape::Atom | Shape::Floor => ValueRange::SLOWDOWN,
        _ => ValueRange::NOT_NEGATIVE,
    };
    let mut seed = |()| {
        let factor = model.factor(random);
        let values = model.flows(factor, flows, random);
        let ended = values.into_iter().map(|value| {
            let age = if cut { 800.0 * random.uniform() } else { f64::INFINITY };
            if value <= age { Observation::Complete(value) } else { Observation::CutOff(age) }
        });
        Sample::new(ended, range)
    };
    (0..seeds).filter_map(|_| seed(()).ok()).collect()
}

/// Simulates one cell: all percentiles of a distribution.
fn simulate(
    (model, cut): (Model, bool),
    size: (usize, usize),
    trials: usize,
    seed: u64,
) -> Vec<Counts> {
    let mut random = Random::new(seed);
    let trials = if size.1 < MANY_FLOWS { trials } else { trials / 2 };
    let quantiles = PERCENTILES.map(|(_, q)| q);
    let truths = quantiles.map(|q| model.truth(q.as_f64()));
    let mut counts = vec![Counts::default(); PERCENTILES.len()];
    for _ in 0..trials {
        let samples = draw(model, size, cut, &mut random);
        let found = SeedSamples::new(samples.iter().collect()).percentiles(quantiles);
        for ((counts, truth), estimate) in counts.iter_mut().zip(truths).zip(found) {
            counts.add(estimate.interval, truth);
        }
    }
    counts
}

/// One row of cells of all percentiles: the size, the seed factor, the counts of each column.
type Row = ((usize, usize), f64, Vec<Vec<Counts>>);

/// Returns the tables, one per percentile, and the number of cells that certainly miss 93 %.
pub(crate) fn tables(trials: usize, seed: u64) -> (String, usize) {
    let jobs: Vec<_> = SIZES
        .iter()
        .flat_map(|size| SEED_FACTORS.map(|factor| (*size, factor)))
        .flat_map(|(size, factor)| (0..COLUMNS.len()).map(move |column| (size, factor, column)))
        .collect();
    let results = Mutex::new(vec![Vec::new(); jobs.len()]);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some((size, seed_factor, column)) = jobs.get(i) else { return };
                    let (_, base, shape, cut) = COLUMNS[*column];
                    let model = Model { base, shape, seed_factor: *seed_factor };
                    // A cell has its own random numbers, whichever thread simulates it.
                    let own = seed.wrapping_mul(1_000_003).wrapping_add(i as u64);
                    let counts = simulate((model, cut), *size, trials, own);
                    if let Ok(mut results) = results.lock() {
                        results[i] = counts;
                    }
                }
            });
        }
    });
    let results = results.into_inner().unwrap_or_default();
    let mut rows: Vec<Row> = Vec::new();
    for ((size, factor, column), counts) in jobs.into_iter().zip(results) {
        if column == 0 {
            rows.push((size, factor, Vec::new()));
        }
        if let Some((_, _, cells)) = rows.last_mut() {
            cells.push(counts);
        }
    }
    let misses = rows.iter().flat_map(|(.., cells)| cells.iter().flatten());
    let misses = misses.filter(|counts| counts.misses()).count();
    ((0..PERCENTILES.len()).map(|i| table(i, &mut rows)).collect(), misses)
}

fn table(percentile: usize, rows: &mut [Row]) -> String {
    let (name, _) = PERCENTILES[percentile];
    let columns: Vec<&str> = COLUMNS.iter().map(|(name, ..)| *name).collect();
    let mut text = format!("\n### {name}\n\n| seeds x flows, factor | {} |\n", columns.join(" | "));
    let _ = writeln!(text, "|---{}|", "|---".repeat(columns.len()));
    let (mut cells, mut held, mut least) = (0, 0, f64::INFINITY);
    for ((seeds, flows), factor, of) in rows {
        let counts: Vec<&mut Counts> = of.iter_mut().map(|c| &mut c[percentile]).collect();
        let known: Vec<f64> = counts.iter().filter_map(|c| c.coverage()).collect();
        if known.is_empty() {
            continue;
        }
        cells += known.len();
        held += known.iter().filter(|c| **c >= LEAST).count();
        least = known.iter().copied().fold(least, f64::min);
        let shown: Vec<String> = counts.into_iter().map(Counts::cell).collect();
        let _ = writeln!(text, "| {seeds} x {flows}, {factor} | {} |", shown.join(" | "));
    }
    let _ = writeln!(
        text,
        "\n{held} of {cells} cells with an interval hold 93 %; the least has {:.1} %.",
        100.0 * least
    );
    text
}
