//! Confidence intervals over seeds.
//!
//! Contract: the interval is Student's t at 95 %, over seeds, which are independent runs. If all
//! seeds agree exactly, the value is marked `seed-independent` and has no interval. If one seed has
//! no value, there is no mean: omitting the seed would be a selection.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A value over seeds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct OverSeeds {
    /// Seeds that were run.
    pub seeds: usize,
    /// Seeds that gave a value.
    pub values: usize,
    /// The mean; `None` unless every seed gave a value.
    pub mean: Option<f64>,
    /// The 95 % interval; `None` for a single seed, or if all seeds agree.
    pub ci95: Option<[f64; 2]>,
    /// Whether several seeds gave exactly the same value.
    pub seed_independent: bool,
}

impl OverSeeds {
    /// Computes the mean and interval of one value per seed.
    pub fn new(values: &[Option<f64>]) -> Self {
        let present: Vec<f64> = values.iter().copied().flatten().collect();
        let (seeds, found) = (values.len(), present.len());
        let Some(&first) = present.first().filter(|_| found == seeds) else {
            return Self { seeds, values: found, ..Self::default() };
        };
        let agree = present.iter().all(|v| v.to_bits() == first.to_bits());
        if agree {
            let seed_independent = seeds > 1;
            return Self { seeds, values: found, mean: Some(first), ci95: None, seed_independent };
        }
        let n = seeds as f64;
        let mean = present.iter().sum::<f64>() / n;
        let squares: f64 = present.iter().map(|v| (v - mean) * (v - mean)).sum();
        let error = (squares / (n - 1.0) / n).sqrt();
        let half = t95(seeds - 1) * error;
        Self {
            seeds,
            values: found,
            mean: Some(mean),
            ci95: Some([mean - half, mean + half]),
            seed_independent: false,
        }
    }

    /// The interval at another confidence level, from 0 to 1; `None` without a 95 % interval.
    pub fn interval(&self, level: f64) -> Option<[f64; 2]> {
        let ([low, high], mean) = (self.ci95?, self.mean?);
        let freedom = self.seeds.checked_sub(1)?;
        let half = (high - low) / 2.0 / t95(freedom) * quantile(freedom, level);
        Some([mean - half, mean + half])
    }
}

/// Returns the two-sided 95 % quantile of Student's t.
fn t95(freedom: usize) -> f64 {
    quantile(freedom, 0.95)
}

/// Returns the two-sided quantile of Student's t at a confidence level.
fn quantile(freedom: usize, level: f64) -> f64 {
    let t = StudentsT::new(0.0, 1.0, freedom as f64);
    t.map_or(f64::INFINITY, |t| t.inverse_cdf(f64::midpoint(1.0, level)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-3, "{a} is not {b}");
    }

    #[test]
    fn the_interval_is_that_of_the_tables() {
        close(t95(1), 12.706);
        close(t95(9), 2.262);
        let over = OverSeeds::new(&[Some(10.0), Some(12.0), Some(14.0)]);
        close(over.mean.unwrap(), 12.0);
        let [low, high] = over.ci95.unwrap();
        close(high - 12.0, 4.302_65 * 2.0 / 3.0_f64.sqrt());
        close(12.0 - low, high - 12.0);
        assert!(!over.seed_independent);
    }

    #[test]
    fn an_interval_at_another_level_is_that_of_the_tables() {
        let over = OverSeeds::new(&[Some(10.0), Some(12.0), Some(14.0)]);
        let [low, high] = over.interval(0.99).unwrap();
        close(high - 12.0, 9.924_84 * 2.0 / 3.0_f64.sqrt());
        close(12.0 - low, high - 12.0);
        assert_eq!(OverSeeds::new(&[Some(7.5); 5]).interval(0.99), None);
    }

    #[test]
    fn seeds_that_agree_have_no_interval() {
        let over = OverSeeds::new(&[Some(7.5); 5]);
        assert_eq!((over.mean, over.ci95, over.seed_independent), (Some(7.5), None, true));
    }

    #[test]
    fn one_seed_has_a_value_and_no_interval() {
        let over = OverSeeds::new(&[Some(7.5)]);
        assert_eq!((over.mean, over.ci95, over.seed_independent), (Some(7.5), None, false));
    }

    #[test]
    fn a_seed_without_a_value_leaves_no_mean() {
        let over = OverSeeds::new(&[Some(1.0), None, Some(3.0)]);
        assert_eq!((over.seeds, over.values, over.mean, over.ci95), (3, 2, None, None));
        assert_eq!(OverSeeds::new(&[]).mean, None);
    }
}
