//! Transient at the start of a run, by MSER-5.
//!
//! Algorithm: White (1997), with batches of five as in White, Cobb and Spratt (2000). The series is
//! the slowdown of the completed flows by their start. It is cut where the standard error of the
//! mean of the rest is smallest, within its first half. The cut is a transient only if the mean of
//! the whole series is outside the 95 % interval of the mean of the rest: otherwise it only removes
//! noise. If the third and the last quarter differ by more than the interval of either, the series
//! has not settled, and no cut is right.

use lowtide_rows::FlowRow;
use lowtide_stats::{ValueRange, seed_mean};
use serde::Serialize;

use crate::samples::{PS_PER_MS, slowdown_of};

/// Values of one batch.
const BATCH: usize = 5;
/// Batches that a series needs.
const LEAST_BATCHES: usize = 20;

/// Transient of one traffic group in one run.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Transient {
    /// Whether there is one.
    pub detected: bool,
    /// Start of the first flow after it, milliseconds; null without a transient, and if the series
    /// does not settle in its first half.
    pub until_ms: Option<f64>,
    /// Completed flows in the series.
    pub flows: usize,
}

impl Transient {
    /// Detects the transient; `None` for a series that is too short, or without ideal times.
    pub(crate) fn detect(flows: &[&FlowRow]) -> Option<Self> {
        let mut series: Vec<(u64, f64)> =
            flows.iter().filter_map(|f| Some((f.start_ps, slowdown_of(f, f.fct_ps?)?))).collect();
        if series.len() < BATCH * LEAST_BATCHES {
            return None;
        }
        series.sort_by_key(|(start, _)| *start);
        let batches: Vec<f64> = series
            .chunks_exact(BATCH)
            .map(|batch| batch.iter().map(|(_, v)| v).sum::<f64>() / BATCH as f64)
            .collect();
        let cut = settled_from(&batches);
        let start = |batch: usize| series[batch * BATCH].0 as f64 / PS_PER_MS as f64;
        let until_ms = cut.filter(|cut| *cut > 0).map(start);
        Some(Self { detected: cut != Some(0), until_ms, flows: series.len() })
    }
}

/// Returns the first batch after the transient, zero without any; `None` if the series has not
/// settled in its second half.
fn settled_from(batches: &[f64]) -> Option<usize> {
    let half = batches.len() / 2;
    let (third, last) = batches[half..].split_at((batches.len() - half) / 2);
    if differs(last, third) && differs(third, last) {
        return None;
    }
    // Sums of the rest from each batch on, from the last one.
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (cut, value) in batches.iter().enumerate().rev() {
        sum += value;
        squares += value * value;
        let n = (batches.len() - cut) as f64;
        let statistic = (squares - sum * sum / n).max(0.0) / (n * n);
        if cut <= half && statistic <= best.0 {
            best = (statistic, cut);
        }
    }
    let (_, cut) = best;
    Some(if differs(&batches[cut..], batches) { cut } else { 0 })
}

/// Returns whether the mean of `other` is outside the 95 % interval of the mean of `values`.
fn differs(values: &[f64], other: &[f64]) -> bool {
    let mean = other.iter().sum::<f64>() / other.len() as f64;
    let values: Vec<Option<f64>> = values.iter().map(|v| Some(*v)).collect();
    let interval = seed_mean(&values, ValueRange::NOT_NEGATIVE).interval.confidence();
    interval.is_some_and(|[low, high]| !(low..=high).contains(&mean))
}

#[cfg(test)]
mod tests {
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{Rng, SeedableRng};

    use super::*;

    /// Exponential values with mean one.
    fn noise(seed: u64, n: usize) -> Vec<f64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..n)
            .map(|_| {
                let share = ((random.next_u64() >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
                -share.ln()
            })
            .collect()
    }

    #[test]
    fn a_transient_ends_where_the_series_settles() {
        let found = |seed: &u64| {
            let transient = (0..200).map(|i| if i < 40 { 5.0 } else { 0.0 });
            let series: Vec<f64> =
                noise(*seed, 200).iter().zip(transient).map(|(n, t)| n + t).collect();
            settled_from(&series)
        };
        let right = (0..100).filter(|s| found(s).is_some_and(|at| (38..=60).contains(&at))).count();
        assert!(right >= 80, "{right} of 100");
    }

    #[test]
    fn noise_is_rarely_a_transient() {
        let false_alarms =
            (0..200).filter(|seed| settled_from(&noise(*seed, 100)) != Some(0)).count();
        assert!(false_alarms <= 30, "{false_alarms} of 200");
    }

    #[test]
    fn a_series_that_grows_to_its_end_does_not_settle() {
        let series: Vec<f64> = (0..100).map(|i| f64::from(i * i)).collect();
        assert_eq!(settled_from(&series), None);
        assert_eq!(settled_from(&[2.0; 40]), Some(0));
    }
}
